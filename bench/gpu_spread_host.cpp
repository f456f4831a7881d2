// SPDX-License-Identifier: Apache-2.0
// Times convolutions of images in page-locked host memory on 1, 2, 4, … GPUs: in-core, in tiles and
// in parts, with predictions. Prints one JSON object a line. Times are medians of milliseconds by
// the host's clock.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/spread_cases.hpp"
#include "convolume/device.hpp"
#include "convolume/engines.hpp"
#include "gpu/runtime/staging.hpp"

namespace {

using namespace convolume;
using namespace convolume::bench;
using nlohmann::json;

// Convolves from host memory to host memory, and returns the figures.
json run_from_host(const Case& c, const std::vector<int>& devices, Method method, int repeats,
                   const Volume& image, const Volume& kernel, Volume& result) {
    Options options;
    options.method = method;
    options.boundary.kind = c.boundary;
    options.normalization = KernelNormalization::sum;
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    choice.gpus = devices;
    const Convolver convolver(c.image, kernel.view(), options, choice);
    const PlanCandidate chosen = convolver.plan().chosen;
    const auto execute = [&] { return convolver.execute(image.view(), result.view()).seconds; };
    const double first_s = execute();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) times.push_back(execute());
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    convolver.execute(image.view(), result.view(), context);
    std::sort(times.begin(), times.end());
    // Seconds from the first begin of a phase to its last end, over all GPUs.
    json phases;
    for (const Phase phase : {Phase::host_to_device, Phase::convolve, Phase::device_to_host}) {
        double begin_s = 1e9, end_s = 0;
        for (const Timeline::Event& event : timeline.events()) {
            if (event.phase != phase) continue;
            begin_s = std::min(begin_s, event.begin_s);
            end_s = std::max(end_s, event.end_s);
        }
        phases[to_string(phase)] = {std::round(begin_s * 1e4) / 10, std::round(end_s * 1e4) / 10};
    }
    return {{"name", c.name},
            {"gpus", devices.size()},
            {"method", to_string(chosen.method)},
            {"gpus_per_block", chosen.gpus_per_block},
            {"parts", chosen.parts},
            {"tiles_zyx", {chosen.tiles.z, chosen.tiles.y, chosen.tiles.x}},
            {"gib_of_each", static_cast<double>(chosen.engine_bytes >> 20) / 1024},
            {"page_locked", gpu::is_page_locked(image.view().data, image.bytes()) &&
                                gpu::is_page_locked(result.view().data, result.bytes())},
            {"predicted_ms", chosen.seconds * 1e3},
            {"ms", times[times.size() / 2] * 1e3},
            {"first_ms", first_s * 1e3},
            {"ms_of_phases", phases},
            {"relative_l2_error", sampled_error(c, image, kernel, result)}};
}

// Times a case from host memory on 1, 2, 4, … and all of `devices`, with every method.
bool time_from_host(Case c, const std::vector<int>& devices, int repeats) {
    c.boundary = BoundaryKind::zero;
    const Volume image = random_volume(c.image, 1, HostMemory::page_locked),
                 kernel = random_volume(c.kernel, 2);
    Volume result(c.image, PixelType::float32, HostMemory::page_locked);
    bool good = true;
    for (std::size_t count = 1; count <= devices.size();
         count = count < devices.size() ? std::min(2 * count, devices.size()) : count + 1) {
        const std::vector<int> used(devices.begin(),
                                    devices.begin() + static_cast<std::ptrdiff_t>(count));
        for (const Method method : {Method::in_core, Method::tiled, Method::dif})
            good &= print(c.name, [&] {
                return run_from_host(c, used, method, repeats, image, kernel, result);
            });
    }
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Times convolutions of images in host memory on several GPUs, with zero boundary.");
    std::vector<std::string> names;
    std::vector<int> devices{0, 1};
    int repeats = 10;
    app.add_option("CASE", names, case_names() + "; all that one GPU holds");
    app.add_option("--devices", devices, "GPUs (default 0,1)")->delimiter(',');
    app.add_option("--repeats", repeats, "Timed executions (default 10)");
    CLI11_PARSE(app, argc, argv);
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cerr << why << '\n';
        return 2;
    }
    bool good = true;
    for (const Case& c : cases)
        if (is_chosen(names, c.name) && c.fits_one) good &= time_from_host(c, devices, repeats);
    return good ? 0 : 1;
}
