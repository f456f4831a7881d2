// SPDX-License-Identifier: Apache-2.0
// Runs timed work on request, one line at a time, so that a driver can alternate with other
// programs in one run (bench/compare.py, bench/gate.py). Reads from stdin, answers on stdout, in
// JSON:
//   prepare WORK [KEY=VALUE …]   plans; answers with the plan
//   run                          executes once; answers with seconds, phases, peak memory
//   quit
// WORK and its keys (extents z,y,x; data are random):
//   convolve     image, kernel, values=random|gaussian (of the kernel), type, output, precision,
//                method, parts, mode, boundary
//   deconvolve   image, kernel, iterations, method
//   filter       signals, samples, filters, taps, type, method, segment
// All: device, threads, engines, engine-mem, gpu-mem. It uses public headers only, so that it
// compiles against other versions of the library.

#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"
#include "convolume/filter_bank.hpp"

using namespace convolume;

namespace {

class Settings {
  public:
    explicit Settings(std::istream& words) {
        for (std::string word; words >> word;)
            values_[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    std::string text(const char* key, const char* otherwise) const {
        const auto found = values_.find(key);
        return found == values_.end() ? otherwise : found->second;
    }
    index_t number(const char* key, const char* otherwise) const {
        return std::stoll(text(key, otherwise));
    }
    Shape3 shape(const char* key, const char* otherwise) const {
        std::istringstream extents(text(key, otherwise));
        Shape3 shape;
        char comma = ',';
        extents >> shape.z >> comma >> shape.y >> comma >> shape.x;
        return shape;
    }

  private:
    std::map<std::string, std::string> values_;
};

Volume random_volume(const Shape3& shape, PixelType type) {
    Volume floats(shape, PixelType::float32);
    std::uint32_t state = 1;
    const double scale = is_integer(type) ? 4000 : 1;
    for (index_t i = 0; i < element_count(shape); ++i) {
        state = state * 1664525u + 1013904223u;
        floats.elements<float>()[i] = static_cast<float>(scale * (state >> 8) / 16777216.0);
    }
    if (type == PixelType::float32) return floats;
    Volume volume(shape, type);
    convert_pixels(floats.view(), volume.view());
    return volume;
}

Volume gaussian_volume(const Shape3& shape, double sigma) {
    Volume volume(shape, PixelType::float32);
    float* elements = volume.elements<float>();
    const auto squared = [](index_t i, index_t n) {
        return static_cast<double>((i - n / 2) * (i - n / 2));
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x)
                *elements++ = static_cast<float>(
                    std::exp(-(squared(z, shape.z) + squared(y, shape.y) + squared(x, shape.x)) /
                             (2 * sigma * sigma)));
    return volume;
}

EngineChoice engines_of(const Settings& settings) {
    EngineChoice choice;
    choice.device = parse_device(settings.text("device", "auto"));
    choice.threads = static_cast<int>(settings.number("threads", "0"));
    choice.cpu_engines = static_cast<int>(settings.number("engines", "1"));
    if (const std::string memory = settings.text("engine-mem", ""); !memory.empty())
        choice.max_cpu_engine_bytes = parse_byte_size(memory);
    if (const std::string memory = settings.text("gpu-mem", ""); !memory.empty())
        choice.max_gpu_bytes = parse_byte_size(memory);
    return choice;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// The problem that "prepare" has planned.
struct Work {
    nlohmann::json plan;
    double plan_seconds = 0;  ///< without the time in which images are made
    std::function<void(const ExecutionContext&)> run;
};

Work prepare_convolve(const Settings& settings) {
    const Shape3 shape = settings.shape("image", "64,64,64");
    const Shape3 kernel_shape = settings.shape("kernel", "5,5,5");
    const PixelType type = parse_pixel_type(settings.text("type", "float32"));
    const PixelType result = parse_pixel_type(settings.text("output", "float32"));
    Options options;
    options.normalization = KernelNormalization::sum;
    options.method = parse_method(settings.text("method", "auto"));
    options.parts = static_cast<int>(settings.number("parts", "0"));
    options.mode = parse_mode(settings.text("mode", "same"));
    options.boundary = parse_boundary(settings.text("boundary", "zero"));
    options.precision = parse_precision(settings.text("precision", "float32"));
    const Volume kernel = settings.text("values", "random") == "gaussian"
                              ? gaussian_volume(kernel_shape, 1)
                              : random_volume(kernel_shape, PixelType::float32);
    const auto start = Clock::now();
    const auto convolver = std::make_shared<Convolver>(shape, kernel.view(), options,
                                                       engines_of(settings), type, result);
    const double plan_seconds = seconds_since(start);
    const auto image = std::make_shared<Volume>(random_volume(shape, type));
    const auto output = std::make_shared<Volume>(convolver->output_shape(), result);
    return {nlohmann::json::parse(convolver->plan().to_json()), plan_seconds,
            [=](const ExecutionContext& context) {
                convolver->execute(image->view(), output->view(), context);
            }};
}

Work prepare_deconvolve(const Settings& settings) {
    const Shape3 shape = settings.shape("image", "64,64,64");
    DeconvolveOptions options;
    options.background = 0;
    options.iterations = static_cast<int>(settings.number("iterations", "5"));
    options.method = parse_deconvolve_method(settings.text("method", "rl"));
    const Volume psf = gaussian_volume(settings.shape("kernel", "9,9,9"), 2);
    const auto start = Clock::now();
    const auto deconvolver =
        std::make_shared<Deconvolver>(shape, psf.view(), options, engines_of(settings));
    const double plan_seconds = seconds_since(start);
    const auto image = std::make_shared<Volume>(random_volume(shape, PixelType::float32));
    const auto output = std::make_shared<Volume>(shape, PixelType::float32);
    return {nlohmann::json::object(), plan_seconds, [=](const ExecutionContext& context) {
                deconvolver->execute(image->view(), output->view(), {}, context);
            }};
}

Work prepare_filter(const Settings& settings) {
    const SignalShape shape{settings.number("signals", "1"), settings.number("samples", "1000000")};
    const index_t filters = settings.number("filters", "1"), taps = settings.number("taps", "64");
    const PixelType type = parse_pixel_type(settings.text("type", "float32"));
    FilterOptions options;
    options.method = parse_filter_method(settings.text("method", "auto"));
    options.segment = settings.number("segment", "0");
    const Volume bank = random_volume({1, filters, taps}, type);
    const auto start = Clock::now();
    const auto filter_bank = std::make_shared<FilterBank>(
        shape, std::vector<ConstImageView>{bank.view()}, options, engines_of(settings), type);
    const double plan_seconds = seconds_since(start);
    const auto signals =
        std::make_shared<Volume>(random_volume({1, shape.signals, shape.samples}, type));
    const auto results = std::make_shared<Volume>(
        Shape3{shape.signals, filters, filter_bank->result_samples()}, filter_bank->result_type());
    return {{{"method", to_string(filter_bank->plan().method)},
             {"segment", filter_bank->plan().segment},
             {"engine", filter_bank->plan().engine}},
            plan_seconds,
            [=](const ExecutionContext& context) {
                filter_bank->execute(signals->view(), results->view(), nullptr, context);
            }};
}

Work prepare(const std::string& work, const Settings& settings) {
    if (work == "convolve") return prepare_convolve(settings);
    if (work == "deconvolve") return prepare_deconvolve(settings);
    if (work == "filter") return prepare_filter(settings);
    throw InvalidArgument(message("no work is called ", work));
}

nlohmann::json run(const Work& work) {
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    const auto start = Clock::now();
    work.run(context);
    const double seconds = seconds_since(start);
    nlohmann::json times;
    for (const Phase phase : {Phase::read, Phase::decompose, Phase::allocate, Phase::host_to_device,
                              Phase::convolve, Phase::device_to_host, Phase::compose, Phase::write})
        if (timeline.total_s(phase) > 0) times[to_string(phase)] = timeline.total_s(phase);
    return {
        {"seconds", seconds}, {"phases", times}, {"peak_bytes", memory_use().peak_bytes - before}};
}

nlohmann::json answer(const std::string& line, Work& work) {
    std::istringstream words(line);
    std::string verb, name;
    words >> verb;
    if (verb == "prepare") {
        words >> name;
        work = {};
        work = prepare(name, Settings(words));
        return {{"plan_seconds", work.plan_seconds}, {"plan", work.plan}};
    }
    if (verb == "run" && work.run) return run(work);
    throw InvalidArgument(message("'", line, "' is no request: write prepare WORK, run or quit"));
}

}  // namespace

int main() {
    Work work;
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        nlohmann::json json;
        try {
            json = answer(line, work);
        } catch (const std::exception& error) {
            json = {{"error", error.what()}};
        }
        std::cout << json.dump() << std::endl;
    }
}
