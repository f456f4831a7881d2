// SPDX-License-Identifier: Apache-2.0
// Times Channelizer beside firpfbch of liquid-dsp, in turns in one process:
//     channelizer_liquid [channels] [taps per channel] [threads] [log2 of samples] [rounds]
// Critically sampled complex float32. liquid-dsp computes on one thread. On a busy machine, the
// ratio of processor times tells more than that of times.

#include <liquid/liquid.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <vector>

#include "convolume/channelizer.hpp"
#include "convolume/volume.hpp"

using namespace convolume;

namespace {

struct Times {
    std::vector<double> seconds, processor_seconds;

    template <class Run>
    void measure(const Run& run) {
        const std::clock_t begin = std::clock();
        const auto start = std::chrono::steady_clock::now();
        run();
        seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        processor_seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
};

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
    Times ours, theirs, first;
    const index_t rounds = argument(5, 5);
    for (index_t round = 0; round <= rounds; ++round) {
        (round == 0 ? first : ours).measure([&] {
            channelizer.execute(view_of(signal.data(), {1, 1, samples}), frames.view());
        });
        (round == 0 ? first : theirs).measure([&] {
            for (index_t t = 0; t + channels <= samples; t += channels) {
                const auto at = static_cast<std::size_t>(t);
                firpfbch_crcf_analyzer_execute(bank,
                                               reinterpret_cast<liquid_float_complex*>(&signal[at]),
                                               reinterpret_cast<liquid_float_complex*>(&peer[at]));
            }
        });
    }
    firpfbch_crcf_destroy(bank);
    const double count = static_cast<double>(samples);
    const auto least = [](const std::vector<double>& values) {
        return *std::min_element(values.begin(), values.end());
    };
    std::cout << channels << " channels of " << taps << " taps, " << samples << " samples, "
              << engines.threads << " threads\n"
              << "liquid-dsp firpfbch: " << count / median(theirs.seconds) / 1e6 << " MS/s\n"
              << "convolume:           " << count / median(ours.seconds) / 1e6 << " MS/s\n"
              << "ratio of medians:    " << median(theirs.seconds) / median(ours.seconds) << "\n"
              << "ratio of minima:     " << least(theirs.seconds) / least(ours.seconds) << "\n"
              << "of processor times:  "
              << least(theirs.processor_seconds) / least(ours.processor_seconds) << "\n";
}
