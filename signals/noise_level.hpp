// SPDX-License-Identifier: Apache-2.0
#pragma once
// The level of a signal's noise, estimated block by block, and a source that divides by it.

#include <complex>
#include <optional>
#include <vector>

#include "convolume/filter_bank.hpp"

namespace convolume {

/// Throws InvalidArgument for blocks that are too short for an estimate.
void check_noise_block(index_t block);

/// A source whose samples are those of another source, divided by the level of their noise. Each
/// signal must be read from sample 0 on, without gaps.
class NoiseDivider : public SignalSource {
  public:
    /// `samples` is the number of samples of each signal, or unknown_samples. `precision` is that
    /// of the quotients. Throws InvalidArgument for short blocks.
    NoiseDivider(SignalSource& source, index_t samples, index_t block, Precision precision);
    PixelType type() const override { return type_; }
    void read(index_t signal, index_t begin, index_t count, void* to) override;
    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override;
    void cancel() override { source_.cancel(); }

  private:
    struct BlockLevel {
        double center = 0;  ///< middle of the block, as a number of samples
        double value = 0;   ///< standard deviation; 0: unknown
    };
    void start(index_t signal);
    /// Divides samples as read_until_end() does, after its preparation.
    index_t divide(index_t begin, index_t count, void* to);
    /// Reads until the samples before `end` are there, or the signal ends.
    void read_ahead(index_t end);
    /// Appends the level of the next block, unless the signal ended before it.
    void add_level();
    double estimate(index_t begin, index_t end) const;
    double level_at(index_t sample);

    SignalSource& source_;
    index_t length_;  ///< samples of a signal, as given
    index_t block_;
    PixelType type_;
    bool complex_;

    index_t signal_ = -1;
    std::optional<index_t> end_;  ///< samples of the signal, once they are known
    index_t first_ = 0;           ///< sample that samples_ begins with
    std::vector<std::complex<double>> samples_;
    std::vector<char> raw_;
    index_t blocks_ = 0;       ///< blocks that have a level
    bool all_levels_ = false;  ///< the last block has its level
    BlockLevel left_, right_;  ///< levels of the last two blocks
};

}  // namespace convolume
