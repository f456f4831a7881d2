// SPDX-License-Identifier: Apache-2.0
#pragma once
// Banks of filters over long 1D signals: plan once for the signals' shape and the filters, execute
// any number of times. filter_options.hpp defines what is computed.

#include <memory>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Signals that are read in chunks, for example from a file. Derive from it to filter signals that
/// are not in memory.
/// @code{.cpp}
/// class Sawtooth : public SignalSource {
///   public:
///     PixelType type() const override { return PixelType::float32; }
///     void read(index_t, index_t begin, index_t count, void* to) override {
///         for (index_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = (begin + i) % 100;
///     }
/// };
/// Sawtooth signal;
/// std::vector<float> samples(10);
/// signal.read(0, 95, 10, samples.data());
/// assert(samples[4] == 99 && samples[5] == 0);
/// @endcode
class CONVOLUME_API SignalSource {
  public:
    virtual ~SignalSource() = default;
    /// Returns the type of the samples.
    virtual PixelType type() const = 0;
    /// Reads samples begin … begin+count-1 of one signal into `to`, contiguous, of type().
    virtual void read(index_t signal, index_t begin, index_t count, void* to) = 0;
    /// Reads as read() does, for a signal of unknown_samples: fewer than `count` samples if the
    /// signal ends before. Returns the number of samples read. If the signal ended before `begin`,
    /// returns minus the number of samples from its end to `begin`. `begin` never decreases from
    /// call to call.
    virtual index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) {
        read(signal, begin, count, to);
        return count;
    }
    /// Is called from another thread when no more samples are needed, after a stop or an error. A
    /// read that waits for samples may then throw.
    virtual void cancel() {}
};

/// Takes results in chunks, in any order. Derive from it to use results without holding them.
/// @code{.cpp}
/// class Sum : public ResultSink {
///   public:
///     void write(index_t, index_t, index_t, index_t count, const void* from) override {
///         for (index_t i = 0; i < count; ++i) sum += static_cast<const float*>(from)[i];
///     }
///     double sum = 0;
/// };
/// Sum results;
/// const std::vector<float> chunk = {1, 2, 3};
/// results.write(0, 0, 0, 3, chunk.data());
/// assert(results.sum == 6);
/// @endcode
class CONVOLUME_API ResultSink {
  public:
    virtual ~ResultSink() = default;
    /// Takes stored samples begin … begin+count-1 of one filter and one signal, of the type
    /// FilterBank::result_type().
    virtual void write(index_t signal, index_t filter, index_t begin, index_t count,
                       const void* from) = 0;
    /// Takes the positions of peaks begin … begin+count-1: indices in the full result.
    virtual void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                                 const index_t* from);
    /// Is called from another thread, as SignalSource::cancel().
    virtual void cancel() {}
};

/// The decision how signals are filtered, with its predicted time.
struct CONVOLUME_API FilterPlan {
    FilterMethod method = FilterMethod::overlap_save;
    index_t segment = 0;  ///< transform length of the overlap methods
    std::string engine;   ///< name of the engine, such as "gpu:0"
    /// Predicted seconds from host memory to host memory; for unknown_samples those of one chunk.
    double seconds = 0;
    index_t chunk = 0;         ///< results of a signal that are computed at once when streaming
    index_t stream_bytes = 0;  ///< bytes of host memory for buffers when streaming
    std::string to_string() const;  ///< returns a few lines for people
};

/// Filters signals with a bank of filters. Immutable after construction: execute() may be called
/// from several threads.
/// @code{.cpp}
/// const index_t samples = 100000;
/// const std::vector<float> signal(samples, 1.0F), mean(64, 1 / 64.0F), slope = {1, 0, -1};
/// FilterOptions options;
/// options.mode = Mode::valid;
/// const FilterBank bank({1, samples},
///                       {view_of(mean.data(), {1, 1, 64}), view_of(slope.data(), {1, 1, 3})},
///                       options);
/// Volume results({1, bank.filters(), bank.result_samples()}, bank.result_type());
/// bank.execute(view_of(signal.data(), {1, 1, samples}), results.view());
/// assert(std::abs(results.elements<float>()[100] - 1) < 1e-4);
/// @endcode
class CONVOLUME_API FilterBank {
  public:
    /// Plans, and transforms the filters. `filters` have any lengths and types. A view of shape (1,
    /// 1, M) is one filter, a view of shape (1, F, M) is F filters. Results are complex if
    /// `signal_type` or a filter is. Throws InvalidArgument (options, empty signal or bank),
    /// BadData (NaN in a filter), Unavailable (no engine has the method), or OutOfMemory. For other
    /// storage than plain, `signal_type` only says whether signals are complex.
    FilterBank(const SignalShape& shape, const std::vector<ConstImageView>& filters,
               const FilterOptions& options = {}, const EngineChoice& engines = {},
               PixelType signal_type = PixelType::float32);

    const SignalShape& signal_shape() const;
    index_t filters() const;  ///< returns the number of filters
    /// Returns M, the number of taps from the first tap of any filter to the last, with their
    /// origins aligned.
    index_t taps() const;
    /// Returns the common origin among these taps: sample i of Mode::same is full[i + origin].
    index_t origin() const;
    /// Returns the samples of the full result that are computed, before windows.
    SampleRange range() const;
    /// Returns the signal's sample that meets the origin in the first result. The next results are
    /// as many samples later as FilterOptions::window is long.
    index_t first_sample() const { return range().begin - origin(); }
    /// Returns the number of samples that are stored for each filter of each signal.
    index_t result_samples() const;
    /// Returns the type of the results' elements: with FilterOptions::result_storage
    /// element_type(), else that of the computation.
    PixelType result_type() const;
    /// Returns the number of elements of a stored sample: 2 for complex results of 16 bits, else 1.
    index_t result_elements() const;
    FilterPlan plan() const;

    /// Filters signals in memory. `signals` has the shape (1, signals, samples), and any type, but
    /// no complex one if the plan is real. In 16 bits, it has the element_type() of the storage,
    /// and two elements for each complex sample. `results` has the shape (signals, filters,
    /// result_samples() · result_elements()), the type result_type() and contiguous x. Values
    /// clamped to int16 are counted in the report. `peak_positions`, contiguous, gets the position
    /// of each result in the full result, if results are peaks of windows; it may be null, and must
    /// be otherwise. Throws InvalidArgument, BadData (NaN under NanPolicy::error), OutOfMemory, or
    /// Cancelled.
    ExecutionReport execute(const ConstImageView& signals, const ImageView& results,
                            index_t* peak_positions = nullptr,
                            const ExecutionContext& context = {}) const;

    /// Filters signals from `source` to `sink`, in chunks that fit the memory limit. Reading,
    /// filtering and writing overlap. Source and sink are called from one thread each. Signals of
    /// unknown_samples need this overload. Throws as execute() for signals in memory does, and the
    /// errors of source and sink. Throws InvalidArgument if a signal ends before
    /// FilterOptions::range, and BadData if it has no samples.
    ExecutionReport execute(SignalSource& source, ResultSink& sink,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    friend struct FilterBankFactory;
    explicit FilterBank(Hidden<Impl> impl);
    Hidden<Impl> impl_;
};

/// Filters signals in memory in one call: plans, executes, and returns results of shape (signals,
/// filters, samples). Shapes of `signals` and `filters` are (1, signals, samples) and (1, F, M).
/// Throws as FilterBank does.
/// @code{.cpp}
/// const std::vector<float> signal = {0, 0, 1, 0, 0}, filter = {1, 2, 3};
/// const Volume result =
///     filter_signals(view_of(signal.data(), {1, 1, 5}), view_of(filter.data(), {1, 1, 3}));
/// assert(std::abs(result.elements<float>()[2] - 2) < 1e-5);
/// @endcode
CONVOLUME_API Volume filter_signals(const ConstImageView& signals, const ConstImageView& filters,
                                    const FilterOptions& options = {},
                                    const EngineChoice& engines = {});

}  // namespace convolume
