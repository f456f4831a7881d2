# install() and the package that find_package(convolume) reads.
include(CMakePackageConfigHelpers)
install(TARGETS convolume convolume_io EXPORT convolume-targets)
install(DIRECTORY include/convolume DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convolume)
install(EXPORT convolume-targets NAMESPACE convolume:: DESTINATION ${config_dir})
if(CONVOLUME_HAVE_CUDA)
    install(TARGETS convolume_cuda EXPORT convolume-cuda-targets)
    install(EXPORT convolume-cuda-targets NAMESPACE convolume:: DESTINATION ${config_dir})
endif()
configure_package_config_file(cmake/convolume-config.cmake.in
    ${PROJECT_BINARY_DIR}/convolume-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/convolume-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/convolume-config.cmake
    ${PROJECT_BINARY_DIR}/convolume-config-version.cmake cmake/FindFFTW3.cmake
    cmake/FindHDF5C.cmake
    DESTINATION ${config_dir})
