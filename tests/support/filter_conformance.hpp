// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every filter engine must do: the same random cases for the CPU's and the GPU's. A failure
// prints its case; each has its own stream of random numbers, so that it can be run alone.

#include <cstdint>
#include <functional>

#include "core/filter_engine.hpp"

namespace convolume::testing {

/// Whether an engine is expected to do some work: its types, posts and windows; methods and
/// segments that it does not have are left out by its own estimates.
using FilterSpecPredicate = std::function<bool(const FilterSpec&)>;

/// `cases` random banks, signals and ranges, each executed twice, against sums in double precision.
void check_filter_engine(FilterEngine& engine, std::uint64_t seed, int cases,
                         const FilterSpecPredicate& can = {});

/// Relative L2 error of a result: of the size that the oracle gives it, or of what random data
/// would have (`floor`), should that be more.
constexpr double filter_tolerance(Precision precision) {
    return precision == Precision::float32 ? 5e-7 : 2e-15;
}

}  // namespace convolume::testing
