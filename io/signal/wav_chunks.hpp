// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chunks of a WAV file. libsndfile decodes samples; of the file itself it sees the format and
// the samples alone, since on damaged sizes of other chunks it may not come to an end.

#include <string>

#include "io/raw_file.hpp"

namespace convolume::io {

struct WavChunks {
    std::string format;  ///< content of the chunk "fmt "
    index_t samples_at = 0;
    index_t sample_bytes = 0;
};

/// Of RIFF, RF64 or Wave64. Where a recorder did not come to write how many samples follow,
/// they go up to the file's end. Throws BadData for files of other formats, and those that are
/// truncated or damaged.
WavChunks find_wav_chunks(const RawFile& file);

/// What stands before the samples in a file of nothing else: RIFF, from 4 GiB on RF64.
std::string wav_header(const WavChunks& chunks);

}  // namespace convolume::io
