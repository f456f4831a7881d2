// SPDX-License-Identifier: Apache-2.0
// Times DeviceResampler and MatX's resample_poly in turns, with the same taps:
//     convolume_matx_resampler_bench [log2 of samples] [rounds]

#include <cstdlib>

#include "bench/peers/matx.cuh"
#include "convolume/device_signals.hpp"

using namespace convolume;
using namespace convolume::peers;

namespace {

constexpr unsigned signal_seed = 2;

// Returns the relative error of results against the sums of resample.hpp in double precision.
double error_of_results(const void* results, index_t count, index_t samples,
                        const ResampleOptions& options, const std::vector<float>& taps) {
    RelativeError error;
    for (const index_t n : positions_to_check(count)) {
        const index_t at = n * options.down + options.origin;
        const index_t newest = at / options.up, phase = at % options.up;
        double sum = 0;
        for (index_t j = 0; phase + j * options.up < static_cast<index_t>(taps.size()); ++j) {
            const index_t i = newest - j;
            if (i >= 0 && i < samples)
                sum += static_cast<double>(taps[static_cast<std::size_t>(phase + j * options.up)]) *
                       static_cast<double>(random_value(i, signal_seed));
        }
        error.add(static_cast<double>(read_element<float>(results, n)), sum);
    }
    return error.value();
}

int compare_resamplers(index_t up, index_t down, index_t samples, int rounds) {
    const std::vector<double> designed = resample_taps(up, down);
    const std::vector<float> taps(designed.begin(), designed.end());
    const auto tap_count = static_cast<index_t>(taps.size());
    ResampleOptions options;
    options.up = up;
    options.down = down;
    options.origin = tap_count / 2;
    const DeviceResampler ours(view_of(taps.data(), {1, 1, tap_count}), options);
    const index_t count = ours.same_results(samples);

    gpu::DeviceBuffer<float> signal(samples), our_results(count), their_results(count);
    // resample_poly multiplies by `up` itself.
    std::vector<float> without_gain = taps;
    for (float& tap : without_gain) tap /= static_cast<float>(up);
    const gpu::DeviceBuffer<float> their_taps(without_gain);
    fill_randomly(signal.get(), samples, signal_seed);
    const auto in = matx_vector<float>(signal.get(), samples);
    const auto filter = matx_vector<float>(their_taps.get(), tap_count);
    auto out = matx_vector<float>(their_results.get(), count);
    const matx::cudaExecutor executor{};
    return compare(
        {"resampling", std::to_string(up) + "/" + std::to_string(down), 4 * (samples + count),
         rounds},
        {{"convolume",
          [&] {
              ours.execute({1, samples}, signal.get(), count, our_results.get());
          },
          [&] { return error_of_results(our_results.get(), count, samples, options, taps); },
          std::to_string(tap_count) + " taps"},
         {"MatX resample_poly",
          [&] { (out = matx::resample_poly(in, filter, up, down)).run(executor); },
          [&] { return error_of_results(their_results.get(), count, samples, options, taps); }}});
}

}  // namespace

int main(int argc, char** argv) {
    const index_t samples = index_t{1} << (argc > 1 ? std::atoi(argv[1]) : 24);
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
    int failures = 0;
    for (const auto& [up, down] :
         {std::pair<index_t, index_t>{160, 147}, {147, 160}, {1, 2}, {2, 1}}) {
        try {
            failures += compare_resamplers(up, down, samples, rounds);
        } catch (const std::exception& error) {
            report_failure("resampling", std::to_string(up) + "/" + std::to_string(down),
                           error.what());
            ++failures;
        }
    }
    return failures == 0 ? 0 : 1;
}
