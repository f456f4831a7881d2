// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers and writers behind open_signal() and create_signal(), and what they share.

#include "convolume/image_file.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::io {

/// A reader that knows all about its signals once it is made.
class KnownSignals : public SignalReader {
  public:
    const SignalInfo& info() const final { return info_; }

  protected:
    SignalInfo info_;
};

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path);
std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, StoredType type,
                                              const OpenSignalOptions& options);
std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec);

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path);
/// Whether a file that begins with these bytes (16 at least) is WAV: RIFF, RIFX, RF64, BW64 or
/// Wave64.
bool begins_as_wav(std::string_view head);

/// Signals that are to be written to a file.
struct NewSignals {
    PathSpec path;
    std::vector<index_t> dims;
    SampleType type;
    CreateSignalOptions options;

    /// Bytes of all samples of `bytes_each` bytes, 0 if their number is unknown. Throws
    /// InvalidArgument beyond 64 bits.
    index_t expected_bytes(index_t bytes_each) const;
};
std::unique_ptr<SignalWriter> create_npy_signal(const NewSignals& signals);
/// Writes samples as options.stored says.
std::unique_ptr<SignalWriter> create_raw_signal(const NewSignals& signals);
std::unique_ptr<SignalWriter> create_hdf5_signal(const NewSignals& signals);
std::unique_ptr<SignalWriter> create_wav_signal(const NewSignals& signals);

/// Index along each axis before the last of row `row`, in C order.
std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row);

/// Throws InvalidArgument unless there are such samples of such a row.
void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count);

/// The type of pixels that are such samples; nothing for positions.
std::optional<PixelType> pixel_type_of(SampleType type);

}  // namespace convolume::io
