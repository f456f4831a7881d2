# SPDX-License-Identifier: Apache-2.0
# Finds libsndfile: target SndFile::SndFile.
find_path(SNDFILE_INCLUDE_DIR sndfile.h)
find_library(SNDFILE_LIBRARY NAMES sndfile)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SndFile
    REQUIRED_VARS SNDFILE_LIBRARY SNDFILE_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libsndfile1-dev")
mark_as_advanced(SNDFILE_INCLUDE_DIR SNDFILE_LIBRARY)
if(SndFile_FOUND AND NOT TARGET SndFile::SndFile)
    add_library(SndFile::SndFile UNKNOWN IMPORTED)
    set_target_properties(SndFile::SndFile PROPERTIES
        IMPORTED_LOCATION ${SNDFILE_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${SNDFILE_INCLUDE_DIR})
endif()
