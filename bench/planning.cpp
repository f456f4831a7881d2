// SPDX-License-Identifier: Apache-2.0
// Times planning by itself: what the first object of a process costs, the second one, and objects
// for shapes that the process has not planned before.
//   convolume_plan_bench [--device auto|cpu|gpu] [--only TEXT] [--shapes N] [--json FILE]
// Nothing is convolved. The start of CUDA is timed before, since every program with a GPU pays it.
// The longest times beside the median and the time within which 90 % are tell whether planning
// takes long now and then, or another program did once.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/filter_bank.hpp"

using namespace convolume;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_of(const std::function<void()>& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns a kernel that is no product of filters along single axes.
std::shared_ptr<const Volume> kernel_of(const Shape3& shape) {
    auto kernel = std::make_shared<Volume>(shape, PixelType::float32);
    float* const taps = kernel->elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i) taps[i] = 1 + static_cast<float>(i % 7);
    return kernel;
}

/// An object that is planned for image shapes.
struct PlannedKind {
    std::string name;
    std::vector<Shape3> shapes;  ///< of the first object, and of the new shapes
    std::function<std::shared_ptr<const void>(const Shape3&)> plan;
};

/// Milliseconds to plan objects of one kind.
struct PlanningTimes {
    double first = 0, again = 0;
    std::vector<double> fresh;       ///< of new shapes, in their order
    std::vector<double> destroying;  ///< to destroy these objects
};

PlanningTimes times_of(const PlannedKind& kind) {
    PlanningTimes times;
    const auto plan = [&](const Shape3& shape) {
        std::shared_ptr<const void> planned;
        const double ms = milliseconds_of([&] { planned = kind.plan(shape); });
        times.destroying.push_back(milliseconds_of([&] { planned.reset(); }));
        return ms;
    };
    times.first = plan(kind.shapes.front());
    times.again = plan(kind.shapes.front());
    times.destroying.clear();
    for (std::size_t i = 1; i < kind.shapes.size(); ++i)
        times.fresh.push_back(plan(kind.shapes[i]));
    return times;
}

/// Returns the time that a share of all times do not exceed.
double time_of_share(std::vector<double> times, double share) {
    std::sort(times.begin(), times.end());
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1) + 0.5)];
}

/// Returns `first` and `count` other shapes, which are a little larger.
std::vector<Shape3> shapes_from(const Shape3& first, int count) {
    std::vector<Shape3> shapes;
    const bool is_line = first.z == 1 && first.y == 1;
    for (index_t i = 0; i <= count; ++i)
        shapes.push_back({first.z > 1 ? first.z + 3 * (i % 4) : 1,
                          first.y > 1 ? first.y + 7 * (i % 9) : 1,
                          first.x + 11 * (is_line ? i : i % 5)});
    return shapes;
}

std::vector<PlannedKind> kinds(const EngineChoice& engines, bool on_gpu, int count) {
    std::vector<PlannedKind> kinds;
    const auto convolver = [&](const std::string& name, const Shape3& image, const Shape3& taps) {
        kinds.push_back(
            {name, shapes_from(image, count), [=, kernel = kernel_of(taps)](const Shape3& shape) {
                 return std::make_shared<const Convolver>(shape, kernel->view(), Options{},
                                                          engines);
             }});
    };
    const auto deconvolver = [&](const std::string& name, const DeconvolveOptions& options) {
        kinds.push_back({name, shapes_from({64, 256, 256}, count),
                         [=, psf = kernel_of({15, 15, 15})](const Shape3& shape) {
                             return std::make_shared<const Deconvolver>(shape, psf->view(), options,
                                                                        engines);
                         }});
    };
    convolver("Convolver 64x256x256 * 15^3", {64, 256, 256}, {15, 15, 15});
    convolver("Convolver 512x1024x1024 * 64^3", {512, 1024, 1024}, {64, 64, 64});
    convolver("Convolver 1024x2048x2048 * 33^3", {1024, 2048, 2048}, {33, 33, 33});
    convolver("Convolver 1x1x1000 * 50", {1, 1, 1000}, {1, 1, 50});
    deconvolver("Deconvolver 64x256x256 * 15^3", {});
    DeconvolveOptions with_background;  // no search for the background is planned
    with_background.background = 0;
    deconvolver("the same, background given", with_background);
    kinds.push_back({"FilterBank 16 x 1000000 * 257", shapes_from({1, 1, 1000000}, count),
                     [=, taps = kernel_of({1, 1, 257})](const Shape3& shape) {
                         return std::make_shared<const FilterBank>(
                             SignalShape{16, shape.x}, std::vector<ConstImageView>{taps->view()},
                             FilterOptions{}, engines);
                     }});
    if (on_gpu)
        kinds.push_back({"DeviceConvolver 64x256x256 * 15^3", shapes_from({64, 256, 256}, count),
                         [kernel = kernel_of({15, 15, 15})](const Shape3& shape) {
                             return std::make_shared<const DeviceConvolver>(shape, kernel->view());
                         }});
    return kinds;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times planning by itself.");
    std::string device = "auto", only, json_file;
    int count = 60;
    app.add_option("--device", device, "auto, cpu, gpu or gpu:0")->capture_default_str();
    app.add_option("--only", only, "text that is part of the names of the objects to plan");
    app.add_option("--shapes", count, "number of new shapes")
        ->capture_default_str()
        ->check(CLI::Range(2, 179));
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
    std::printf("start of CUDA: %.1f ms\n%-34s %8s %8s %8s %8s %8s %8s %10s\n", start_ms,
                message("ms to plan; ", count, " new shapes").c_str(), "first", "again", "median",
                "90 %", "2nd most", "most", "to destroy");
    for (const PlannedKind& kind : kinds(engines, on_gpu, count)) {
        if (kind.name.find(only) == std::string::npos) continue;
        try {
            const PlanningTimes times = times_of(kind);
            const auto share = [&](double one) { return time_of_share(times.fresh, one); };
            const double second = share(1 - 1 / static_cast<double>(count - 1));
            const double destroy = time_of_share(times.destroying, 0.5);
            std::printf("%-34s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %10.2f\n", kind.name.c_str(),
                        times.first, times.again, share(0.5), share(0.9), second, share(1),
                        destroy);
            result["kinds"].push_back({{"name", kind.name},
                                       {"first_ms", times.first},
                                       {"again_ms", times.again},
                                       {"new_ms", times.fresh},
                                       {"new_median_ms", share(0.5)},
                                       {"new_most_ms", share(1)},
                                       {"destroy_median_ms", destroy}});
        } catch (const OutOfMemory&) {
            std::printf("%-34s does not fit the memory of this machine\n", kind.name.c_str());
        }
    }
    if (!json_file.empty()) std::ofstream(json_file) << result.dump(1) << '\n';
}
