// SPDX-License-Identifier: Apache-2.0
// Times split and merge of a real float32 volume, and a streamed copy of it, alternately in one
// run. The ratio is the share of the memory's bandwidth that the decomposition reaches.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "core/pixels/contiguous.hpp"
#include "core/threads.hpp"
#include "decompose/split.hpp"

namespace {

using namespace convolume;

struct Settings {
    Shape3 shape{256, 1024, 1024};
    int rounds = 7;
    int threads = thread_count(0);
    std::string json;
};

struct Case {
    std::string name;
    int parts;  // number of parts; 0 times a copy instead of a split
    std::function<void()> run;
    std::vector<double> seconds;

    double median_s() const {
        std::vector<double> sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

Settings parse(int argc, char** argv) {
    Settings settings;
    CLI::App app("Bandwidth of split and merge against a streamed copy");
    app.add_option("--planes", settings.shape.z, "Planes, a multiple of 32")->capture_default_str();
    app.add_option("--rows", settings.shape.y, "Rows")->capture_default_str();
    app.add_option("--columns", settings.shape.x, "Columns")->capture_default_str();
    app.add_option("--rounds", settings.rounds, "Rounds over all cases")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--threads", settings.threads, "Threads")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--json", settings.json, "File for the results");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return settings;
}

/// Copies the volume, an equal share with each thread.
template <class Copy>
void copy_in_parallel(const char* in, index_t bytes, char* out, int threads, const Copy& copy) {
    parallel_for(threads, threads, [&](index_t part, int) {
        const index_t share = round_up(ceil_div(bytes, threads), 4096);
        const index_t begin = std::min(bytes, share * part);
        copy(in + begin, std::min(bytes, begin + share) - begin, out + begin);
        pixels::stream_fence();
    });
}

std::vector<index_t> first_indices(index_t count) {
    std::vector<index_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), index_t{0});
    return indices;
}

void report(const Settings& settings, const std::vector<Case>& cases, double bytes) {
    double copy_s = cases.front().median_s();
    for (const Case& c : cases) {
        if (c.parts == 0) copy_s = std::min(copy_s, c.median_s());
    }
    nlohmann::json json{{"shape", {settings.shape.z, settings.shape.y, settings.shape.x}},
                        {"type", "float32"},
                        {"threads", settings.threads},
                        {"rounds", settings.rounds},
                        {"cases", nlohmann::json::array()}};
    std::printf("%s float32, %d threads, medians of %d rounds, bytes read + written\n",
                to_string(settings.shape).c_str(), settings.threads, settings.rounds);
    std::printf("%-16s %8s %8s %10s\n", "case", "ms", "GB/s", "% of copy");
    for (const Case& c : cases) {
        const double seconds = c.median_s();
        const double rate = 2 * bytes / seconds / 1e9;
        const double percent = 100 * copy_s / seconds;
        std::printf("%-16s %8.1f %8.1f %10.1f\n", c.name.c_str(), 1e3 * seconds, rate, percent);
        json["cases"].push_back({{"name", c.name},
                                 {"parts", c.parts},
                                 {"seconds", seconds},
                                 {"gb_per_s", rate},
                                 {"percent_of_copy", percent}});
    }
    if (settings.json.empty()) return;
    std::ofstream file(settings.json);
    file << json.dump(2) << '\n';
    if (!file.flush()) throw CannotCreate("cannot write " + settings.json);
}

void run(const Settings& settings) {
    const Shape3& shape = settings.shape;
    const index_t bytes = checked_multiply(element_count(shape), sizeof(float));
    const Buffer image(bytes, "the image");
    Buffer split_volume(bytes, "the split volume");
    Buffer merged(bytes, "the merged image");
    split_volume.touch(settings.threads);
    merged.touch(settings.threads);
    const index_t samples = element_count(shape);
    for (index_t i = 0; i < samples; ++i) {
        image.as<float>()[i] = static_cast<float>(i % 1021) - 510;
    }

    BlockInput input;
    input.source = view_of(static_cast<const float*>(image.as<float>()), shape);
    for (int axis = 0; axis < 3; ++axis) {
        input.gather[static_cast<std::size_t>(axis)] = first_indices(shape[axis]);
    }
    const BlockOutput output{view_of(merged.as<float>(), shape)};
    const ExecutionContext context;
    std::vector<Case> cases;
    const auto copy_case = [&](const char* name, auto copy) {
        cases.push_back({name,
                         0,
                         [&, copy] {
                             copy_in_parallel(image.as<char>(), bytes, merged.as<char>(),
                                              settings.threads, copy);
                         },
                         {}});
    };
    copy_case("copy, streamed", pixels::stream_copy);
    copy_case("copy, memcpy", [](const void* in, index_t count, void* out) {
        std::memcpy(out, in, static_cast<std::size_t>(count));
    });
    for (const int parts : {1, 2, 4, 8, 16}) {
        const decompose::SplitLayout layout{false, parts, shape.z, shape.y, shape.x};
        cases.push_back({"split, P = " + std::to_string(parts),
                         parts,
                         [&, layout] {
                             decompose::split(input, layout, split_volume.as<float>(),
                                              settings.threads, context);
                         },
                         {}});
        cases.push_back({"merge, P = " + std::to_string(parts),
                         parts,
                         [&, layout] {
                             decompose::merge(split_volume.as<const float>(), layout, 0, output,
                                              settings.threads, context);
                         },
                         {}});
    }
    for (int round = -1; round < settings.rounds; ++round) {
        for (Case& c : cases) {
            const auto start = std::chrono::steady_clock::now();
            c.run();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
            if (round >= 0) c.seconds.push_back(taken.count());  // the first round warms up
        }
    }
    report(settings, cases, static_cast<double>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception& error) {
        std::cerr << "convolume_split_bench: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
