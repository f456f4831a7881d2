// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests that every filter engine must pass: random cases, equal for the CPU and the GPU. A failure
// prints its case; each has its own random numbers, so that it can be run alone.

#include <cstdint>
#include <functional>

#include "core/filter_engine.hpp"

namespace convolume::testing {

/// Tells whether an engine supports the types, post-processing and windows of some work. Methods
/// and segments that it does not support are left out by its own estimates.
using FilterSpecPredicate = std::function<bool(const FilterSpec&)>;

/// Executes `cases` random banks, signals and ranges twice, and compares with sums in double.
void check_filter_engine(FilterEngine& engine, std::uint64_t seed, int cases,
                         const FilterSpecPredicate& can = {});

/// Largest relative L2 error of a result. The norm is the oracle's, or that of filtered random data
/// (`level` in filter_oracle.hpp) if it is larger.
constexpr double filter_tolerance(Precision precision) {
    return precision == Precision::float32 ? 5e-7 : 2e-15;
}

}  // namespace convolume::testing
