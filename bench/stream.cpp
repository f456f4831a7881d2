// SPDX-License-Identifier: Apache-2.0
// Times each push of a filter with bounded latency: mean, median, p99, p99.9 and longest, beside
// the duration of a block. With --paced, blocks arrive at the sampling rate, as from a sound card.
// Processes that share the processors lengthen the longest times: run it with a high priority.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "convolume/stream_filter.hpp"
#include "convolume/volume.hpp"

using namespace convolume;

namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
    index_t channels = 1, inputs = 0, taps = 131072;
    double rate_hz = 48000;
    int pushes = 20000;
    int replace_every = 0;  ///< pushes between replacements of the filters; 0: never
    bool is_paced = false;
    StreamFilterOptions filter;
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<double> time_pushes(StreamFilter& filter, const Volume& filters,
                                const BenchOptions& options) {
    const index_t block = filter.block();
    Volume in({1, filter.inputs(), block}, PixelType::float32);
    Volume out({1, filter.outputs(), block}, PixelType::float32);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> values(-1, 1);
    for (index_t i = 0; i < filter.inputs() * block; ++i) in.elements<float>()[i] = values(random);
    std::vector<const float*> from;
    std::vector<float*> to;
    for (index_t i = 0; i < filter.inputs(); ++i) from.push_back(in.elements<float>() + i * block);
    for (index_t o = 0; o < filter.outputs(); ++o) to.push_back(out.elements<float>() + o * block);
    const std::chrono::duration<double> period(static_cast<double>(block) / options.rate_hz);
    const int first = options.pushes / 10;  // pushes that are not timed
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(options.pushes));
    const auto start = Clock::now();
    for (int push = -first; push < options.pushes; ++push) {
        if (options.replace_every > 0 && push % options.replace_every == 0)
            filter.replace(filters.view());
        if (options.is_paced)
            std::this_thread::sleep_until(
                start + std::chrono::duration_cast<Clock::duration>(period * (push + first)));
        const auto begin = Clock::now();
        filter.push(from.data(), to.data(), block);
        if (push >= 0) times.push_back(seconds_since(begin));
    }
    return times;
}

nlohmann::ordered_json statistics(std::vector<double> times, double block_s) {
    const double mean =
        std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    const auto late =
        std::count_if(times.begin(), times.end(), [&](double time) { return time > block_s; });
    std::sort(times.begin(), times.end());
    const auto quantile = [&](double part) {
        return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    };
    nlohmann::ordered_json json{{"block_us", block_s * 1e6}, {"late", late}};
    const auto set = [&](const char* name, double time) {
        json[std::string(name) + "_us"] = time * 1e6;
        json[std::string(name) + "_percent"] = 100 * time / block_s;
    };
    set("mean", mean);
    set("median", quantile(0.5));
    set("p99", quantile(0.99));
    set("p99.9", quantile(0.999));
    set("longest", times.back());
    return json;
}

void run(const BenchOptions& options) {
    const index_t inputs = options.inputs;
    const Shape3 shape = inputs > 0 ? Shape3{options.channels, inputs, options.taps}
                                    : Shape3{1, options.channels, options.taps};
    Volume filters(shape, PixelType::float32);
    std::mt19937 random(2);
    std::normal_distribution<float> values;
    for (index_t i = 0; i < element_count(shape); ++i)
        filters.elements<float>()[i] = values(random) / 1000;
    StreamFilterOptions of_filter = options.filter;
    of_filter.is_matrix = inputs > 0;
    const auto begin = Clock::now();
    StreamFilter filter(filters.view(), of_filter);
    const double planned_s = seconds_since(begin);
    const double block_s = static_cast<double>(filter.block()) / options.rate_hz;
    nlohmann::ordered_json json{{"filter", filter.to_string()},
                                {"threads", of_filter.threads},
                                {"bytes", filter.bytes()},
                                {"prepared_s", planned_s}};
    json.update(statistics(time_pushes(filter, filters, options), block_s));
    std::cout << json.dump(2) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    BenchOptions options;
    CLI::App app{"Times pushes of a filter with bounded latency."};
    app.add_option("--channels", options.channels, "channels, or outputs of a matrix");
    app.add_option("--inputs", options.inputs, "inputs of a matrix; 0: a filter for each channel");
    app.add_option("--taps", options.taps, "taps of each filter");
    app.add_option("--block", options.filter.block, "samples of a block");
    app.add_option("--rate", options.rate_hz, "samples in a second");
    app.add_option("--threads", options.filter.threads, "threads that share a block");
    app.add_option("--pushes", options.pushes, "blocks that are timed");
    app.add_option("--replace-every", options.replace_every, "replace the filters after N blocks");
    app.add_flag("--paced", options.is_paced, "wait for the time at which each block arrives");
    CLI11_PARSE(app, argc, argv);
    run(options);
    return 0;
}
