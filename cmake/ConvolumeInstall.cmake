# SPDX-License-Identifier: Apache-2.0
# Installs headers, libraries, and the package files for find_package(convolume) and pkg-config.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/convolume)

install(DIRECTORY include/convolume ${PROJECT_BINARY_DIR}/include/convolume
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Each component has an export set, so that it does not need the packages of another component.
install(TARGETS convolume EXPORT convolume-targets)
install(EXPORT convolume-targets NAMESPACE convolume:: DESTINATION ${config_dir})
install(TARGETS convolume_io EXPORT convolume-io-targets)
install(EXPORT convolume-io-targets NAMESPACE convolume:: DESTINATION ${config_dir})
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
    cmake/FindHDF5C.cmake cmake/FindDeflate.cmake cmake/FindSndFile.cmake
    cmake/FindOpenJpeg.cmake
    DESTINATION ${config_dir})

# Package files have relative paths, so that the prefix may move.
file(RELATIVE_PATH CONVOLUME_PREFIX_FROM_PKGCONFIG
    /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(CONVOLUME_FFTW_LIBS)
if(CONVOLUME_HAVE_FFTW)
    set(CONVOLUME_FFTW_LIBS "-lfftw3f -lfftw3 ")
endif()
set(CONVOLUME_IO_REQUIRES)
set(CONVOLUME_IO_LIBS)
if(CONVOLUME_HAVE_TIFF)
    string(APPEND CONVOLUME_IO_REQUIRES "libtiff-4 ")
    if(CONVOLUME_HAVE_OPENJPEG)
        string(APPEND CONVOLUME_IO_REQUIRES "libopenjp2 ")
    endif()
endif()
if(CONVOLUME_HAVE_HDF5)
    string(APPEND CONVOLUME_IO_REQUIRES "hdf5 libdeflate ")
endif()
if(CONVOLUME_HAVE_SNDFILE)
    # libsndfile is named as a library, as its pkg-config package requires static libraries of codecs,
    # which may not be installed.
    set(CONVOLUME_IO_LIBS "-lsndfile")
endif()
if(CONVOLUME_HAVE_TIFF OR CONVOLUME_HAVE_HDF5)
    string(APPEND CONVOLUME_IO_REQUIRES "pugixml ")
endif()
# Shared libraries load what they need, so that fields in the package files begin that --static adds.
# Programs with static libraries link it themselves, with and without --static.
set(CONVOLUME_BEGIN_PRIVATE_LIBS)
set(CONVOLUME_BEGIN_PRIVATE_REQUIRES)
if(BUILD_SHARED_LIBS)
    set(CONVOLUME_BEGIN_PRIVATE_LIBS "\nLibs.private:")
    set(CONVOLUME_BEGIN_PRIVATE_REQUIRES "\nRequires.private:")
endif()
foreach(package convolume convolume-io)
    configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${package}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
