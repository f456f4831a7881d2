// SPDX-License-Identifier: Apache-2.0
// Convolves images of any size on request, one line at a time, and compares the results. Reads from
// stdin, answers on stdout, in JSON (bench/reproduce/run.py and bench/precision.py ask):
//   prepare image=Z,Y,X kernel=Z,Y,X [KEY=VALUE …]   makes data and a plan; answers with the plan
//   run              executes once: seconds, phases, bytes moved
//   sample N         relative L2 error at N voxels, against sums in long double (real data)
//   keep             keeps the result, for compare
//   compare          the result against the kept one: largest difference, relative L2
//   quit
// Keys: mode (default full), boundary, method, parts, precision, complex=1, device, gpus=N,
// threads=N, engine-mem, gpu-mem, gate, and bits=N: a uint16 image of counts below 2^N with few
// bright voxels, and a kernel like a PSF, of sum 1. Otherwise both are noise in -1 … 1.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/compare/result_errors.hpp"
#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/threads.hpp"

using namespace convolume;

namespace {

using Settings = std::map<std::string, std::string>;

struct Case {
    Shape3 image_shape, kernel_shape;
    Options options;
    Volume image, kernel, output;
    std::unique_ptr<Convolver> convolver;
    double plan_s = 0;
};

std::string setting(const Settings& settings, const char* key, const char* otherwise) {
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : found->second;
}

Shape3 parse_shape(const std::string& text) {
    std::istringstream numbers(text);
    Shape3 shape;
    char comma = 0;
    if (!(numbers >> shape.z >> comma >> shape.y >> comma >> shape.x))
        throw InvalidArgument(message("'", text, "' is no shape: write Z,Y,X"));
    return shape;
}

// Returns the i-th of a sequence of random numbers, uniform in 0 … 1. Each depends on i alone, so
// that threads can share the work.
double random_fraction(std::uint64_t seed, index_t i) {
    std::uint64_t state = seed + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((state ^ (state >> 31)) >> 40) / 16777216.0;
}

template <class T, class Value>
void fill(Volume& volume, const Value& value) {
    T* const elements = static_cast<T*>(volume.view().data);
    const index_t count =
        volume.bytes() / static_cast<index_t>(sizeof(T));  // real numbers: two for a complex sample
    parallel_for(ceil_div(count, index_t{1} << 16), thread_count(0), [&](index_t block, int) {
        for (index_t i = block << 16; i < std::min(count, (block + 1) << 16); ++i)
            elements[i] = static_cast<T>(value(i));
    });
}

void fill_noise(Volume& volume, std::uint64_t seed) {
    fill<float>(volume, [=](index_t i) { return 2 * random_fraction(seed, i) - 1; });
}

// Fills an image with counts like a microscope's: most voxels are dark, few are near 2^bits.
void fill_counts(Volume& image, int bits) {
    fill<std::uint16_t>(image, [scale = std::ldexp(1.0, bits) - 1](index_t i) {
        return std::round(scale * std::pow(random_fraction(1, i), 4));
    });
}

// Fills a kernel with a Gaussian and some noise, so that it is not a product of three 1D kernels.
void fill_psf(Volume& kernel) {
    const Shape3 shape = kernel.shape();
    fill<float>(kernel, [=](index_t i) {
        const index_t at[3] = {i / (shape.x * shape.y), i / shape.x % shape.y, i % shape.x};
        double exponent = 0;
        for (int a = 0; a < 3; ++a) {
            const auto extent = static_cast<double>(shape[a]);
            const double from_center = (static_cast<double>(at[a]) - (extent - 1) / 2) / extent;
            exponent -= 32 * from_center *
                        from_center;  // Gaussian whose deviation is an eighth of the extent
        }
        return std::exp(exponent) * (0.9 + 0.2 * random_fraction(2, i));
    });
}

Case prepare(const Settings& settings) {
    Case work;
    work.image_shape = parse_shape(setting(settings, "image", ""));
    work.kernel_shape = parse_shape(setting(settings, "kernel", ""));
    const int bits = std::stoi(setting(settings, "bits", "0"));
    const bool complex_data = setting(settings, "complex", "0") == "1";

    Options& options = work.options;
    options.mode = parse_mode(setting(settings, "mode", "full"));
    options.boundary = parse_boundary(setting(settings, "boundary", "zero"));
    options.method = parse_method(setting(settings, "method", "auto"));
    options.parts = std::stoi(setting(settings, "parts", "0"));
    options.precision = parse_precision(setting(settings, "precision", "float32"));
    if (bits > 0) options.normalization = KernelNormalization::sum;

    EngineChoice choice;
    choice.device = parse_device(setting(settings, "device", "cpu"));
    choice.threads = std::stoi(setting(settings, "threads", "0"));
    if (choice.device == EngineChoice::Device::gpu)
        for (int gpu = 0; gpu < std::stoi(setting(settings, "gpus", "1")); ++gpu)
            choice.gpus.push_back(gpu);
    choice.transfer_gate = parse_transfer_gate(setting(settings, "gate", "auto"));
    if (settings.count("engine-mem"))
        choice.max_cpu_engine_bytes = parse_byte_size(settings.at("engine-mem"));
    if (settings.count("gpu-mem")) choice.max_gpu_bytes = parse_byte_size(settings.at("gpu-mem"));

    const PixelType type = bits > 0       ? PixelType::uint16
                           : complex_data ? PixelType::complex64
                                          : PixelType::float32;
    work.kernel =
        Volume(work.kernel_shape, complex_data ? PixelType::complex64 : PixelType::float32);
    if (bits > 0)
        fill_psf(work.kernel);
    else
        fill_noise(work.kernel, 2);

    // The plan comes before the image is allocated, as it counts the image's memory.
    const auto start = std::chrono::steady_clock::now();
    const PixelType result = sample_type(options.precision, complex_data);
    work.convolver = std::make_unique<Convolver>(work.image_shape, work.kernel.view(), options,
                                                 choice, type, result);
    work.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    work.image = Volume(work.image_shape, type);
    if (bits > 0)
        fill_counts(work.image, bits);
    else
        fill_noise(work.image, 1);
    work.output = Volume(work.convolver->output_shape(), result);
    return work;
}

nlohmann::json run(Case& work) {
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    const ExecutionReport report =
        work.convolver->execute(work.image.view(), work.output.view(), context);
    nlohmann::json phases = nlohmann::json::object(), bytes = nlohmann::json::object();
    for (const Timeline::Event& event : timeline.events()) {
        const char* const name = to_string(event.phase);
        phases[name] = phases.value(name, 0.0) + event.end_s - event.begin_s;
        if (event.bytes > 0) bytes[name] = bytes.value(name, index_t{0}) + event.bytes;
    }
    return {{"seconds", report.seconds}, {"phases", phases}, {"bytes", bytes}};
}

Volume copy_of(const Volume& volume) {
    Volume copy(volume.shape(), volume.type());
    convert_pixels(volume.view(), copy.view());
    return copy;
}

nlohmann::json compare(const Volume& kept, const Volume& output) {
    if (kept.shape() != output.shape())
        throw InvalidArgument("compare needs a kept result of the same shape: ask for keep");
    const cli::ResultErrors errors = cli::errors_of(output.view(), kept.view());
    if (errors.nonfinite > 0) throw BadData("the result holds no numbers");
    return {{"max_difference", errors.largest},
            {"largest", errors.reference_largest},
            {"relative_l2", errors.relative_l2}};
}

double value_at(const Volume& volume, index_t i) {
    switch (volume.type()) {
        case PixelType::uint16:
            return static_cast<const std::uint16_t*>(volume.view().data)[i];
        case PixelType::float32:
            return static_cast<double>(static_cast<const float*>(volume.view().data)[i]);
        case PixelType::float64:
            return static_cast<const double*>(volume.view().data)[i];
        default:
            throw InvalidArgument("sample needs real data");
    }
}

// Returns one voxel n of a full convolution, in long double:
//     full[n] = sum_j h[j] f(n - j)
long double full_sum(const Case& work, const Index3& at) {
    Index3 first, last;  // range of the taps j that meet the image
    for (int a = 0; a < 3; ++a) {
        first[a] = std::max<index_t>(0, at[a] - work.image_shape[a] + 1);
        last[a] = std::min(work.kernel_shape[a] - 1, at[a]);
    }
    const Shape3 &f = work.image_shape, &h = work.kernel_shape;
    long double sum = 0;
    for (index_t z = first.z; z <= last.z; ++z)
        for (index_t y = first.y; y <= last.y; ++y)
            for (index_t x = first.x; x <= last.x; ++x)
                sum += static_cast<long double>(value_at(work.kernel, (z * h.y + y) * h.x + x)) *
                       static_cast<long double>(
                           value_at(work.image, ((at.z - z) * f.y + at.y - y) * f.x + at.x - x));
    return sum;
}

nlohmann::json sample(const Case& work, int samples) {
    if (work.options.mode != Mode::full || work.options.boundary.kind != BoundaryKind::zero)
        throw InvalidArgument("sample is for mode full with a zero boundary");
    long double scale = 1;
    if (work.options.normalization == KernelNormalization::sum)
        scale = 1 / static_cast<long double>(work.convolver->kernel_sum());
    const Shape3 shape = work.output.shape();
    std::vector<long double> errors(static_cast<std::size_t>(samples)), norms(errors);
    parallel_for(samples, thread_count(0), [&](index_t i, int) {
        Index3 at;
        for (int a = 0; a < 3; ++a)
            at[a] =
                static_cast<index_t>(static_cast<double>(shape[a]) * random_fraction(3, 3 * i + a));
        const long double wanted = scale * full_sum(work, at);
        const long double error = static_cast<long double>(value_at(
                                      work.output, (at.z * shape.y + at.y) * shape.x + at.x)) -
                                  wanted;
        errors[static_cast<std::size_t>(i)] = error * error;
        norms[static_cast<std::size_t>(i)] = wanted * wanted;
    });
    long double error = 0, norm = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) error += errors[i], norm += norms[i];
    if (!std::isfinite(error)) throw BadData("the result holds no numbers");
    return {{"relative_l2", static_cast<double>(std::sqrt(error / norm))},
            {"samples", samples},
            {"rms", static_cast<double>(std::sqrt(norm / static_cast<long double>(samples)))}};
}

}  // namespace

int main() {
    Case work;
    Volume kept;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb, word;
        words >> verb;
        nlohmann::json answer = nlohmann::json::object();
        try {
            if (verb == "quit") return 0;
            if (verb == "prepare") {
                Settings settings;
                while (words >> word)
                    settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
                work = {};
                work = prepare(settings);
                answer = {{"plan_seconds", work.plan_s},
                          {"plan", nlohmann::json::parse(work.convolver->plan().to_json())}};
            } else if (!work.convolver) {
                throw InvalidArgument(message("'", line, "' comes before prepare"));
            } else if (verb == "run") {
                answer = run(work);
            } else if (verb == "keep") {
                kept = copy_of(work.output);
            } else if (verb == "compare") {
                answer = compare(kept, work.output);
            } else if (int samples = 0; verb == "sample" && words >> samples && samples > 0) {
                answer = sample(work, samples);
            } else {
                throw InvalidArgument(message("'", line, "' is no request: see volumes.cpp"));
            }
        } catch (const std::exception& error) {
            answer = {{"error", error.what()}};
        }
        std::cout << answer.dump() << std::endl;
    }
}
