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
#include <nlohmann/json.hpp>
#include <numeric>
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

/// Milliseconds to plan objects of one kind.
struct PlanningTimes {
    double first, again;
    std::vector<double> fresh;  ///< of new shapes, in ascending order

    explicit PlanningTimes(const PlannedKind& kind) : first(time(kind, 0)), again(time(kind, 0)) {
        for (std::size_t i = 1; i < kind.shapes.size(); ++i) fresh.push_back(time(kind, i));
        std::sort(fresh.begin(), fresh.end());
    }
    /// Returns the time within which a share of the new shapes are planned.
    double fresh_at(double share) const {
        const auto last = static_cast<double>(fresh.size() - 1);
        return fresh[static_cast<std::size_t>(share * last + 0.5)];
    }
    double second_longest() const {
        return fresh[fresh.size() - std::min<std::size_t>(2, fresh.size())];
    }

  private:
    static double time(const PlannedKind& kind, std::size_t shape) {
        return milliseconds_of([&] { kind.plan(kind.shapes[shape]); });
    }
};

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
    std::string device = "auto", only, json_file;
    int count = 60;
    app.add_option("--device", device, "auto, cpu, gpu or gpu:0")->capture_default_str();
    app.add_option("--only", only, "text that is part of the names of the objects to plan");
    app.add_option("--shapes", count, "number of new shapes")
        ->capture_default_str()
        ->check(CLI::Range(1, 179));
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
    std::printf(
        "start of CUDA: %.1f ms\n%-36s %10s %10s   new shapes: %d\n%-36s %10s %10s %10s %10s %10s "
        "%10s\n",
        start_ms, "milliseconds to plan", "first", "again", count, "", "", "", "median", "90 %",
        "2nd most", "most");
    for (const PlannedKind& kind : kinds(engines, on_gpu, count)) {
        if (kind.name.find(only) == std::string::npos) continue;
        try {
            const PlanningTimes times(kind);
            std::printf("%-36s %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f\n", kind.name.c_str(),
                        times.first, times.again, times.fresh_at(0.5), times.fresh_at(0.9),
                        times.second_longest(), times.fresh_at(1));
            result["kinds"].push_back({{"name", kind.name},
                                       {"first_ms", times.first},
                                       {"again_ms", times.again},
                                       {"new_ms", times.fresh},
                                       {"new_median_ms", times.fresh_at(0.5)},
                                       {"new_most_ms", times.fresh_at(1)}});
        } catch (const OutOfMemory&) {
            std::printf("%-36s does not fit the memory of this machine\n", kind.name.c_str());
        }
    }
    if (!json_file.empty()) std::ofstream(json_file) << result.dump(1) << '\n';
}
