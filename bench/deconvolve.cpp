// SPDX-License-Identifier: Apache-2.0
// The program that deconvolve.py times: Richardson-Lucy on the arrays of a folder.
//   convolume_deconvolve_bench FOLDER --image Z,Y,X --psf Z,Y,X …
// reads FOLDER/image.f32 and FOLDER/psf.f32, writes FOLDER/restored.f32, prints one JSON object.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "convolume/deconvolver.hpp"
#include "convolume/volume.hpp"

using namespace convolume;

namespace {

std::vector<float> read_floats(const std::string& path, const Shape3& shape) {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    std::ifstream file(path, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
    if (!file.read(reinterpret_cast<char*>(values.data()), bytes))
        throw InputNotFound(message("\"", path, "\" does not hold ", values.size(), " floats"));
    return values;
}

// An image and its result as float32, or as uint16 scaled to half of the range.
class Images {
  public:
    Images(std::vector<float> values, const Shape3& shape, bool as_uint16)
        : volume_(shape, as_uint16 ? PixelType::uint16 : PixelType::float32) {
        if (!as_uint16) {
            std::copy(values.begin(), values.end(), volume_.elements<float>());
            return;
        }
        const float most = *std::max_element(values.begin(), values.end());
        std::transform(values.begin(), values.end(), volume_.elements<std::uint16_t>(),
                       [&](float v) { return static_cast<std::uint16_t>(32767 * v / most); });
    }
    ConstImageView view() const { return volume_.view(); }

  private:
    Volume volume_;
};

// Returns the largest resident memory of the process so far, in bytes.
long long host_peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
    return 0;
}

Shape3 shape_of(const std::vector<index_t>& extents) {
    return {extents.at(0), extents.at(1), extents.at(2)};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times Richardson-Lucy deconvolution");
    std::string folder, device = "cpu", edges = "extend", acceleration = "none";
    std::string method = "rl";
    bool as_uint16 = false, unobserved = false;
    EngineChoice engines;
    std::vector<index_t> image_extents, psf_extents;
    DeconvolveOptions options;
    options.background = 0;
    options.iterations = 10;
    app.add_option("FOLDER", folder)->required();
    app.add_option("--image", image_extents)->delimiter(',')->expected(3)->required();
    app.add_option("--psf", psf_extents)->delimiter(',')->expected(3)->required();
    app.add_option("--iterations", options.iterations);
    app.add_option("--device", device)->check(CLI::IsMember({"cpu", "gpu"}));
    app.add_option("--edges", edges);
    app.add_option("--acceleration", acceleration);
    app.add_option("--method", method);
    app.add_option("--gpus", engines.gpus)->delimiter(',');
    app.add_option("--max-gpu-bytes", engines.max_gpu_bytes);
    app.add_flag("--unobserved", unobserved,
                 "iterations of a run that reports none: they leave the likelihood out");
    app.add_flag("--uint16", as_uint16, "image and result are uint16");
    CLI11_PARSE(app, argc, argv);
    try {
        const Shape3 image_shape = shape_of(image_extents), psf_shape = shape_of(psf_extents);
        const Images images(read_floats(folder + "/image.f32", image_shape), image_shape,
                            as_uint16);
        const std::vector<float> psf = read_floats(folder + "/psf.f32", psf_shape);
        Volume restored(image_shape, as_uint16 ? PixelType::uint16 : PixelType::float32);
        options.acceleration = parse_acceleration(acceleration);
        options.boundary = parse_edges(edges);
        options.method = parse_deconvolve_method(method);
        options.image_type = images.view().type;
        engines.device = device == "gpu" ? EngineChoice::Device::gpu : EngineChoice::Device::cpu;

        using Clock = std::chrono::steady_clock;
        const auto seconds = [](Clock::duration d) {
            return std::chrono::duration<double>(d).count();
        };
        const auto start = Clock::now();
        Deconvolver deconvolver(image_shape, view_of(psf.data(), psf_shape), options, engines);
        const auto planned = Clock::now();
        std::vector<Clock::time_point> ends;
        DeconvolveRun run;
        run.reads_every = 0;  // the callback reads no estimates, so iterations may share a walk
        run.on_iteration = [&](const Iteration&, const EstimateReader&) {
            ends.push_back(Clock::now());
        };
        const DeconvolveReport report = deconvolver.execute(images.view(), restored.view(), run);
        const auto done = Clock::now();
        std::vector<double> each;
        for (std::size_t i = 1; i < ends.size(); ++i)
            each.push_back(seconds(ends[i] - ends[i - 1]));
        std::sort(each.begin(), each.end());
        // All iterations of a walk end at once, so the time of one is the mean after the first
        // walk.
        const DeconvolvePlan& plan = deconvolver.plan();
        const auto first = static_cast<std::size_t>(plan.iterations_a_walk);
        if (first > 1 && ends.size() > first)
            each = {seconds(ends.back() - ends[first - 1]) /
                    static_cast<double>(ends.size() - first)};

        if (unobserved) {
            const auto without_asking = [&](const Deconvolver& of) {
                const auto begun = Clock::now();
                of.execute(images.view(), restored.view());
                return seconds(Clock::now() - begun);
            };
            const double all = without_asking(deconvolver);
            const int iterations = *std::exchange(options.iterations, 1);
            const Deconvolver once(image_shape, view_of(psf.data(), psf_shape), options, engines);
            without_asking(once);
            each = {(all - without_asking(once)) / (iterations - 1)};
        }

        std::ofstream(folder + "/restored.f32", std::ios::binary)
            .write(static_cast<const char*>(std::as_const(restored).view().data),
                   static_cast<std::streamsize>(restored.bytes()));
        const nlohmann::json result{
            {"plan_s", seconds(planned - start)},
            {"execute_s", seconds(done - planned)},
            {"iteration_s", each.empty() ? 0.0 : each[each.size() / 2]},
            {"iterations", report.iterations},
            {"likelihood", report.last.likelihood},
            {"engines", plan.engines},
            {"on_device", plan.on_device},
            {"by_walks", plan.by_walks},
            {"iterations_a_walk", plan.iterations_a_walk},
            {"tiles", plan.tiles},
            {"restarts", report.restarts},
            {"host_peak_bytes", host_peak_bytes()},
            {"device_bytes", plan.device_bytes},
            {"grid", {plan.grid.z, plan.grid.y, plan.grid.x}},
        };
        std::cout << result << std::endl;
    } catch (const std::exception& error) {
        std::cerr << "convolume_deconvolve_bench: " << error.what() << '\n';
        return 1;
    }
}
