// SPDX-License-Identifier: Apache-2.0
// Filters a signal that is not in memory. A source makes it (or reads it from an instrument, or
// from a format of its own), and a sink receives the results. Fails unless two tones are separated.

#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

#include "convolume/filter_bank.hpp"

using namespace convolume;

namespace {

constexpr double slow = 0.01, fast = 0.2;  // cycles a sample

class TwoTones : public SignalSource {
  public:
    PixelType type() const override { return PixelType::float32; }
    void read(index_t /*signal*/, index_t begin, index_t count, void* to) override {
        auto* const samples = static_cast<float*>(to);
        for (index_t i = 0; i < count; ++i) {
            const double t = 2 * std::numbers::pi * static_cast<double>(begin + i);
            samples[i] = static_cast<float>(std::sin(slow * t) + 0.1 * std::sin(fast * t));
        }
    }
};

class MeanSquares : public ResultSink {
  public:
    explicit MeanSquares(const FilterBank& bank)
        : results_(static_cast<double>(bank.result_samples())),
          sums_(static_cast<std::size_t>(bank.filters())) {}
    void write(index_t /*signal*/, index_t filter, index_t /*begin*/, index_t count,
               const void* from) override {
        const auto* const results = static_cast<const float*>(from);
        for (index_t i = 0; i < count; ++i)
            sums_[static_cast<std::size_t>(filter)] += std::pow(results[i], 2);
    }
    double amplitude(std::size_t filter) const { return std::sqrt(2 * sums_[filter] / results_); }

  private:
    double results_;
    std::vector<double> sums_;
};

// Returns a filter that passes frequencies below `cutoff` cycles a sample.
std::vector<float> low_pass(index_t taps, double cutoff) {
    std::vector<float> filter;
    for (index_t k = 0; k < taps; ++k) {
        const double t = static_cast<double>(k - taps / 2);
        const double angle = 2 * std::numbers::pi * cutoff * t;
        const double sinc = k == taps / 2 ? 1 : std::sin(angle) / angle;
        const double hann =
            0.5 + 0.5 * std::cos(2 * std::numbers::pi * t / static_cast<double>(taps + 1));
        filter.push_back(static_cast<float>(2 * cutoff * sinc * hann));
    }
    return filter;
}

}  // namespace

int main() {
    const index_t samples = 3'000'000, taps = 257;
    const std::vector<float> low = low_pass(taps, 0.1);
    std::vector<float> high = low;  // high pass: passes what `low` stops
    for (float& tap : high) tap = -tap;
    high[static_cast<std::size_t>(taps / 2)] += 1;

    FilterOptions options;
    options.mode = Mode::valid;
    options.max_host_bytes = index_t{8} << 20;
    const FilterBank bank({1, samples},
                          {view_of(low.data(), {1, 1, taps}), view_of(high.data(), {1, 1, taps})},
                          options);
    std::cout << bank.plan().to_string();

    TwoTones source;
    MeanSquares sink(bank);
    bank.execute(source, sink);
    std::cout << "amplitudes: " << sink.amplitude(0) << " low, " << sink.amplitude(1) << " high\n";
    return std::abs(sink.amplitude(0) - 1) < 0.01 && std::abs(sink.amplitude(1) - 0.1) < 0.001 ? 0
                                                                                               : 1;
}
