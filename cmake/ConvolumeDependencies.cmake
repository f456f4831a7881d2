# Every third-party package the project uses, found in one place. scripts/packages.txt names
# the Debian and Ubuntu packages.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(FFTW3 REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Random123 REQUIRED)

# convolume_optional(<NAME> <package> <hint>): sets CONVOLUME_HAVE_<NAME> from the switch
# CONVOLUME_WITH_<NAME> and what is installed.
macro(convolume_optional name package hint)
    set(CONVOLUME_HAVE_${name} OFF)
    if(NOT CONVOLUME_WITH_${name} STREQUAL "OFF")
        find_package(${package} ${ARGN})
        if(${package}_FOUND)
            set(CONVOLUME_HAVE_${name} ON)
        elseif(CONVOLUME_WITH_${name} STREQUAL "ON")
            message(FATAL_ERROR "CONVOLUME_WITH_${name}=ON, but ${package} was not found; install ${hint}")
        endif()
    endif()
endmacro()

convolume_optional(TIFF TIFF libtiff-dev 4.5)
convolume_optional(HDF5 HDF5C libhdf5-dev)
if(CONVOLUME_HAVE_TIFF OR CONVOLUME_HAVE_HDF5)
    find_package(pugixml REQUIRED)  # OME-XML, BigDataViewer's XML
endif()

# The CUDA engine takes a compiler besides the libraries; devices are looked for at run time.
set(CONVOLUME_HAVE_CUDA OFF)
if(NOT CONVOLUME_WITH_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    find_package(CUDAToolkit 12.0 QUIET)
    if(CUDAToolkit_FOUND)
        if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
            set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
        endif()
        check_language(CUDA)
    endif()
    if(CUDAToolkit_FOUND AND CMAKE_CUDA_COMPILER)
        if(NOT CMAKE_CUDA_ARCHITECTURES)
            # Machine code for Hopper; other devices compile at start. The FFT passes need 8.0.
            set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-virtual 90-real CACHE STRING
                "CUDA architectures")
        endif()
        enable_language(CUDA)
        if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
            # CMake before 3.26 does not know that nvcc 12 speaks C++20.
            set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
            set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
            set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
            list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
        endif()
        set(CMAKE_CUDA_STANDARD 20)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(CONVOLUME_HAVE_CUDA ON)
    elseif(CONVOLUME_WITH_CUDA STREQUAL "ON")
        message(FATAL_ERROR "CONVOLUME_WITH_CUDA=ON, but no CUDA toolkit with nvcc was found; install nvidia-cuda-toolkit, version 12 or later")
    endif()
endif()
if(CONVOLUME_BUILD_COMMAND)
    find_package(CLI11 REQUIRED)
    find_package(PNG REQUIRED)
endif()
