// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chunks of a WAV file. libsndfile decodes samples; of the file itself it sees the format and
// the samples alone, since on damaged sizes of other chunks it may not come to an end.

#include <string>
#include <string_view>

#include "io/raw_file.hpp"

namespace convolume::io {

struct WavChunks {
    std::string format;  ///< content of the chunk "fmt "
    index_t samples_at = 0;
    index_t sample_bytes = 0;
    bool big_endian = false;  ///< numbers and samples
};

/// Contents of the chunk "fmt "; 0 where it is too short.
struct WavFormat {
    static constexpr int integers = 1, floating_point = 3;  ///< tags

    int tag = 0;  ///< of extensible formats that of the subformat
    int channels = 0;
    index_t rate_hz = 0;
    int frame_bytes = 0;
    int bits = 0;  ///< that a sample takes
};

/// Whether a file that begins with these 16 bytes is WAV: RIFF, RIFX, RF64, BW64 or Wave64.
bool begins_as_wav(std::string_view head);

/// Finds format and samples of a WAV file. If a program could not know how many samples would
/// follow, as on a pipe, they go up to the file's end. Throws BadData for files of other formats,
/// and those that are truncated or damaged.
WavChunks find_wav_chunks(const RawFile& file);

WavFormat parse_wav_format(const WavChunks& chunks);

/// Makes the header of a little-endian file that holds format and samples alone: RIFF, from 4 GiB
/// on RF64.
std::string wav_header(const WavChunks& chunks);

}  // namespace convolume::io
