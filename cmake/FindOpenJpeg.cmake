# SPDX-License-Identifier: Apache-2.0
# Finds OpenJPEG, which decodes JPEG 2000: target OpenJpeg::OpenJpeg. Debian's own CMake package also
# requires OpenJPEG's programs.
find_path(OPENJPEG_INCLUDE_DIR openjpeg.h PATH_SUFFIXES openjpeg-2.6 openjpeg-2.5 openjpeg-2.4)
find_library(OPENJPEG_LIBRARY NAMES openjp2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenJpeg
    REQUIRED_VARS OPENJPEG_LIBRARY OPENJPEG_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libopenjp2-7-dev")
mark_as_advanced(OPENJPEG_INCLUDE_DIR OPENJPEG_LIBRARY)
if(OpenJpeg_FOUND AND NOT TARGET OpenJpeg::OpenJpeg)
    add_library(OpenJpeg::OpenJpeg UNKNOWN IMPORTED)
    set_target_properties(OpenJpeg::OpenJpeg PROPERTIES
        IMPORTED_LOCATION ${OPENJPEG_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${OPENJPEG_INCLUDE_DIR})
endif()
