// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion between samples as raw files store them and samples in memory.

#include <functional>
#include <string>
#include <vector>

#include "convolume/signal_file.hpp"

namespace convolume::io {

/// Returns the default type in which samples of `type` are stored.
StoredType stored_type_of(SampleType type);

/// Returns whether samples are floating-point numbers of 16 bits.
bool is_short_float(StoredType type);

/// Returns the address where the stored bytes must be placed before decode(). This is the end of
/// the memory for `count` samples of read_type(type).
void* stored_bytes_address(void* samples, index_t count, StoredType type);
/// Converts stored bytes at stored_bytes_address() to samples. `swapped` tells that their byte
/// order differs from this machine's.
void decode(void* samples, index_t count, StoredType type, bool swapped);
/// Converts the first `there` of `count` samples, whose stored bytes begin at
/// stored_bytes_address(samples, count, type).
void decode_first(void* samples, index_t there, index_t count, StoredType type, bool swapped);

/// Whether the byte order of raw samples differs from this machine's.
bool swaps_bytes(const OpenSignalOptions& options);

/// Converts samples to stored bytes. Integers are rounded and clamped.
class SampleEncoder {
  public:
    /// Throws InvalidArgument, naming `path`, if `stored` cannot hold the samples. Complex samples
    /// are not stored as real ones, real ones not as complex ones, and positions only as int64.
    SampleEncoder(SampleType type, StoredType stored, const std::string& path);

    /// Converts the samples in groups. Calls `use` for each group with its bytes in this machine's
    /// byte order, valid only during the call, and with the number of its samples.
    void encode(const void* samples, index_t count,
                const std::function<void(const void* stored, index_t samples)>& use);
    const ClampCount& clamped() const { return clamped_; }

  private:
    const void* encode_group(const void* samples, index_t count);
    const void* encode_short_floats(const void* samples, index_t count);

    SampleType type_;
    StoredType stored_;
    bool needs_no_conversion_;
    std::vector<double> shifted_;  // samples with the offset of cu8 added
    std::vector<float> singles_;   // samples that are rounded to 16 bits
    std::vector<char> bytes_;
    ClampCount clamped_;
};

}  // namespace convolume::io
