// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translation of a caller's request into filters of one frame, a range of results, and the engine
// and method that are predicted to be fastest.

#include <algorithm>
#include <optional>
#include <vector>

#include "core/filter_engine.hpp"

namespace convolume {

struct FilterProblem {
    FilterSpec spec;         ///< specification for engines, with the options' method and segment
    Volume taps;             ///< filters × spec.taps samples of spec.sample_type()
    index_t frame_taps = 0;  ///< taps of the common frame, without those added for a derivative
    SampleRange range;       ///< range of the caller's full result
    /// The caller's result n is result n + shift of engines: a derivative is folded into the taps.
    index_t shift = 0;
    index_t origin = 0;  ///< tap of the frame that is the caller's origin
    Mode mode = Mode::same;
    std::optional<SampleRange> requested_range;  ///< requested range, which overrides the mode
    index_t chunk = 0;  ///< results computed at a time when signals are streamed; 0: any number

    SampleRange engine_range() const { return {range.begin + shift, range.end + shift}; }
    index_t stored() const { return spec.window.stored(range.count()); }
    /// Return the type of elements in memory, and how many of them a sample has.
    PixelType signal_element() const {
        const bool plain = spec.signal_storage == SampleStorage::plain;
        return plain ? spec.sample_type() : element_type(spec.signal_storage);
    }
    PixelType result_element() const {
        const bool plain = spec.result_storage == SampleStorage::plain;
        return plain ? spec.result_type() : element_type(spec.result_storage);
    }
    index_t signal_elements() const {
        return spec.signal_storage != SampleStorage::plain && spec.complex_data ? 2 : 1;
    }
    index_t result_elements() const {
        const bool plain = spec.result_storage == SampleStorage::plain;
        return !plain && is_complex(spec.result_type()) ? 2 : 1;
    }
    /// Returns how many results of each filter and signal have a predicted time: all, or one
    /// chunk if the length of the signal is unknown.
    index_t predicted_results(const SignalShape& shape) const {
        return shape.samples == unknown_samples ? std::min(chunk, range.count()) : range.count();
    }

    /// Returns the number of samples after the inputs of a result that must be read to know whether
    /// the result exists. It is above 0 only for a signal of unknown length whose results are
    /// delayed by a negative origin: the last ones are dropped.
    index_t samples_to_detect_end(const SignalShape& shape) const {
        const bool dropped =
            shape.samples == unknown_samples && mode == Mode::same && !requested_range;
        return dropped ? std::max<index_t>(0, -origin - shift) : 0;
    }

    /// Returns `range` for signals of `samples` samples. Its begin does not depend on
    /// `samples`. Throws InvalidArgument if it is empty or outside the full result.
    SampleRange range_of(index_t samples) const;

    /// Returns the samples that the engines need for `results`, of a signal of `samples` samples.
    SampleRange inputs(const SampleRange& results, index_t samples) const;
};

/// Translates a caller's request. Throws InvalidArgument and BadData like FilterBank's constructor.
FilterProblem resolve_filters(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                              const FilterOptions& options, PixelType signal_type);

struct MethodSelection {
    std::shared_ptr<FilterEngine> engine;
    FilterCost cost;
};

/// Selects the engine and method with the least predicted seconds for signals of `shape`, among
/// those that the options allow. Prefers engines and methods that keep the limit of host memory.
/// Throws Unavailable if there are none, and InvalidArgument if only the requested segment excludes
/// them.
MethodSelection select_method(const FilterProblem& problem, const SignalShape& shape,
                              const FilterOptions& options, const FilterEngineList& engines);

}  // namespace convolume
