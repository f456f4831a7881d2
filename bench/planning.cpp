// SPDX-License-Identifier: Apache-2.0
// Times planning by itself: what the first object of a process costs, the second one, and objects
// for shapes that the process has not planned before.
//   convolume_plan_bench [--device auto|cpu|gpu] [--shapes N] [--json FILE]
// Nothing is convolved. The start of CUDA is timed before, since every program with a GPU pays it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "convolume/filter_bank.hpp"

using namespace convolume;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_of(const std::function<void()>& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Volume kernel_of(const Shape3& shape) {
    Volume kernel(shape, PixelType::float32);
    float* const taps = kernel.elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i)
        taps[i] = 1 + static_cast<float>(i % 7);  // of no rank 1
    return kernel;
}

/// An object that is planned for image shapes.
struct PlannedKind {
    std::string name;
    std::vector<Shape3> shapes;  ///< of the first object, and of the new shapes
    std::function<void(const Shape3&)> plan;
};

/// Returns `count` shapes around `first`, which differ from each other along every axis.
std::vector<Shape3> shapes_from(const Shape3& first, int count) {
    std::vector<Shape3> shapes;
    for (index_t i = 0; i <= count; ++i)
        shapes.push_back({first.z > 1 ? first.z + 3 * i : 1, first.y > 1 ? first.y + 7 * i : 1,
                          first.x + 11 * i});
    return shapes;
}

std::vector<PlannedKind> kinds(const EngineChoice& engines, bool on_gpu, int count) {
    std::vector<PlannedKind> kinds;
    const auto convolver = [&](const std::string& name, const Shape3& image, const Shape3& taps) {
        kinds.push_back({name, shapes_from(image, count), [=](const Shape3& shape) {
                             const Volume kernel = kernel_of(taps);
                             const Convolver planned(shape, kernel.view(), {}, engines);
                         }});
    };
    convolver("Convolver 64x256x256 * 15^3", {64, 256, 256}, {15, 15, 15});
    convolver("Convolver 512x1024x1024 * 64^3", {512, 1024, 1024}, {64, 64, 64});
    convolver("Convolver 1024x2048x2048 * 33^3", {1024, 2048, 2048}, {33, 33, 33});
    convolver("Convolver 1x1x1000 * 50", {1, 1, 1000}, {1, 1, 50});
    kinds.push_back({"Deconvolver 64x256x256 * 15^3", shapes_from({64, 256, 256}, count),
                     [=](const Shape3& shape) {
                         const Volume psf = kernel_of({15, 15, 15});
                         const Deconvolver planned(shape, psf.view(), {}, engines);
                     }});
    kinds.push_back({"FilterBank 16 x 1000000 * 257", shapes_from({1, 1, 1000000}, count),
                     [=](const Shape3& shape) {
                         const Volume taps = kernel_of({1, 1, 257});
                         const FilterBank planned({16, shape.x}, {taps.view()}, {}, engines);
                     }});
    if (on_gpu)
        kinds.push_back({"DeviceConvolver 64x256x256 * 15^3", shapes_from({64, 256, 256}, count),
                         [](const Shape3& shape) {
                             const Volume kernel = kernel_of({15, 15, 15});
                             const DeviceConvolver planned(shape, kernel.view());
                         }});
    return kinds;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times planning by itself.");
    std::string device = "auto", json_file;
    int count = 9;
    app.add_option("--device", device, "auto, cpu, gpu or gpu:0")->capture_default_str();
    app.add_option("--shapes", count, "number of new shapes")->capture_default_str();
    app.add_option("--json", json_file, "file that gets the times");
    CLI11_PARSE(app, argc, argv);
    EngineChoice engines;
    set_devices(engines, device);

    nlohmann::ordered_json result;
    bool on_gpu = false;
    const double start_ms = milliseconds_of([&] {
        if (engines.device == EngineChoice::Device::cpu || !gpu_unavailable().empty()) return;
        for (const GpuDevice& gpu : gpu_devices()) {  // makes the context of each GPU
            on_gpu = true;
            std::printf("GPU %d: %s\n", gpu.number, gpu.name.c_str());
        }
    });
    result["cuda_start_ms"] = start_ms;
    std::printf("start of CUDA: %.1f ms\n%-36s %10s %10s %12s %12s\n", start_ms,
                "milliseconds to plan", "first", "again", "new, median", "new, most");
    for (const PlannedKind& kind : kinds(engines, on_gpu, count)) {
        const auto time = [&](const Shape3& shape) {
            return milliseconds_of([&] { kind.plan(shape); });
        };
        const double first = time(kind.shapes.front());
        const double again = time(kind.shapes.front());
        std::vector<double> fresh;
        for (std::size_t i = 1; i < kind.shapes.size(); ++i) fresh.push_back(time(kind.shapes[i]));
        std::sort(fresh.begin(), fresh.end());
        const double median = fresh.empty() ? 0 : fresh[fresh.size() / 2];
        const double most = fresh.empty() ? 0 : fresh.back();
        std::printf("%-36s %10.2f %10.2f %12.2f %12.2f\n", kind.name.c_str(), first, again, median,
                    most);
        result["kinds"].push_back({{"name", kind.name},
                                   {"first_ms", first},
                                   {"again_ms", again},
                                   {"new_median_ms", median},
                                   {"new_most_ms", most}});
    }
    if (!json_file.empty()) std::ofstream(json_file) << result.dump(1) << '\n';
}
