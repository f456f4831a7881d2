// SPDX-License-Identifier: Apache-2.0
// Times convolutions from host memory to host memory on GPUs, through the public library. Prints
// one JSON object a line for each case, with the error against sums in double precision.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"

using namespace convolume;

namespace {

constexpr double tolerance = 1e-5;

struct Case {
    std::string name;
    Shape3 image;
    Shape3 kernel;
    PixelType type = PixelType::float32;
    HostMemory memory = HostMemory::page_locked;
    Method method = Method::automatic;
    std::optional<index_t> max_gpu_bytes = {};
    /// Samples are in 0 … 65535 and the kernel has sum 1, so that results are uint16, too.
    /// Otherwise both are in -1 … 1, so that sums have no large mean, which would hide errors.
    bool counts = false;
};

const std::vector<Case>& all_cases() {
    constexpr Shape3 k64{64, 64, 64};
    constexpr Shape3 small{512, 1024, 1024};
    constexpr Shape3 large{1024, 2048, 2048};
    constexpr index_t limit = index_t{8} << 30;
    static const std::vector<Case> cases{
        {"hosts512", small, k64, PixelType::float32, HostMemory::ordinary, Method::automatic, {}},
        {"library512", small, k64},
        {"uint16",
         {1024, 1024, 1024},
         {33, 33, 33},
         PixelType::uint16,
         HostMemory::page_locked,
         Method::automatic,
         {},
         true},
        {"float32",
         {1024, 1024, 1024},
         {33, 33, 33},
         PixelType::float32,
         HostMemory::page_locked,
         Method::automatic,
         {},
         true},
        {"tiled1024", large, k64, PixelType::float32, HostMemory::page_locked, Method::tiled,
         limit},
        {"dif1024", large, k64, PixelType::float32, HostMemory::page_locked, Method::dif, limit},
    };
    return cases;
}

struct Settings {
    std::vector<std::string> cases;
    int gpus = 1;
    int repeats = 5;
    index_t scale = 1;
    bool on_cpu = false;
    TransferGate gate = TransferGate::automatic;
    std::string timeline;
};

// Returns the i-th of a sequence of random numbers, uniform in 0 … 1 with 24 bits. Each depends on
// i alone, so that threads can share the work.
double random_fraction(std::uint64_t seed, index_t i) {
    std::uint64_t state = seed + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((state ^ (state >> 31)) >> 40) / 16777216.0;
}

template <class T>
void fill_random(Volume& volume, std::uint64_t seed, double low, double high) {
    T* const elements = volume.elements<T>();
    const index_t count = element_count(volume.shape());
    parallel_for(count, thread_count(0), [=](index_t i, int) {
        elements[i] = static_cast<T>(low + (high - low) * random_fraction(seed, i));
    });
}

void fill_image(Volume& image, bool counts) {
    if (image.type() == PixelType::uint16)
        fill_random<std::uint16_t>(image, 1, 0, 65536);
    else
        fill_random<float>(image, 1, counts ? 0 : -1, counts ? 65536 : 1);
}

Volume make_kernel(const Case& work) {
    Volume kernel(work.kernel, PixelType::float32);
    fill_random<float>(kernel, 2, work.counts ? 0 : -1, 1);
    return kernel;
}

double value_at(const Volume& volume, const Index3& at) {
    const Shape3& shape = volume.shape();
    const index_t i = (at.z * shape.y + at.y) * shape.x + at.x;
    return volume.type() == PixelType::uint16
               ? static_cast<double>(volume.elements<std::uint16_t>()[i])
               : static_cast<double>(volume.elements<float>()[i]);
}

// Returns sample i of a convolution in mode same, in double precision, with zeros outside of f:
//     same[i] = Σ_j h[j] f(i + k/2 - j)
double direct_sum(const Volume& image, const Volume& kernel, const Index3& at) {
    const Shape3& taps = kernel.shape();
    Index3 first, last;  // range of the taps j that meet the image
    for (int a = 0; a < 3; ++a) {
        const index_t top = at[a] + taps[a] / 2;
        first[a] = std::max<index_t>(0, top - image.shape()[a] + 1);
        last[a] = std::min(taps[a] - 1, top);
    }
    double sum = 0;
    for (index_t z = first.z; z <= last.z; ++z)
        for (index_t y = first.y; y <= last.y; ++y)
            for (index_t x = first.x; x <= last.x; ++x)
                sum += value_at(kernel, {z, y, x}) *
                       value_at(image, {at.z + taps.z / 2 - z, at.y + taps.y / 2 - y,
                                        at.x + taps.x / 2 - x});
    return sum;
}

// Returns the relative L2 error over samples of the output, a third of which are at its edges.
double sampled_error(const Case& work, const Volume& image, const Volume& kernel,
                     const Volume& output) {
    constexpr int samples = 200;
    const float* const taps = kernel.elements<float>();
    const double scale =
        work.counts ? 1 / std::accumulate(taps, taps + element_count(kernel.shape()), 0.0) : 1;
    std::vector<double> errors(samples), norms(samples);
    parallel_for(samples, thread_count(0), [&](index_t sample, int) {
        const int i = static_cast<int>(sample);
        Index3 at;
        for (int a = 0; a < 3; ++a) {
            const double extent = static_cast<double>(work.image[a]);
            at[a] = static_cast<index_t>(extent * random_fraction(3, 3 * i + a));
            if (i % 3 == 0 && (i / 3 + a) % 2 == 0) at[a] = i % 2 == 0 ? 0 : work.image[a] - 1;
        }
        double wanted = scale * direct_sum(image, kernel, at);
        if (work.type == PixelType::uint16) wanted = std::clamp(std::round(wanted), 0.0, 65535.0);
        const double difference = value_at(output, at) - wanted;
        errors[static_cast<std::size_t>(i)] = difference * difference;
        norms[static_cast<std::size_t>(i)] = wanted * wanted;
    });
    const double error = std::accumulate(errors.begin(), errors.end(), 0.0);
    const double norm = std::accumulate(norms.begin(), norms.end(), 0.0);
    // NaN in the output makes the error infinite, so that it exceeds every bound.
    return std::isfinite(error) ? std::sqrt(error / norm) : INFINITY;
}

double seconds_of(const std::function<void()>& act) {
    const auto start = std::chrono::steady_clock::now();
    act();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

EngineChoice engines_for(const Case& work, const Settings& settings) {
    EngineChoice choice;
    choice.transfer_gate = settings.gate;
    choice.max_gpu_bytes = work.max_gpu_bytes;
    choice.max_cpu_engine_bytes = work.max_gpu_bytes;
    choice.device = settings.on_cpu ? EngineChoice::Device::cpu : EngineChoice::Device::gpu;
    for (int gpu = 0; gpu < settings.gpus; ++gpu) choice.gpus.push_back(gpu);
    return choice;
}

nlohmann::ordered_json describe(const Case& work, const Settings& settings, const Plan& plan) {
    const auto triple = [](const Index3& index) {
        return nlohmann::ordered_json::array({index.z, index.y, index.x});
    };
    const PlanCandidate& chosen = plan.chosen;
    return {{"name", work.name},
            {"image_zyx", triple(work.image)},
            {"kernel_zyx", triple(work.kernel)},
            {"type", to_string(work.type)},
            {"memory", work.memory == HostMemory::page_locked ? "page-locked" : "ordinary"},
            {"gate", to_string(settings.gate)},
            {"engines", plan.engines},
            {"method", to_string(chosen.method)},
            {"algorithm", to_string(chosen.algorithm)},
            {"parts", chosen.parts},
            {"tiles_zyx", triple(chosen.tiles)},
            {"tasks", plan.tasks},
            {"tasks_in_flight", chosen.tasks_in_flight},
            {"slab_planes", chosen.slab_planes},
            {"gpus_per_block", chosen.gpus_per_block},
            {"grid_zyx", triple(chosen.grid)},
            {"engine_bytes", chosen.engine_bytes},
            {"host_bytes", chosen.host_bytes},
            {"predicted_seconds", chosen.seconds}};
}

nlohmann::ordered_json describe(const Timeline& timeline) {
    nlohmann::ordered_json phases;
    for (const Phase phase : {Phase::allocate, Phase::decompose, Phase::host_to_device,
                              Phase::convolve, Phase::device_to_host, Phase::compose})
        phases[to_string(phase)] = timeline.total_s(phase);
    index_t up = 0, down = 0;
    for (const Timeline::Event& event : timeline.events()) {
        if (event.phase == Phase::host_to_device) up += event.bytes;
        if (event.phase == Phase::device_to_host) down += event.bytes;
    }
    return {{"phase_seconds", phases},
            {"gb_to_device", static_cast<double>(up) / 1e9},
            {"gb_to_host", static_cast<double>(down) / 1e9}};
}

// Plans, warms up, times and checks a case. Volumes are allocated after the plan, which counts
// them.
nlohmann::ordered_json run_case(const Case& work, const Settings& settings) {
    const Volume kernel = make_kernel(work);
    Options options;
    options.method = work.method;
    options.normalization = work.counts ? KernelNormalization::sum : KernelNormalization::none;
    std::optional<Convolver> convolver;
    const double engines_and_plan_s = seconds_of([&] {
        convolver.emplace(work.image, kernel.view(), options, engines_for(work, settings),
                          work.type, work.type);
    });
    nlohmann::ordered_json line = describe(work, settings, convolver->plan());

    Volume image(work.image, work.type, work.memory);
    Volume output(work.image, work.type, work.memory);
    fill_image(image, work.counts);
    const auto execute = [&](Timeline* timeline) {
        ExecutionContext context;
        context.timeline = timeline;
        return seconds_of([&] { convolver->execute(image.view(), output.view(), context); });
    };
    const double first_s = execute(nullptr);
    std::vector<double> seconds;
    for (int i = 1; i < settings.repeats; ++i) seconds.push_back(execute(nullptr));
    Timeline timeline;
    seconds.push_back(execute(&timeline));
    if (!settings.timeline.empty()) std::ofstream(settings.timeline) << timeline.to_json();

    line["plan_seconds"] = engines_and_plan_s;
    line["first_seconds"] = first_s;
    line["repeats"] = settings.repeats;
    line["seconds"] = median(seconds);
    line["least_seconds"] = *std::min_element(seconds.begin(), seconds.end());
    line.update(describe(timeline));
    line["relative_l2_error"] = sampled_error(work, image, kernel, output);
    return line;
}

std::vector<Case> selected_cases(const Settings& settings) {
    std::vector<Case> chosen;
    for (Case work : all_cases()) {
        if (std::find(settings.cases.begin(), settings.cases.end(), work.name) ==
            settings.cases.end())
            continue;
        for (int a = 0; a < 3; ++a) {
            work.image[a] /= settings.scale;
            work.kernel[a] = ceil_div(work.kernel[a], settings.scale);
        }
        if (work.max_gpu_bytes)
            *work.max_gpu_bytes /= settings.scale * settings.scale * settings.scale;
        chosen.push_back(work);
    }
    return chosen;
}

Settings parse_arguments(int argc, char** argv) {
    Settings settings;
    std::vector<std::string> names;
    for (const Case& work : all_cases()) names.push_back(work.name);
    CLI::App app("Times convolutions from host memory to host memory on GPUs.");
    app.add_option("CASE", settings.cases, "Which cases to run (default: all)")
        ->check(CLI::IsMember(names));
    app.add_option("--gpus", settings.gpus, "How many GPUs, from number 0 on")
        ->check(CLI::PositiveNumber);
    app.add_option("--repeats", settings.repeats, "Timed executions of each case, after a first")
        ->check(CLI::PositiveNumber);
    app.add_option_function<std::string>(
        "--gate", [&](const std::string& text) { settings.gate = parse_transfer_gate(text); },
        "Transfer gate: auto, global, per-link or off");
    app.add_option("--timeline", settings.timeline,
                   "Write what ran when in the last execution, for timeline.py");
    app.add_option("--scale", settings.scale,
                   "Divides extents, for a quick look; memory limits shrink alike")
        ->check(CLI::Range(1, 64));
    app.add_flag("--cpu", settings.on_cpu, "The same on the CPU, to try this program");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    if (settings.cases.empty()) settings.cases = names;
    return settings;
}

// Runs each case and prints a line for it, also if it fails. Returns whether all results were
// right.
bool run_selected_cases(const Settings& settings) {
    bool all_right = true;
    std::map<std::string, double> seconds;
    for (const Case& work : selected_cases(settings)) {
        nlohmann::ordered_json line;
        try {
            line = run_case(work, settings);
            seconds[work.name] = line["seconds"];
            if (!(line["relative_l2_error"] <= tolerance)) all_right = false;
        } catch (const std::exception& error) {
            line = {{"name", work.name}, {"error", error.what()}};
            all_right = false;
        }
        std::cout << line.dump() << std::endl;
    }
    if (seconds.count("uint16") && seconds.count("float32"))
        std::cout << nlohmann::ordered_json{{"name", "uint16 / float32"},
                                            {"ratio", seconds["uint16"] / seconds["float32"]}}
                         .dump()
                  << std::endl;
    return all_right;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Settings settings = parse_arguments(argc, argv);
        if (const std::string why_not = gpu_unavailable(); !settings.on_cpu && !why_not.empty())
            throw Unavailable(why_not);
        return run_selected_cases(settings) ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "convolume_gpu_bench: " << error.what() << '\n';
        return 2;
    }
}
