// SPDX-License-Identifier: Apache-2.0
// Times Channelizer beside firpfbch of liquid-dsp, in turns in one process:
//     channelizer_liquid [channels] [taps per channel] [threads] [log2 of samples] [rounds]
// Critically sampled complex float32. liquid-dsp computes on one thread.

#include <liquid/liquid.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "convolume/channelizer.hpp"
#include "convolume/volume.hpp"

using namespace convolume;

namespace {

template <class Run>
double seconds(const Run& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const auto argument = [&](int i, index_t preset) {
        return argc > i ? static_cast<index_t>(std::atoll(argv[i])) : preset;
    };
    const index_t channels = argument(1, 1024), taps = argument(2, 16);
    const index_t samples = index_t{1} << argument(4, 22);
    EngineChoice engines;
    engines.device = EngineChoice::Device::cpu;
    engines.threads = static_cast<int>(argument(3, 2));

    std::vector<std::complex<float>> signal(static_cast<std::size_t>(samples)), peer(signal.size());
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::complex<float>& x : signal) x = {uniform(engine), uniform(engine)};

    ChannelizerOptions options;
    options.channels = channels;
    options.taps_per_channel = taps;
    options.first = channels - 1;
    const Channelizer channelizer(options, PixelType::complex64, engines);
    Volume frames({1, channelizer.frames(samples), channels}, PixelType::complex64);

    const std::vector<double> prototype = prototype_filter(channels, taps);
    std::vector<float> single(prototype.begin(), prototype.end());
    firpfbch_crcf bank = firpfbch_crcf_create(LIQUID_ANALYZER, static_cast<unsigned>(channels),
                                              static_cast<unsigned>(taps), single.data());
    std::vector<double> ours, theirs;
    const index_t rounds = argument(5, 5);
    for (index_t round = 0; round <= rounds; ++round) {
        const double own = seconds([&] {
            channelizer.execute(view_of(signal.data(), {1, 1, samples}), frames.view());
        });
        const double other = seconds([&] {
            for (index_t t = 0; t + channels <= samples; t += channels)
                firpfbch_crcf_analyzer_execute(
                    bank,
                    reinterpret_cast<liquid_float_complex*>(&signal[static_cast<std::size_t>(t)]),
                    reinterpret_cast<liquid_float_complex*>(&peer[static_cast<std::size_t>(t)]));
        });
        if (round == 0) continue;  // the first round touches memory
        ours.push_back(own);
        theirs.push_back(other);
    }
    firpfbch_crcf_destroy(bank);
    const double count = static_cast<double>(samples);
    std::cout << channels << " channels of " << taps << " taps, " << samples << " samples, "
              << engines.threads << " threads\n"
              << "liquid-dsp firpfbch: " << count / median(theirs) / 1e6 << " MS/s\n"
              << "convolume:           " << count / median(ours) / 1e6 << " MS/s\n"
              << "ratio of medians:    " << median(theirs) / median(ours) << "\n"
              << "ratio of minima:     "
              << *std::min_element(theirs.begin(), theirs.end()) /
                     *std::min_element(ours.begin(), ours.end())
              << "\n";
}
