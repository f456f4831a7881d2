# Every third-party package the project uses, found in one place. scripts/packages.txt names
# the Debian and Ubuntu packages.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(FFTW3 REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)

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
set(CONVOLUME_HAVE_CUDA OFF)
if(CONVOLUME_BUILD_COMMAND)
    find_package(CLI11 REQUIRED)
    find_package(PNG REQUIRED)
endif()
