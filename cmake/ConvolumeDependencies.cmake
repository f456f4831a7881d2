# SPDX-License-Identifier: Apache-2.0
# Finds all third-party packages of the project. scripts/packages.txt names the packages of Debian and
# Ubuntu that contain them.

find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
# Vectors of this Highway have constructors that need the option crypto, and GCC inlines them into the
# constructors that it makes itself only if the whole source has that option.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND hwy_VERSION VERSION_LESS 1.1
        AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_FLAGS MATCHES "-m(arch|cpu)=")
    set_property(TARGET hwy::hwy APPEND PROPERTY INTERFACE_COMPILE_OPTIONS -march=armv8-a+crypto)
endif()
find_package(nlohmann_json REQUIRED)
find_package(Random123 REQUIRED)

set_property(CACHE CONVOLUME_THREADS PROPERTY STRINGS pool openmp)
if(CONVOLUME_THREADS STREQUAL "openmp")
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    set(CONVOLUME_OTHER_THREADS pool)
elseif(CONVOLUME_THREADS STREQUAL "pool")
    set(CONVOLUME_OTHER_THREADS openmp)
    if(CONVOLUME_BUILD_TESTS OR CONVOLUME_BUILD_BENCH)
        find_package(OpenMP COMPONENTS CXX)
    endif()
else()
    message(FATAL_ERROR "CONVOLUME_THREADS=${CONVOLUME_THREADS} is unknown: give pool or openmp")
endif()

# convolume_optional(<NAME> <package> <hint>): finds an optional package, and sets CONVOLUME_HAVE_<NAME>.
# The option CONVOLUME_WITH_<NAME> may forbid or require it; <hint> is the package of Debian.
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

convolume_optional(FFTW FFTW3 "libfftw3-dev, or set CONVOLUME_WITH_FFTW=OFF")
convolume_optional(TIFF TIFF libtiff-dev 4.5)
convolume_optional(HDF5 HDF5C libhdf5-dev)
if(CONVOLUME_HAVE_HDF5)
    find_package(Deflate REQUIRED)  # decompresses HDF5 chunks in several threads
endif()
convolume_optional(OPENJPEG OpenJpeg libopenjp2-7-dev)  # decodes JPEG 2000 in TIFF
convolume_optional(SNDFILE SndFile libsndfile1-dev)
if(CONVOLUME_HAVE_TIFF OR CONVOLUME_HAVE_HDF5)
    find_package(pugixml REQUIRED)  # OME-XML, BigDataViewer's XML
endif()

# The CUDA engine. AUTO builds it on machines with a toolkit and a GPU, for that GPU alone. ON builds it
# on machines with a toolkit, for all GPUs that packages support.
function(convolume_find_gpu result)
    file(GLOB devices /dev/nvidia[0-9]*)
    find_program(CONVOLUME_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
    mark_as_advanced(CONVOLUME_NVIDIA_SMI)
    if(NOT devices AND CONVOLUME_NVIDIA_SMI)
        execute_process(COMMAND ${CONVOLUME_NVIDIA_SMI} -L OUTPUT_VARIABLE listed ERROR_QUIET)
        string(REGEX MATCH "GPU [0-9]+:" devices "${listed}")
    endif()
    set(${result} "${devices}" PARENT_SCOPE)
endfunction()

set(CONVOLUME_HAVE_CUDA OFF)
set(without_cuda "")  # the reason why the CUDA engine is not built
set(cuda_architectures native)
if(CONVOLUME_WITH_CUDA STREQUAL "OFF")
    set(without_cuda "CONVOLUME_WITH_CUDA=OFF")
elseif(CONVOLUME_WITH_CUDA STREQUAL "ON")
    # Machine code is for Hopper. Drivers of other devices compile PTX at the first start. FFT passes need
    # compute capability 8.0.
    set(cuda_architectures 75-virtual 80-virtual 90-real)
else()
    convolume_find_gpu(gpu)
    if(NOT gpu)
        set(without_cuda "no NVIDIA GPU was found; -DCONVOLUME_WITH_CUDA=ON builds it without one")
    endif()
endif()
if(NOT without_cuda)
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
            set(CMAKE_CUDA_ARCHITECTURES ${cuda_architectures})  # not cached, as it depends on CONVOLUME_WITH_CUDA
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
        if(CONVOLUME_WITH_CUDA STREQUAL "AUTO" AND CMAKE_CUDA_ARCHITECTURES STREQUAL "native"
                AND NOT CMAKE_CUDA_ARCHITECTURES_NATIVE)
            set(without_cuda "there is a GPU, but its driver does not answer")
        else()
            set(CONVOLUME_HAVE_CUDA ON)
        endif()
    elseif(CONVOLUME_WITH_CUDA STREQUAL "ON")
        message(FATAL_ERROR "CONVOLUME_WITH_CUDA=ON, but no CUDA toolkit with nvcc was found; install nvidia-cuda-toolkit, version 12 or later")
    else()
        set(without_cuda "there is a GPU, but no CUDA toolkit with nvcc, version 12 or later")
    endif()
endif()
if(CONVOLUME_HAVE_CUDA)
    message(STATUS "CUDA for the architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
    message(STATUS "CUDA left out: ${without_cuda}")
endif()
if(CONVOLUME_BUILD_COMMAND)
    find_package(CLI11 REQUIRED)
    find_package(PNG REQUIRED)
    convolume_optional(CAIRO Cairo "libcairo2-dev and fonts-dejavu-core")  # draws pictures
endif()
