// SPDX-License-Identifier: Apache-2.0
#pragma once
// Format of the samples in WAV files and in WAV data on pipes.

#include <cstdint>
#include <string>
#include <string_view>

#include "convolume/signal_file.hpp"

namespace convolume::io {

inline constexpr std::uint64_t largest_uint32 = 0xFFFFFFFF;
/// Bytes of the RIFF chunks that are kept, and the most RIFF chunks of a file that is not damaged.
inline constexpr index_t most_format_bytes = 4096;
inline constexpr int most_riff_chunks = 10000;

/// Returns the number of `width` bytes at byte `at`; 0 if it is not within `bytes`.
std::uint64_t number_of_bytes_at(std::string_view bytes, std::size_t at, std::size_t width,
                                 bool big_endian);

/// Tells whether a size of 32 bits means that the program did not know the size. Programs that
/// write to a pipe store a number near 2 GiB (SoX 0x7FFFF000, others 0x7FFFFFFF or 0x80000000) or
/// near 4 GiB (FFmpeg 0xFFFFFFFF). It may include the bytes of the header.
bool means_unknown(std::uint64_t size);

/// Contents of the RIFF chunk "fmt ". Numbers beyond its end are 0.
struct WavFormat {
    static constexpr int integers = 1, floating_point = 3;  ///< codes of the formats of samples

    WavFormat(std::string_view chunk, bool is_big_endian);

    /// Returns the metadata of `frames` frames; all channels may have unknown_samples.
    SignalInfo signal_info(index_t frames) const;
    /// Returns a sample. Eight bytes from its beginning on must be readable, whatever its width.
    template <class Real>
    Real value(const char* sample) const;

    bool big_endian;  ///< byte order of samples
    int tag = 0;  ///< code of the sample format; for an extensible format, that of its subformat
    index_t channels = 0;
    index_t rate_hz = 0;
    index_t bits = 0;   ///< significant bits of a sample
    index_t width = 0;  ///< bytes of a sample
    index_t frame_bytes = 0;
};

/// Throws BadData if samples of this format cannot be read. `path` names their source.
void check_format(const WavFormat& format, const std::string& path);

}  // namespace convolume::io
