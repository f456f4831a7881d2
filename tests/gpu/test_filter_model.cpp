// SPDX-License-Identifier: Apache-2.0
// Checks that the models of filtering on a GPU choose what was measured to be fastest. This is
// arithmetic only, with the rates of an H200.

#include "gpu/signals/device_filters.hpp"
#include "tests/catch.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t mega = index_t{1} << 20;

FilterCost chosen(index_t taps, index_t filters, index_t outputs, bool complex_data = false) {
    FilterRates rates;
    rates.processors = 132;
    rates.memory_bytes_per_s = 4.08e12;
    FilterSpec spec;
    spec.taps = taps;
    spec.filters = filters;
    spec.complex_data = complex_data;
    const auto cost = estimate_device_filters(spec, 1, outputs, rates);
    REQUIRE(cost);
    return *cost;
}

}  // namespace

TEST_CASE("filter models: short filters of a real bank are summed directly, others are not") {
    CHECK(chosen(3, 8, 2 * mega).method == FilterMethod::direct);
    CHECK(chosen(65, 8, 2 * mega).method == FilterMethod::overlap_save);
    for (const index_t outputs : {1024, 4096, 16384, 65536}) {
        CHECK(chosen(257, 8, outputs).method == FilterMethod::overlap_save);
        CHECK(chosen(257, 8, outputs, true).method == FilterMethod::overlap_save);
    }
}

TEST_CASE("filter models: segments grow with the filters' length") {
    CHECK(chosen(65, 32, 2 * mega).segment == 256);
    CHECK(chosen(257, 32, 2 * mega).segment == 2048);
    CHECK(chosen(1025, 32, 2 * mega).segment == 4096);
    CHECK(chosen(3073, 8, 2 * mega).segment == 8192);
}

TEST_CASE("filter models: a filter as long as the signal takes one transform") {
    for (const bool complex_data : {false, true}) {
        const FilterCost cost = chosen(mega, 1, mega, complex_data);
        CHECK(cost.method == FilterMethod::overlap_save);
        CHECK(cost.segment == 2 * mega);
    }
}

}  // namespace convolume::gpu
