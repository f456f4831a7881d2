# SPDX-License-Identifier: Apache-2.0
# Finds libdeflate, which compresses and decompresses whole buffers: target Deflate::Deflate.
find_path(DEFLATE_INCLUDE_DIR libdeflate.h)
find_library(DEFLATE_LIBRARY NAMES deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Deflate
    REQUIRED_VARS DEFLATE_LIBRARY DEFLATE_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libdeflate-dev")
mark_as_advanced(DEFLATE_INCLUDE_DIR DEFLATE_LIBRARY)
if(Deflate_FOUND AND NOT TARGET Deflate::Deflate)
    add_library(Deflate::Deflate UNKNOWN IMPORTED)
    set_target_properties(Deflate::Deflate PROPERTIES
        IMPORTED_LOCATION ${DEFLATE_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${DEFLATE_INCLUDE_DIR})
endif()
