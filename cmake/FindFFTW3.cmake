# SPDX-License-Identifier: Apache-2.0
# Finds FFTW 3 in single and double precision: targets FFTW3::float and FFTW3::double.
find_path(FFTW3_INCLUDE_DIR fftw3.h)
find_library(FFTW3_FLOAT_LIBRARY fftw3f)
find_library(FFTW3_DOUBLE_LIBRARY fftw3)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW3
    REQUIRED_VARS FFTW3_FLOAT_LIBRARY FFTW3_DOUBLE_LIBRARY FFTW3_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libfftw3-dev")
mark_as_advanced(FFTW3_INCLUDE_DIR FFTW3_FLOAT_LIBRARY FFTW3_DOUBLE_LIBRARY)
if(FFTW3_FOUND)
    foreach(precision float double)
        if(NOT TARGET FFTW3::${precision})
            string(TOUPPER ${precision} upper)
            add_library(FFTW3::${precision} UNKNOWN IMPORTED)
            set_target_properties(FFTW3::${precision} PROPERTIES
                IMPORTED_LOCATION ${FFTW3_${upper}_LIBRARY}
                INTERFACE_INCLUDE_DIRECTORIES ${FFTW3_INCLUDE_DIR})
        endif()
    endforeach()
endif()
