# One way to make the project's targets: same warnings, same include layout, same sanitizers.

add_library(convolume_build_flags INTERFACE)
target_compile_options(convolume_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CONVOLUME_WARNINGS_AS_ERRORS}>>:-Werror>)
if(CONVOLUME_SANITIZE)
    target_compile_options(convolume_build_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${CONVOLUME_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    target_link_options(convolume_build_flags INTERFACE -fsanitize=${CONVOLUME_SANITIZE})
endif()

# convolume_library(<module> SOURCES … [PUBLIC_LINK …] [PRIVATE_LINK …]): the library of one folder,
# convolume-<module>, alias convolume::<module>; public headers in include/convolume.
function(convolume_library module)
    cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC_LINK;PRIVATE_LINK" ${ARGN})
    set(target convolume-${module})
    add_library(${target} ${arg_SOURCES})
    add_library(convolume::${module} ALIAS ${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target}
        PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
    target_link_libraries(${target}
        PUBLIC ${arg_PUBLIC_LINK}
        PRIVATE ${arg_PRIVATE_LINK} $<BUILD_INTERFACE:convolume_build_flags>)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${module})
    set_property(GLOBAL APPEND PROPERTY CONVOLUME_LIBRARIES ${target})
    install(DIRECTORY include/convolume DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
