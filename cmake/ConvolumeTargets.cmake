# SPDX-License-Identifier: Apache-2.0
# Common settings of the project's targets: warnings, include folders and sanitizers.

add_library(convolume_build_flags INTERFACE)
target_compile_options(convolume_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fopenmp-simd>  # enables "omp simd" loops, without OpenMP threads
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>  # it need not vectorize each "omp simd" loop
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CONVOLUME_WARNINGS_AS_ERRORS}>>:-Werror>)
# GCC aligns the stack of Windows to 16 bytes only, and moves vectors of 32 bytes and more as if it were
# aligned to their size (GCC bug 54412). The assembler makes these moves unaligned ones.
if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(convolume_build_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-Wa,-muse-unaligned-vector-move>)
endif()
if(CONVOLUME_SANITIZE)
    target_compile_options(convolume_build_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${CONVOLUME_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    target_link_options(convolume_build_flags INTERFACE -fsanitize=${CONVOLUME_SANITIZE})
endif()

# Sources name headers by their path from the root: "core/engine.hpp". Public headers are in
# include/ and are named as callers name them: "convolume/convolver.hpp".
add_library(convolume_source_includes INTERFACE)
target_include_directories(convolume_source_includes INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)

# convolume_join_cuda_sources(<list>): replaces the CUDA sources of a list by one that includes them. Sources with options
# of their own stay alone. CMake joins CUDA sources from version 3.31 on.
function(convolume_join_cuda_sources list)
    set(sources ${${list}})
    set(includes "")
    foreach(source IN LISTS sources)
        get_source_file_property(own_options ${source} COMPILE_OPTIONS)
        if(source MATCHES "\\.cu$" AND NOT own_options)
            list(REMOVE_ITEM sources ${source})
            cmake_path(ABSOLUTE_PATH source)
            string(APPEND includes "#include \"${source}\"\n")
        endif()
    endforeach()
    if(includes)
        set(joined ${CMAKE_CURRENT_BINARY_DIR}/joined.cu)
        file(CONFIGURE OUTPUT ${joined} CONTENT "${includes}" @ONLY)
        set(${list} ${sources} ${joined} PARENT_SCOPE)
    endif()
endfunction()

# convolume_room(<folder> LIBRARY <library> SOURCES … [LINK …]): compiles the objects of one folder,
# which become part of <library>, convolume or convolume_io. LINK names third-party libraries.
function(convolume_room room)
    cmake_parse_arguments(arg "" "LIBRARY" "SOURCES;LINK" ${ARGN})
    set(target convolume_room_${room})
    if(CONVOLUME_JOIN_CUDA_SOURCES)
        convolume_join_cuda_sources(arg_SOURCES)
    endif()
    add_library(${target} OBJECT ${arg_SOURCES})
    target_link_libraries(${target}
        PRIVATE convolume_source_includes convolume_build_flags ${arg_LINK})
    set_property(GLOBAL APPEND PROPERTY ${arg_LIBRARY}_rooms ${target})
    set_property(GLOBAL APPEND PROPERTY ${arg_LIBRARY}_links ${arg_LINK})
endfunction()

# convolume_optimize_little(<target>): compiles code that runs once for each command or file. Full
# optimization would take twice as long, and is not noticed. GCC compiles with -Og in less time than with -O1.
function(convolume_optimize_little target)
    set(optimized $<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>>)
    target_compile_options(${target} PRIVATE
        $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>,${optimized}>:-Og>)
endfunction()

# convolume_instruction_set_sources(<source>…): names sources that are compiled once for each instruction
# set, or once for this machine's (CONVOLUME_CPU_TARGETS).
function(convolume_instruction_set_sources)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(CONVOLUME_CPU_TARGETS STREQUAL "native")
        set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -march=native)
        set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS HWY_COMPILE_ONLY_STATIC)
    endif()
endfunction()

# Generates the header version.hpp with the project's version.
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.hpp.in
    ${PROJECT_BINARY_DIR}/include/convolume/version.hpp @ONLY)

# convolume_link_other_threads(<name> <program>): adds a program of the objects of <program>, with the
# other backend of threads (CONVOLUME_OTHER_THREADS).
function(convolume_link_other_threads name program)
    add_executable(${name} $<TARGET_OBJECTS:${program}>)
    get_target_property(libraries ${program} LINK_LIBRARIES)
    target_link_libraries(${name} PRIVATE convolume_other_threads ${libraries})
endfunction()
