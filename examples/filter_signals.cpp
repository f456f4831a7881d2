// SPDX-License-Identifier: Apache-2.0
// Finds an echo of a known sweep in noise, by the peaks in the power of two matched filters. Fails
// unless the echo is at the right position and in the right filter.

#include <algorithm>
#include <cmath>
#include <complex>
#include <iostream>
#include <numbers>
#include <random>
#include <vector>

#include "convolume/filter_bank.hpp"

using namespace convolume;
using Sample = std::complex<float>;

namespace {

// Returns a tone whose frequency rises from 0 to `to` cycles a sample, or falls if `to` is below 0.
std::vector<Sample> sweep(index_t length, double to) {
    std::vector<Sample> samples;
    for (index_t i = 0; i < length; ++i) {
        const double t = static_cast<double>(i);
        const double cycles = 0.5 * to * t * t / static_cast<double>(length);
        samples.emplace_back(std::polar(1.0, 2 * std::numbers::pi * cycles));
    }
    return samples;
}

std::vector<Sample> noise(index_t length) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<Sample> samples(static_cast<std::size_t>(length));
    for (Sample& sample : samples) sample = {normal(random), normal(random)};
    return samples;
}

}  // namespace

int main() {
    const index_t samples = 1 << 20, taps = 512, echo_at = 700001;
    std::vector<Sample> signal = noise(samples), filters;
    const std::vector<Sample> rising = sweep(taps, 0.2), falling = sweep(taps, -0.2);
    for (std::size_t i = 0; i < rising.size(); ++i)
        signal[static_cast<std::size_t>(echo_at) + i] += 0.5F * falling[i];
    // A filter has the largest response to its own conjugate in reverse order.
    for (const auto& wanted : {rising, falling})
        std::transform(wanted.rbegin(), wanted.rend(), std::back_inserter(filters),
                       [](Sample tap) { return std::conj(tap); });

    FilterOptions options;
    options.mode = Mode::full;
    options.post = PointPost::power;
    options.window = {WindowPost::Kind::peak, samples};  // the largest power of each window
    const FilterBank bank({1, samples}, {view_of(filters.data(), {1, 2, taps})}, options,
                          EngineChoice{}, PixelType::complex64);
    std::cout << bank.plan().to_string();

    Volume peaks({1, bank.filters(), bank.result_samples()}, bank.result_type());
    std::vector<index_t> positions(static_cast<std::size_t>(element_count(peaks.shape())));
    bank.execute(view_of(signal.data(), {1, 1, samples}), peaks.view(), positions.data());

    std::vector<index_t> found;
    for (index_t filter = 0; filter < bank.filters(); ++filter) {
        const float* power = peaks.elements<float>() + filter * bank.result_samples();
        const index_t best = std::max_element(power, power + bank.result_samples()) - power;
        const auto index = static_cast<std::size_t>(filter * bank.result_samples() + best);
        found.push_back(positions[index] - (taps - 1));
        std::cout << (filter == 0 ? "rising" : "falling") << ": power " << power[best]
                  << " from sample " << found.back() << " on\n";
    }
    return found[1] == echo_at && found[0] != echo_at ? 0 : 1;
}
