# SPDX-License-Identifier: Apache-2.0
# Makes the two libraries that callers link, convolume::convolume and convolume::io, of the objects of
# all folders. Tests and benchmarks link convolume_internal and convolume_io_internal, which also offer
# functions that the shared libraries hide.

# convolume_make_library(<name> <output name>): makes a library of the objects of the folders that are
# registered for it (convolume_room).
function(convolume_make_library name output_name)
    get_property(rooms GLOBAL PROPERTY ${name}_rooms)
    get_property(links GLOBAL PROPERTY ${name}_links)
    list(REMOVE_DUPLICATES links)
    set(objects)
    foreach(room ${rooms})
        list(APPEND objects $<TARGET_OBJECTS:${room}>)
    endforeach()

    add_library(${name} ${objects})
    set(libraries ${name})
    if(BUILD_SHARED_LIBS)
        add_library(${name}_internal STATIC ${objects})
        list(APPEND libraries ${name}_internal)
    else()
        add_library(${name}_internal INTERFACE)
        target_link_libraries(${name}_internal INTERFACE ${name})
    endif()
    foreach(library ${libraries})
        set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
        target_compile_features(${library} PUBLIC cxx_std_20)
        target_include_directories(${library} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        target_link_libraries(${library} PRIVATE ${links} $<BUILD_INTERFACE:convolume_build_flags>)
    endforeach()
    target_link_libraries(${name}_internal INTERFACE convolume_source_includes)
    # While the major version is 0 each minor version may change the binary interface.
    set_target_properties(${name} PROPERTIES
        OUTPUT_NAME ${output_name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

convolume_make_library(convolume convolume)
convolume_make_library(convolume_io convolume-io)
target_link_libraries(convolume_io PUBLIC convolume)
if(BUILD_SHARED_LIBS)
    target_link_libraries(convolume_io_internal PUBLIC convolume_internal)
endif()
set_target_properties(convolume_io PROPERTIES EXPORT_NAME io)
add_library(convolume::convolume ALIAS convolume)

# Threads and FFTW's planner call the library until the process ends, so dlclose() must not unload it.
if(BUILD_SHARED_LIBS)
    target_link_options(convolume PRIVATE LINKER:-z,nodelete)
    # Symbols of static libraries stay private, as other shared libraries may have other copies of them.
    foreach(library convolume convolume_io)
        target_link_options(${library} PRIVATE LINKER:--exclude-libs,ALL)
    endforeach()
endif()

# A program that links convolume::cuda also computes on GPUs, and may have its own functions in the CUDA
# kernels. In a static library, no symbol refers to the CUDA part (core/gpu_backend.hpp). The linker
# takes it only if it is told to look for these names.
if(CONVOLUME_HAVE_CUDA)
    add_library(convolume_cuda INTERFACE)
    set_target_properties(convolume_cuda PROPERTIES EXPORT_NAME cuda)
    target_link_libraries(convolume_cuda INTERFACE convolume)
    add_library(convolume::cuda ALIAS convolume_cuda)
    set(cuda_runtime CUDA::cudart_static)
    if(CMAKE_CUDA_RUNTIME_LIBRARY STREQUAL "Shared")
        set(cuda_runtime CUDA::cudart)
    endif()
    set(cuda_libraries ${cuda_runtime} ${CMAKE_DL_LIBS})
    set(with_cuda_part convolume_cuda)
    if(BUILD_SHARED_LIBS)
        target_link_libraries(convolume PRIVATE ${cuda_libraries})
        set(with_cuda_part convolume_internal)
    else()
        target_link_libraries(convolume_internal INTERFACE convolume_cuda)
    endif()
    target_link_libraries(${with_cuda_part} INTERFACE ${cuda_libraries})
    target_link_options(${with_cuda_part} INTERFACE
        LINKER:-u,convolume_cuda_backend LINKER:-u,convolume_cuda_deconvolve
        LINKER:-u,convolume_cuda_forward)
endif()
add_library(convolume::io ALIAS convolume_io)
