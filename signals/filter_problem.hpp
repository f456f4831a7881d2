// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a caller asks for to what engines do: filters of one frame, results as a range.

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

    SampleRange engine_range() const { return {range.begin + shift, range.end + shift}; }
    index_t stored() const { return work.window.stored(range.count()); }

    /// The samples that results [begin, end) of the engines are made of, of a signal of `samples`.
    SampleRange inputs(const SampleRange& results, index_t samples) const;
};

/// Throws InvalidArgument and BadData as FilterBank's constructor does.
FilterProblem resolve_filters(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                              const FilterOptions& options, PixelType signal_type);

}  // namespace convolume
