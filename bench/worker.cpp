// SPDX-License-Identifier: Apache-2.0
// Runs timed cases on request, one line at a time, so that a driver can alternate with other
// programs in one run (bench/compare.py). Reads from stdin, answers on stdout, in JSON:
//   prepare CASE [KEY=VALUE …]   plans and warms nothing; answers with the plan
//   run                          executes once; answers with seconds and phases
//   quit
// Cases: psf (240×480×480 * 31×61×61), box (512³ * 5×5×5 of random values), gaussian (512³, 5 taps
// an axis). Keys: scale=N divides every image extent, method=NAME, parts=P, engines=N,
// engine-mem=SIZE.

#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"

using namespace convolume;

namespace {

struct Case {
    Volume image;
    Volume kernel;
    Volume output;
    std::unique_ptr<Convolver> convolver;
    double plan_s = 0;
};

void fill_random(Volume& volume) {
    std::uint32_t state = 1;
    float* const elements = volume.elements<float>();
    const index_t count = element_count(volume.shape());
    for (index_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        elements[i] = static_cast<float>(state >> 8) / 16777216.0f;
    }
}

void fill_gaussian(Volume& volume, double sigma) {
    const Shape3 shape = volume.shape();
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
}

using Settings = std::map<std::string, std::string>;

Case prepare(const std::string& name, const Settings& settings) {
    const auto setting = [&](const char* key, const char* otherwise) {
        const auto found = settings.find(key);
        return found == settings.end() ? std::string(otherwise) : found->second;
    };
    const bool psf = name == "psf";
    Shape3 image = psf ? Shape3{240, 480, 480} : Shape3{512, 512, 512};
    const Shape3 kernel = psf ? Shape3{31, 61, 61} : Shape3{5, 5, 5};
    for (int a = 0; a < 3; ++a) image[a] /= std::stoll(setting("scale", "1"));

    Case work{Volume(image, PixelType::float32),
              Volume(kernel, PixelType::float32),
              Volume(image, PixelType::float32),
              {}};
    fill_random(work.image);
    if (name == "gaussian")
        fill_gaussian(work.kernel, 1);
    else if (psf || name == "box")
        fill_random(work.kernel);
    else
        throw InvalidArgument(message("no case is called ", name));

    Options options;
    options.normalization = KernelNormalization::sum;
    options.method = parse_method(setting("method", "auto"));
    options.parts = std::stoi(setting("parts", "0"));
    EngineChoice choice;
    choice.cpu_engines = std::stoi(setting("engines", "1"));
    if (settings.count("engine-mem"))
        choice.max_cpu_engine_bytes = parse_byte_size(settings.at("engine-mem"));

    const auto start = std::chrono::steady_clock::now();
    work.convolver = std::make_unique<Convolver>(image, work.kernel.view(), options, choice);
    work.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return work;
}

nlohmann::json run(Case& work) {
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    const ExecutionReport report =
        work.convolver->execute(work.image.view(), work.output.view(), context);
    nlohmann::json phases;
    for (const Phase phase : {Phase::allocate, Phase::decompose, Phase::convolve, Phase::compose})
        phases[to_string(phase)] = timeline.total_s(phase);
    return {{"seconds", report.seconds},
            {"phases", phases},
            {"peak_bytes", memory_use().peak_bytes - before}};
}

}  // namespace

int main() {
    Case work;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb, name, word;
        words >> verb;
        try {
            if (verb == "quit") return 0;
            if (verb == "prepare") {
                Settings settings;
                words >> name;
                while (words >> word)
                    settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
                work = {};
                work = prepare(name, settings);
                std::cout << nlohmann::json{{"plan_seconds", work.plan_s},
                                            {"plan", nlohmann::json::parse(
                                                         work.convolver->plan().to_json())}}
                                 .dump()
                          << std::endl;
            } else if (verb == "run" && work.convolver) {
                std::cout << run(work).dump() << std::endl;
            } else {
                throw InvalidArgument(
                    message("'", line, "' is no request: write prepare CASE, run or quit"));
            }
        } catch (const std::exception& error) {
            std::cout << nlohmann::json{{"error", error.what()}}.dump() << std::endl;
        }
    }
}
