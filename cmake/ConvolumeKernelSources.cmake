# SPDX-License-Identifier: Apache-2.0
# Generates CUDA sources that differ only in their template instances from one template (.cu.in) each,
# so that CUDA kernels are compiled in parallel.

# convolume_instantiate(<list> <template> <name> <variable=value>…): appends <name>.cu to <list>,
# the template with @variable@ replaced.
function(convolume_instantiate list template name)
    foreach(assignment IN LISTS ARGN)
        string(REGEX MATCH "^([^=]+)=(.+)$" matched ${assignment})
        set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endforeach()
    set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels/${name}.cu)
    configure_file(${template} ${source} @ONLY)
    list(APPEND ${list} ${source})
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# convolume_kernel_sources(<list> <folder>): appends the generated sources of fft, volumes and
# signals in <folder> to <list>.
function(convolume_kernel_sources list folder)
    # Counts of the generated files for each precision. The lengths of the FFT passes are divided among
    # the files. CUDA loads the code of a file when the first of its lengths is planned, which takes
    # about 3 ms with 28 files and 11 ms with 8. Where the code is only compiled, fewer files are faster.
    set(groups_float ${CONVOLUME_PASS_FILES})
    math(EXPR groups_double "(${groups_float} + 1) / 2")
    set_source_files_properties(${folder}/fft/passes.cpp PROPERTIES COMPILE_DEFINITIONS
        "CONVOLUME_LENGTH_GROUPS_FLOAT=${groups_float};CONVOLUME_LENGTH_GROUPS_DOUBLE=${groups_double}")
    foreach(Real float double)
        math(EXPR last "${groups_${Real}} - 1")
        foreach(Group RANGE ${last})
            convolume_instantiate(${list} ${folder}/fft/passes.cu.in passes_${Real}_${Group}
                Real=${Real} Group=${Group} Groups=${groups_${Real}})
        endforeach()

        set(direct ${folder}/volumes/direct/direct.cu.in)
        convolume_instantiate(${list} ${direct} direct_${Real} Sample=${Real})
        convolume_instantiate(${list} ${direct} direct_complex_${Real} Sample=Complex<${Real}>)

        set(segments ${folder}/signals/segments.cu.in)
        convolume_instantiate(${list} ${segments} segments_${Real}_real
            Real=${Real} complex_data=false)
        convolume_instantiate(${list} ${segments} segments_${Real}_complex
            Real=${Real} complex_data=true)
        convolume_instantiate(${list} ${folder}/signals/channels.cu.in channels_${Real} Real=${Real})
    endforeach()
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# convolume_element_pass_sources(<list> <folder>): generates the sources of element passes from the
# template <folder>/element_passes.cu.in, and appends their names to <list>.
function(convolume_element_pass_sources list folder)
    # Number of generated files, among which the lengths of element passes are divided.
    math(EXPR groups "(${CONVOLUME_PASS_FILES} + 1) / 2")
    set_source_files_properties(${folder}/element_passes.cpp PROPERTIES COMPILE_DEFINITIONS
        "CONVOLUME_ELEMENT_LENGTH_GROUPS=${groups}")
    math(EXPR last "${groups} - 1")
    foreach(Group RANGE ${last})
        convolume_instantiate(${list} ${folder}/element_passes.cu.in element_passes_${Group}
            Group=${Group} Groups=${groups})
        # Denormal numbers are flushed to 0, as quotients that support them take twice the instructions.
        set_source_files_properties(
            ${CMAKE_CURRENT_BINARY_DIR}/kernels/element_passes_${Group}.cu PROPERTIES
            COMPILE_OPTIONS -ftz=true)
    endforeach()
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()
