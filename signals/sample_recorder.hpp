// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sources of signals that wrap others: a signal in memory, and a source whose latest samples are
// kept, so that they can be read again.

#include <complex>
#include <map>
#include <mutex>
#include <vector>

#include "convolume/filter_bank.hpp"

namespace convolume {

/// A source of signals in memory, of shape (1, signals, samples) and any strides.
class MemorySource : public SignalSource {
  public:
    explicit MemorySource(const ConstImageView& signals) : signals_(signals) {}
    PixelType type() const override { return signals_.type; }
    void read(index_t signal, index_t begin, index_t count, void* to) override;

  private:
    ConstImageView signals_;
};

/// Samples of signals that can be read again in short sections, by several threads.
class SampleMemory {
  public:
    virtual ~SampleMemory() = default;
    /// Writes samples begin … begin+count-1 of a signal; zero outside the signal, and for values
    /// that are not finite if `nonfinite_to_zero`. Samples from `begin` on must not be released.
    virtual void recall(index_t signal, index_t begin, index_t count, bool nonfinite_to_zero,
                        std::complex<double>* to) = 0;
    /// Returns the number of samples of a signal that can be recalled so far.
    virtual index_t samples_there(index_t signal) const = 0;
    virtual void release(index_t signal, index_t begin);  ///< releases samples before `begin`
    virtual void release(index_t signal);                 ///< releases all samples of a signal
};

/// Reads samples of a source of known length each time they are recalled.
class RereadSource : public SampleMemory {
  public:
    RereadSource(SignalSource& source, index_t samples) : source_(source), samples_(samples) {}
    void recall(index_t signal, index_t begin, index_t count, bool nonfinite_to_zero,
                std::complex<double>* to) override;
    index_t samples_there(index_t) const override { return samples_; }

  private:
    SignalSource& source_;
    index_t samples_;
    std::mutex mutex_;
};

/// A source that passes samples on and keeps them until they are released. One thread may read
/// while others recall.
class SampleRecorder : public SignalSource, public SampleMemory {
  public:
    explicit SampleRecorder(SignalSource& source) : source_(source) {}
    PixelType type() const override { return source_.type(); }
    void read(index_t signal, index_t begin, index_t count, void* to) override;
    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override;
    void cancel() override { source_.cancel(); }

    void recall(index_t signal, index_t begin, index_t count, bool nonfinite_to_zero,
                std::complex<double>* to) override;
    index_t samples_there(index_t signal) const override;
    void release(index_t signal, index_t begin) override;
    void release(index_t signal) override;

  private:
    struct Kept {
        index_t begin = 0;  ///< first sample that is kept
        std::vector<char> bytes;
    };
    void keep(index_t signal, index_t begin, index_t count, const void* samples);

    SignalSource& source_;
    mutable std::mutex mutex_;
    std::map<index_t, Kept> kept_;
};

}  // namespace convolume
