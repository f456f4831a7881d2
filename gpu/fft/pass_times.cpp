// SPDX-License-Identifier: Apache-2.0
#include "gpu/fft/pass_times.hpp"

#include <algorithm>
#include <iterator>

#include "gpu/fft/length_rates.hpp"

namespace convolume::gpu {

namespace {

// Returns the seconds of transforms of columns and taps and back, for each sample of a column, on
// devices with the shared memory of an H100. With less, long columns take longer.
double transform_seconds(index_t length, double multiply_adds) {
    const auto* found =
        std::lower_bound(std::begin(length_rates), std::end(length_rates), length,
                         [](const LengthRates& rates, index_t least) { return rates.n < least; });
    if (found == std::end(length_rates)) --found;
    // Rates of memory are cautious by this factor (MachineRates::gpu_pass_share), so these are,
    // too.
    constexpr double caution = 1.3;
    constexpr double measured_multiply_adds = 28.7e12;  // as device_rates() has them for an H100
    return caution / (1e9 * found->taps) * measured_multiply_adds / multiply_adds;
}

}  // namespace

double convolution_seconds(const ColumnConvolution& pass, double memory, double multiply_adds) {
    using Spectrum = ColumnConvolution::Spectrum;
    const auto length = static_cast<double>(pass.length);
    const auto columns = static_cast<double>(pass.columns);
    const auto planes = [&](index_t count) {
        return static_cast<double>(std::min(pass.length, count));
    };
    double moved = planes(pass.loaded) + planes(pass.stored);
    if (pass.spectrum != Spectrum::kept) moved += planes(pass.taps);
    if (pass.spectrum == Spectrum::kept) moved += length;
    if (pass.spectrum == Spectrum::in_memory) moved += 2 * length;
    const double memory_s = moved * columns * static_cast<double>(pass.sample_bytes) / memory;
    if (pass.spectrum != Spectrum::in_pass) return memory_s;
    return std::max(memory_s, length * columns * transform_seconds(pass.length, multiply_adds));
}

}  // namespace convolume::gpu
