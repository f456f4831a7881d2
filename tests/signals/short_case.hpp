// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random banks whose signals or results have 16 bits, compared with their definition: sums in
// double precision of the stored samples.

#include "convolume/volume.hpp"
#include "tests/signals/bank_case.hpp"

namespace convolume::testing {

struct ShortCase {
    BankCase bank;   ///< its signals have the values that are stored
    Volume signals;  ///< stored elements, (1, signals, samples · elements)

    std::string describe() const;
};

/// Returns a random case. Each of four has plain signals, and each of four plain results.
ShortCase random_short_case(Random& random);

/// Describes the first defect of results of a case, or returns "". They are contiguous elements of
/// the type that the bank stores. `clamped` are the numbers that it reports.
std::string short_defect(const ShortCase& c, const void* results, const ClampCount& clamped);

/// Executes in memory, and describes the first defect, or returns "".
std::string run_short(const ShortCase& c, const FilterEngineList& engines = cpu_filter_engines());

}  // namespace convolume::testing
