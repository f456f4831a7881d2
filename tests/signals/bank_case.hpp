// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random banks, signals and options, executed by FilterBank and by their definition.

#include <vector>

#include "convolume/filter_bank.hpp"
#include "engines/engines.hpp"
#include "signals/filter_bank_factory.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

struct BankCase {
    FilterOptions options;
    bool complex_data = false;
    std::vector<Row> signals;
    std::vector<Row> bank;  ///< filters may differ in length

    SignalShape shape() const {
        return {static_cast<index_t>(signals.size()), static_cast<index_t>(signals[0].size())};
    }
    PixelType sample_type() const { return pixel_type(options.precision, complex_data); }
    std::string describe() const;
};

/// Returns a real float32 case: one signal of `samples`, and filters of the given lengths.
BankCase make_bank_case(Random& random, index_t samples, const std::vector<index_t>& taps,
                        bool complex_data = false);

/// Expected results, computed from the definition and indexed by [signal][filter].
struct Expected {
    std::vector<Row> rows;    ///< results that FilterBank stores
    std::vector<Row> values;  ///< results before windows are reduced
    SampleRange range;        ///< range of the full result
};
Expected expected(const BankCase& c);

/// Returns engines of the CPU with `threads` threads.
FilterEngineList cpu_filter_engines(int threads = 2);

FilterBank make_bank(const BankCase& c, const FilterEngineList& engines = cpu_filter_engines());
/// Returns a bank with the filters of the case, for signals of the given shape.
FilterBank make_bank(const BankCase& c, const FilterEngineList& engines, const SignalShape& shape);

/// Returns the signals as a volume (1, signals, samples) of `type`.
Volume signals_of(const BankCase& c, PixelType type);

/// Describes the first defect of results of `c`, or returns "". `positions` may be null.
std::string defect(const BankCase& c, const ConstImageView& results, const index_t* positions);

/// Executes in memory into arrays of NaN, and describes the first defect, or returns "".
std::string run_in_memory(const BankCase& c,
                          const FilterEngineList& engines = cpu_filter_engines());

}  // namespace convolume::testing
