// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readers and writers of each format behind open_signal() and create_signal(), with shared
// functions.

#include "convolume/image_file.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::io {

/// Base class of readers that know the properties of their signals once they are constructed.
class SignalReaderBase : public SignalReader {
  public:
    const SignalInfo& info() const final { return info_; }

  protected:
    SignalInfo info_;
};

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path);
/// Tells whether `head` begins an NPY file.
bool begins_as_npy(std::string_view head);
std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, StoredType type,
                                              const OpenSignalOptions& options);
/// Returns a reader of frames of `info.type` in an open file, which it closes. `info` has their
/// number.
std::unique_ptr<SignalReader> open_stored_frames(int descriptor, const std::string& path,
                                                 const SignalInfo& info);
/// Returns the format and type of raw samples, without their number. Throws InvalidArgument for
/// types that raw files do not have.
SignalInfo raw_info(StoredType type);
std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec);

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path);
/// Tells whether `head`, at least 16 bytes, begins a WAV file: RIFF, RIFX, RF64, BW64 or Wave64.
bool begins_as_wav(std::string_view head);

/// Request to write signals to a new file.
struct NewSignals {
    PathSpec path;
    std::vector<index_t> dims;
    SampleType type;
    CreateSignalOptions options;

    /// Returns the bytes of all samples of `bytes_each` bytes, or 0 if their number is unknown.
    /// Throws InvalidArgument beyond 64 bits.
    index_t expected_bytes(index_t bytes_each) const;
};
std::unique_ptr<SignalWriter> create_npy_signal(const NewSignals& signals);
/// Creates a raw file whose samples have the type options.stored.
std::unique_ptr<SignalWriter> create_raw_signal(const NewSignals& signals);
std::unique_ptr<SignalWriter> create_hdf5_signal(const NewSignals& signals);
std::unique_ptr<SignalWriter> create_wav_signal(const NewSignals& signals);

/// Returns the index of row `row` along each dimension but the last, in C order.
std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row);

/// Returns the number of rows: the product of all dimensions but the last.
index_t row_count(const std::vector<index_t>& dims);

/// Throws InvalidArgument unless row `row` exists and has the samples [begin, begin + count).
void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count);

/// Returns the pixel type with samples of type `type`, or nothing for int64, the type of positions.
std::optional<PixelType> pixel_type_of(SampleType type);

}  // namespace convolume::io
