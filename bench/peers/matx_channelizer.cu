// SPDX-License-Identifier: Apache-2.0
// Times DeviceChannelizer and MatX's channelize_poly in turns, critically sampled:
//     convolume_matx_channelizer_bench [log2 of samples] [rounds]

#include <cstdlib>

#include "bench/peers/matx.cuh"
#include "convolume/device_signals.hpp"

using namespace convolume;
using namespace convolume::peers;

namespace {

constexpr unsigned signal_seed = 1;

// Returns the relative error of frames against sums in double precision. Channel m of frame n is
//     Σ_l h[l] x[T - l] e^{2πi m l/M},   T = nM + M - 1
// With `turned`, phases refer to sample 0 of the signal: the factor e^{-2πi m T/M}.
double error_of_frames(const void* frames, index_t count, index_t channels,
                       const std::vector<float>& taps, bool turned) {
    const double turn = 2 * std::acos(-1.0) / static_cast<double>(channels);
    RelativeError error;
    for (const index_t position : positions_to_check(count * channels)) {
        const index_t frame = position / channels, channel = position % channels;
        const index_t last = frame * channels + channels - 1;
        std::complex<double> sum = 0;
        for (index_t l = 0; l < static_cast<index_t>(taps.size()) && l <= last; ++l) {
            const index_t lag = turned ? l - last : l;
            const auto phase = static_cast<double>((channel * (lag % channels)) % channels) * turn;
            sum += std::polar(static_cast<double>(taps[static_cast<std::size_t>(l)]), phase) *
                   random_complex(last - l, signal_seed);
        }
        error.add(read_element<std::complex<float>>(frames, position), sum);
    }
    return error.value();
}

int compare_channelizers(index_t channels, index_t taps_per_channel, index_t samples, int rounds) {
    ChannelizerOptions options;
    options.channels = channels;
    options.taps_per_channel = taps_per_channel;
    options.first = channels - 1;  // so that frame 0 depends on the first samples, as MatX's does
    const std::vector<double> prototype = prototype_filter(channels, taps_per_channel);
    const std::vector<float> taps(prototype.begin(), prototype.end());
    const DeviceChannelizer ours(options, samples);
    const index_t frames = samples / channels;
    if (ours.frames() != frames) throw InternalError("the two have other numbers of frames");

    gpu::DeviceBuffer<std::complex<float>> signal(samples), our_frames(samples),
        their_frames(samples);
    const gpu::DeviceBuffer<float> their_taps(taps);
    fill_randomly(signal.get(), 2 * samples, signal_seed);
    const auto in = matx_vector<MatxComplex>(signal.get(), samples);
    const auto filter = matx_vector<float>(their_taps.get(), static_cast<index_t>(taps.size()));
    auto out = matx_matrix<MatxComplex>(their_frames.get(), frames, channels);
    const matx::cudaExecutor executor{};
    return compare(
        {"channelizer", std::to_string(channels) + " × " + std::to_string(taps_per_channel),
         2 * 8 * samples, rounds},
        {{"convolume", [&] { ours.execute(signal.get(), our_frames.get()); },
          [&] { return error_of_frames(our_frames.get(), frames, channels, taps, true); },
          ours.plan().method},
         {"MatX channelize_poly",
          [&] { (out = matx::channelize_poly(in, filter, channels, channels)).run(executor); },
          [&] { return error_of_frames(their_frames.get(), frames, channels, taps, false); }}});
}

}  // namespace

int main(int argc, char** argv) {
    const index_t samples = index_t{1} << (argc > 1 ? std::atoi(argv[1]) : 26);
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
    int failures = 0;
    for (const index_t channels : {1024, 256, 4096}) {
        try {
            failures += compare_channelizers(channels, 16, samples, rounds);
        } catch (const std::exception& error) {
            report_failure("channelizer", std::to_string(channels) + " × 16", error.what());
            ++failures;
        }
    }
    return failures == 0 ? 0 : 1;
}
