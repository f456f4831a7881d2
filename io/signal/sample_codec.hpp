// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between samples as they are stored in raw files and samples in memory.

#include <string>
#include <vector>

#include "convolume/signal_file.hpp"

namespace convolume::io {

/// Where in memory for `count` samples of read_type(type) their stored bytes are put before
/// decode(): at its end.
void* stored_place(void* samples, index_t count, StoredType type);
/// Turns stored bytes at stored_place() into samples. `swapped`: their bytes are in the other order
/// than this machine's.
void decode(void* samples, index_t count, StoredType type, bool swapped);

/// Turns samples into what is stored; integers are rounded and clamped.
class SampleEncoder {
  public:
    /// Throws InvalidArgument, with `path`, for what `stored` cannot hold: complex samples as real
    /// ones, real ones as complex ones, positions as anything but int64.
    SampleEncoder(SampleType type, StoredType stored, const std::string& path);

    /// Samples that encode() takes at a time, at most.
    static constexpr index_t at_a_time = index_t{1} << 15;
    /// The bytes of `count` samples in this machine's order: `samples` itself, or memory that the
    /// next call overwrites.
    const void* encode(const void* samples, index_t count);
    const ClampCount& clamped() const { return clamped_; }

  private:
    SampleType type_;
    StoredType stored_;
    bool as_it_is_;
    std::vector<double> shifted_;
    std::vector<char> bytes_;
    ClampCount clamped_;
};

}  // namespace convolume::io
