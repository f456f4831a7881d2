// SPDX-License-Identifier: Apache-2.0
#pragma once
// Banks of filters over long 1D signals: plan once for the signals' shape and the filters, execute
// any number of times.

#include <memory>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Signals to filter, and what is stored of them.
struct SignalShape {
    index_t signals = 1;  ///< filtered alike
    index_t samples = 0;  ///< of each; unknown_samples: of the one signal, until its source ends
};

/// Signals that are read in chunks, from a file for example.
class CONVOLUME_API SignalSource {
  public:
    virtual ~SignalSource() = default;
    virtual PixelType type() const = 0;
    /// Samples begin … begin+count-1 of one signal to `to`, contiguous, of type().
    virtual void read(index_t signal, index_t begin, index_t count, void* to) = 0;
    /// For unknown_samples: the same, but fewer than `count` where the signal ends. Returns how
    /// many there were, or, where it ended before `begin`, minus the samples from its end to there.
    /// `begin` never goes back.
    virtual index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) {
        read(signal, begin, count, to);
        return count;
    }
    /// Called from another thread when nothing more is needed, since someone stopped or failed: a
    /// call that waits for samples may throw.
    virtual void cancel() {}
};

/// Takes results in chunks, any order.
class CONVOLUME_API ResultSink {
  public:
    virtual ~ResultSink() = default;
    /// Stored samples begin … begin+count-1 of one filter of one signal, of FilterBank's
    /// result_type().
    virtual void write(index_t signal, index_t filter, index_t begin, index_t count,
                       const void* from) = 0;
    /// Positions of the same samples, for peaks: indices in the full result.
    virtual void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                                 const index_t* from);
    /// Called from another thread, as SignalSource::cancel().
    virtual void cancel() {}
};

/// How the work will be done.
struct CONVOLUME_API FilterPlan {
    FilterMethod method = FilterMethod::overlap_save;
    index_t segment = 0;
    std::string engine;             ///< "gpu:0"
    double seconds = 0;             ///< predicted, from host memory to host memory; of
                                    ///< unknown_samples: of a chunk
    index_t chunk = 0;              ///< results computed at a time when streaming
    index_t stream_bytes = 0;       ///< of host memory when streaming
    std::string to_string() const;  ///< a few lines for people
};

/// Filters signals with a bank of filters. Immutable after construction: execute() may be called
/// from several threads.
class CONVOLUME_API FilterBank {
  public:
    /// `filters`: any lengths, any number types, one row each (shape 1 × 1 × M; a view of shape
    /// 1 × F × M is F filters). Data are complex when `signal_type` or a filter is. Throws
    /// InvalidArgument (options, empty signal or bank), BadData (NaN in a filter), Unavailable (no
    /// engine has the method), OutOfMemory.
    FilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
               const FilterOptions& options = {}, const EngineChoice& engines = {},
               PixelType signal_type = PixelType::float32);
    ~FilterBank();
    FilterBank(FilterBank&&) noexcept;
    FilterBank& operator=(FilterBank&&) noexcept;

    const SignalShape& signal_shape() const;
    index_t filters() const;
    index_t taps() const;    ///< M: from the first tap of any filter to the last, origins aligned
    index_t origin() const;  ///< of these taps: sample i of the signal is full[i + origin]
    SampleRange range() const;       ///< of the full result, before windows
    index_t result_samples() const;  ///< stored for each filter of each signal
    PixelType result_type() const;
    FilterPlan plan() const;

    /// `signals`: shape (1, signals, samples), any type that is not complex where the plan is real.
    /// `results`: shape (signals, filters, result_samples()), of result_type(), x contiguous.
    /// `peak_positions`: as many as results, contiguous; may be null. Throws InvalidArgument,
    /// BadData (NaN under NanPolicy::error), OutOfMemory, Cancelled.
    ExecutionReport execute(const ConstImageView& signals, const ImageView& results,
                            index_t* peak_positions = nullptr,
                            const ExecutionContext& context = {}) const;

    /// The same from source to sink in chunks that fit the memory limit: reading, filtering and
    /// writing overlap. Source and sink are called from one thread each. Signals of
    /// unknown_samples are only filtered this way; a range that they end before is InvalidArgument,
    /// no samples at all are BadData.
    ExecutionReport execute(SignalSource& source, ResultSink& sink,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    friend struct FilterBankFactory;
    explicit FilterBank(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// One call for signals in memory: plans, executes, returns signals × filters × samples.
CONVOLUME_API Volume filter_signals(const ConstImageView& signals, const ConstImageView& filters,
                                    const FilterOptions& options = {},
                                    const EngineChoice& engines = {});

}  // namespace convolume
