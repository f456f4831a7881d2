// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a caller asks for to what engines do: filters of one frame, results as a range, and
// the engine and method that are predicted to be fastest.

#include <algorithm>
#include <optional>
#include <vector>

#include "convolume/filter_bank.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

struct FilterProblem {
    FilterWork work;    ///< method and segment as the options have them
    Volume taps;        ///< filters × work.taps, of work.sample_type()
    index_t frame = 0;  ///< taps of the common frame, as the caller counts them
    SampleRange range;  ///< of the full result, as the caller counts it
    /// Result n of the caller is the engines' n + shift: a derivative is folded into the taps.
    index_t shift = 0;
    index_t origin = 0;  ///< of the frame
    Mode mode = Mode::same;
    std::optional<SampleRange> asked;  ///< instead of the mode
    index_t chunk = 0;                 ///< results computed at a time when streaming; 0: any number

    SampleRange engine_range() const { return {range.begin + shift, range.end + shift}; }
    index_t stored() const { return work.window.stored(range.count()); }
    /// Results of each filter and signal whose time is predicted: all, or of signals of unknown
    /// length a chunk.
    index_t predicted_results(const SignalShape& shape) const {
        return shape.samples == unknown_samples ? std::min(chunk, range.count()) : range.count();
    }

    /// Samples beyond its inputs that tell whether a result of a signal of unknown length exists:
    /// of a signal that is delayed, the last results are dropped.
    index_t lookahead(const SignalShape& shape) const {
        const bool dropped = shape.samples == unknown_samples && mode == Mode::same && !asked;
        return dropped ? std::max<index_t>(0, -origin - shift) : 0;
    }

    /// `range` for signals of that length. It always begins at the same sample. Throws
    /// InvalidArgument where it is empty or outside the full result.
    SampleRange range_of(index_t samples) const;

    /// The samples that results [begin, end) of the engines are made of, of a signal of `samples`.
    SampleRange inputs(const SampleRange& results, index_t samples) const;
};

/// Throws InvalidArgument and BadData as FilterBank's constructor does.
FilterProblem resolve_filters(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                              const FilterOptions& options, PixelType signal_type);

struct MethodSelection {
    std::shared_ptr<FilterEngine> engine;
    FilterCost cost;
};

/// The least predicted seconds for signals of `shape` among engines and methods that the options
/// leave; with a memory limit, among those that keep it on the host, if any does. Throws
/// Unavailable where there are none, InvalidArgument where another segment would do.
MethodSelection select_method(const FilterProblem& problem, const SignalShape& shape,
                              const FilterOptions& options, const FilterEngineList& engines);

}  // namespace convolume
