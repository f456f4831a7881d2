# SPDX-License-Identifier: Apache-2.0
# Finds Cairo, FreeType and the font DejaVu Sans, which draw pictures: target Cairo::Cairo, and the file
# CAIRO_FONT. Static libraries are taken if they link: shared ones load X11, and slow down every start.
include(CheckCXXSourceCompiles)
find_path(CAIRO_INCLUDE_DIR cairo-ft.h PATH_SUFFIXES cairo)
find_path(CAIRO_FREETYPE_INCLUDE_DIR ft2build.h PATH_SUFFIXES freetype2)
find_library(CAIRO_LIBRARY cairo)
find_library(CAIRO_FREETYPE_LIBRARY freetype)
find_file(CAIRO_FONT DejaVuSans.ttf
    PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu-sans-fonts /usr/share/fonts/TTF
    PATH_SUFFIXES fonts share/fonts)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cairo
    REQUIRED_VARS CAIRO_LIBRARY CAIRO_INCLUDE_DIR CAIRO_FREETYPE_LIBRARY CAIRO_FREETYPE_INCLUDE_DIR CAIRO_FONT
    REASON_FAILURE_MESSAGE "install libcairo2-dev and fonts-dejavu-core")
set(cairo_archives)
foreach(part cairo pixman-1 fontconfig freetype expat brotlidec brotlicommon)
    find_library(CAIRO_ARCHIVE_${part} lib${part}.a)
    mark_as_advanced(CAIRO_ARCHIVE_${part})
    list(APPEND cairo_archives ${CAIRO_ARCHIVE_${part}})
endforeach()
mark_as_advanced(CAIRO_INCLUDE_DIR CAIRO_FREETYPE_INCLUDE_DIR CAIRO_LIBRARY CAIRO_FREETYPE_LIBRARY CAIRO_FONT)
if(Cairo_FOUND AND NOT TARGET Cairo::Cairo)
    find_package(PNG REQUIRED)
    find_package(Threads REQUIRED)
    add_library(Cairo::Cairo INTERFACE IMPORTED)
    # Debian 13 has no static Cairo.
    if("${cairo_archives}" MATCHES "NOTFOUND")
        set(CAIRO_STATIC_LINKS OFF)
    endif()
    set(CMAKE_REQUIRED_INCLUDES ${CAIRO_INCLUDE_DIR} ${CAIRO_FREETYPE_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${cairo_archives} PNG::PNG Threads::Threads)
    check_cxx_source_compiles("
        #include <cairo-ft.h>
        #include <cairo-svg.h>
        int main() {
            FT_Library library;
            FT_Init_FreeType(&library);
            cairo_surface_t* recording = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, nullptr);
            cairo_surface_t* svg = cairo_svg_surface_create_for_stream(nullptr, nullptr, 1, 1);
            cairo_t* context = cairo_create(svg);
            cairo_set_source_surface(context, recording, 0, 0);
            cairo_set_font_face(context, cairo_ft_font_face_create_for_ft_face(nullptr, 0));
            return cairo_surface_write_to_png(svg, \"\");
        }" CAIRO_STATIC_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
    set(cairo_needs PNG::PNG Threads::Threads)
    if(CAIRO_STATIC_LINKS)
        # Each archive is linked before those that it needs.
        list(REVERSE cairo_archives)
        foreach(archive IN LISTS cairo_archives)
            cmake_path(GET archive STEM part)
            add_library(Cairo::${part} UNKNOWN IMPORTED)
            set_target_properties(Cairo::${part} PROPERTIES
                IMPORTED_LOCATION ${archive}
                INTERFACE_LINK_LIBRARIES "${cairo_needs}")
            set(cairo_needs Cairo::${part})
        endforeach()
    else()
        set(cairo_needs ${CAIRO_LIBRARY} ${CAIRO_FREETYPE_LIBRARY})
    endif()
    set_target_properties(Cairo::Cairo PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${CAIRO_INCLUDE_DIR};${CAIRO_FREETYPE_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "${cairo_needs}")
endif()
