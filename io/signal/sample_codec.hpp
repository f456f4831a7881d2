// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between samples as they are stored in raw files and samples in memory.

#include <functional>
#include <string>
#include <vector>

#include "convolume/signal_file.hpp"

namespace convolume::io {

/// As samples are stored where nothing else is asked for.
StoredType stored_type_of(SampleType type);

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

    /// Calls `use` with the bytes of some samples after others, in this machine's order, and the
    /// number of these samples. The bytes are gone when it returns.
    void encode(const void* samples, index_t count,
                const std::function<void(const void* stored, index_t samples)>& use);
    const ClampCount& clamped() const { return clamped_; }

  private:
    const void* encode_some(const void* samples, index_t count);

    SampleType type_;
    StoredType stored_;
    bool as_it_is_;
    std::vector<double> shifted_;
    std::vector<char> bytes_;
    ClampCount clamped_;
};

}  // namespace convolume::io
