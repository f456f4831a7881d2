# install() and the package that find_package(convolume) reads.
include(CMakePackageConfigHelpers)

# convolume::convolume is what callers link: the front door with all engines built in.
add_library(convolume INTERFACE)
add_library(convolume::convolume ALIAS convolume)
target_link_libraries(convolume INTERFACE
    convolume-convolver convolume-deconvolve convolume-filter convolume-optics)

get_property(libraries GLOBAL PROPERTY CONVOLUME_LIBRARIES)
install(TARGETS ${libraries} convolume EXPORT convolume-targets)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convolume)
install(EXPORT convolume-targets NAMESPACE convolume:: DESTINATION ${config_dir})
configure_package_config_file(cmake/convolume-config.cmake.in
    ${PROJECT_BINARY_DIR}/convolume-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/convolume-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/convolume-config.cmake
    ${PROJECT_BINARY_DIR}/convolume-config-version.cmake cmake/FindFFTW3.cmake
    cmake/FindHDF5C.cmake
    DESTINATION ${config_dir})
