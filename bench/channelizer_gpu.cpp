// SPDX-License-Identifier: Apache-2.0
// Checks DeviceChannelizer and DeviceSynthesizer against Channelizer and Synthesizer on the CPU,
// and times them beside a copy of the same bytes within the device, in turns:
//     channelizer_gpu [log2 of samples] [rounds] [analysis or synthesis; both if left out]

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/gpu_backend.hpp"

using namespace convolume;

namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw DeviceFailure(cudaGetErrorString(status));
}

class DeviceBytes {
  public:
    explicit DeviceBytes(index_t bytes) {
        check(cudaMalloc(&data_, static_cast<std::size_t>(std::max<index_t>(bytes, 1))));
    }
    ~DeviceBytes() { static_cast<void>(cudaFree(data_)); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;
    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

// Returns the seconds of one of 8 turns of the work that `run` enqueues on the default stream. They
// follow each other, so that the GPU does not wait for their launches.
template <class Run>
double seconds(const Run& run) {
    cudaEvent_t start = nullptr, end = nullptr;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    check(cudaEventRecord(start));
    constexpr int turns = 8;
    for (int turn = 0; turn < turns; ++turn) run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start, end));
    check(cudaEventDestroy(start));
    check(cudaEventDestroy(end));
    return ms * 1e-3 / turns;
}

struct Case {
    index_t channels, taps, step;
    PixelType type;
    Precision precision = Precision::float32;
};

ChannelizerOptions options_of(const Case& c) {
    ChannelizerOptions options;
    options.channels = c.channels;
    options.taps_per_channel = c.taps;
    options.step = c.step;
    options.interleaved = is_integer(c.type);
    options.precision = c.precision;
    return options;
}

std::vector<char> random_bytes(PixelType type, index_t numbers) {
    std::vector<char> bytes(static_cast<std::size_t>(numbers) * size_of(type));
    std::mt19937 engine(7);
    if (is_integer(type)) {
        for (char& byte : bytes) byte = static_cast<char>(engine());
        return bytes;
    }
    std::uniform_real_distribution<double> uniform(-1, 1);
    visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        auto* const to = reinterpret_cast<T*>(bytes.data());
        for (index_t i = 0; i < numbers; ++i) {
            if constexpr (std::is_floating_point_v<T>)
                to[i] = static_cast<T>(uniform(engine));
            else if constexpr (!std::is_integral_v<T>)
                to[i] = T(static_cast<typename T::value_type>(uniform(engine)),
                          static_cast<typename T::value_type>(uniform(engine)));
        }
    });
    return bytes;
}

// Returns the largest difference to results of the CPU, relative to the largest value.
template <class Real>
double difference(const std::vector<char>& got, const Volume& want) {
    const auto* const a = reinterpret_cast<const Real*>(got.data());
    const auto* const b = static_cast<const Real*>(want.view().data);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < got.size() / sizeof(Real); ++i) {
        const double error = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (!(error <= worst)) worst = error;
        largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    }
    return worst / largest;
}

// Compares results with those of the CPU, and prints the error of some cases and of wrong ones.
bool report(const char* work, const Case& c, const ChannelizerPlan& plan,
            const std::vector<char>& got, const Volume& want) {
    const bool single = c.precision == Precision::float32;
    const double error = single ? difference<float>(got, want) : difference<double>(got, want);
    const bool good = error < (single ? 3e-6 : 1e-14);
    if (!good || c.channels == 1024)
        std::cout << (good ? "agrees: " : "WRONG: ") << work << " " << c.channels
                  << " channels, step " << c.step << ", " << to_string(c.type) << ", "
                  << plan.method << ": " << error << std::endl;
    return good;
}

bool divides_alike(const Case& c, index_t samples) {
    const index_t numbers = (is_integer(c.type) ? 2 : 1) * samples;
    const ChannelizerOptions options = options_of(c);
    const std::vector<char> signal = random_bytes(c.type, numbers);
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    const Channelizer host(options, c.type, cpu);
    Volume want({1, host.frames(samples, true), host.plan().stored_channels},
                host.plan().frame_type);
    host.execute({signal.data(), c.type, {1, 1, numbers}, contiguous_strides({1, 1, numbers})},
                 want.view());
    const DeviceChannelizer device(options, samples, {0, c.type, 1, true});
    const DeviceBytes from(static_cast<index_t>(signal.size())), to(want.bytes());
    check(cudaMemcpy(from.data(), signal.data(), signal.size(), cudaMemcpyHostToDevice));
    check(cudaMemset(to.data(), 0xff, static_cast<std::size_t>(want.bytes())));
    device.execute(from.data(), to.data());
    std::vector<char> got(static_cast<std::size_t>(want.bytes()));
    check(cudaMemcpy(got.data(), to.data(), got.size(), cudaMemcpyDeviceToHost));
    return report("divided", c, device.plan(), got, want);
}

// Puts random frames of two signals together.
bool joins_alike(const Case& c) {
    const index_t count = 45, signals = 2;
    const ChannelizerOptions options = options_of(c);
    // Any taps will do, and those of prototype_filter() are made quickly.
    const std::vector<double> taps = prototype_filter(c.channels, c.taps);
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    const Synthesizer host(options, c.type, cpu, taps);
    const Shape3 shape{signals, count, host.plan().stored_channels};
    const std::vector<char> frames = random_bytes(host.plan().frame_type, element_count(shape));
    const DeviceSynthesizer device(options, count, {0, c.type, signals, {}, taps});
    Volume want({1, signals, device.samples()}, host.plan().signal_type);
    host.execute({frames.data(), host.plan().frame_type, shape, contiguous_strides(shape)},
                 want.view());
    const DeviceBytes from(static_cast<index_t>(frames.size())), to(want.bytes());
    check(cudaMemcpy(from.data(), frames.data(), frames.size(), cudaMemcpyHostToDevice));
    check(cudaMemset(to.data(), 0xff, static_cast<std::size_t>(want.bytes())));
    device.execute(from.data(), to.data());
    std::vector<char> got(static_cast<std::size_t>(want.bytes()));
    check(cudaMemcpy(got.data(), to.data(), got.size(), cudaMemcpyDeviceToHost));
    return report("joined", c, device.plan(), got, want);
}

// Prints `work` of a case beside a copy of `copied` bytes, of which it reads and writes `bytes`.
template <class Run>
void time_beside_copy(const char* work, const Case& c, index_t samples, index_t copied,
                      index_t bytes, int rounds, const Run& run) {
    const DeviceBytes from(copied), to(copied);
    double copy_s = 1e9, work_s = 1e9;
    for (int round = 0; round <= rounds; ++round) {
        const double a = seconds([&] {
            check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(copied),
                                  cudaMemcpyDeviceToDevice));
        });
        const double b = seconds(run);
        if (round == 0) continue;
        copy_s = std::min(copy_s, a);
        work_s = std::min(work_s, b);
    }
    const double copy_rate = 2 * static_cast<double>(copied) / copy_s;
    const double rate = static_cast<double>(bytes) / work_s;
    std::cout << work << " " << c.channels << "x" << c.taps << " step " << c.step << " "
              << to_string(c.type) << ": " << work_s * 1e3 << " ms, "
              << static_cast<double>(samples) / work_s / 1e9 << " GS/s, " << rate / 1e12
              << " TB/s; copy " << copy_rate / 1e12 << " TB/s; share " << rate / copy_rate
              << std::endl;
}

void time_analysis(const Case& c, index_t samples, int rounds) {
    const DeviceChannelizer channelizer(options_of(c), samples, {0, c.type, 1, false});
    const index_t read =
        samples * static_cast<index_t>(size_of(c.type)) * (is_integer(c.type) ? 2 : 1);
    const index_t written = channelizer.frames() * channelizer.plan().stored_channels *
                            static_cast<index_t>(size_of(channelizer.plan().frame_type));
    const DeviceBytes from(read), to(written);
    check(cudaMemset(from.data(), 0, static_cast<std::size_t>(read)));
    time_beside_copy("divided", c, samples, read, read + written, rounds,
                     [&] { channelizer.execute(from.data(), to.data()); });
}

void time_synthesis(const Case& c, index_t samples, int rounds) {
    const index_t frames = samples / c.step;
    const DeviceSynthesizer synthesizer(
        options_of(c), frames, {0, c.type, 1, samples, prototype_filter(c.channels, c.taps)});
    const index_t read = frames * synthesizer.plan().stored_channels *
                         static_cast<index_t>(size_of(synthesizer.plan().frame_type));
    const index_t written = samples * static_cast<index_t>(size_of(c.type));
    const DeviceBytes from(read), to(written);
    check(cudaMemset(from.data(), 0, static_cast<std::size_t>(read)));
    time_beside_copy("joined", c, samples, written, read + written, rounds,
                     [&] { synthesizer.execute(from.data(), to.data()); });
}

// Times a synthesis with parts of other sizes.
void time_part_sizes(index_t samples, int rounds) {
    const Case c{1024, 16, 1024, PixelType::complex64};
    DeviceSynthesisSpec spec;
    spec.sizes = {c.channels, c.taps, c.step};
    spec.taps = prototype_filter(c.channels, c.taps);
    spec.frames = samples / c.step;
    spec.samples = samples;
    const index_t bytes = samples * static_cast<index_t>(size_of(c.type));
    const DeviceBytes from(bytes), to(bytes);
    check(cudaMemset(from.data(), 0, static_cast<std::size_t>(bytes)));
    for (const index_t mib : {8, 32, 64, 128, 256, 512}) {
        spec.part_bytes = mib << 20;
        const auto program = require_gpu_backend().make_device_synthesis_program(spec);
        time_beside_copy(("parts of " + std::to_string(mib) + " MiB,").c_str(), c, samples, bytes,
                         2 * bytes, rounds, [&] { program->run(from.data(), to.data(), nullptr); });
    }
}

int check_cases(bool analysis, bool synthesis) {
    int wrong = 0, cases = 0;
    for (const index_t channels : {256, 512, 1024, 2048, 4096, 8192, 16384, 1000, 96, 32768})
        for (const auto& [type, precision] : {std::pair{PixelType::complex64, Precision::float32},
                                              std::pair{PixelType::float32, Precision::float32},
                                              std::pair{PixelType::int16, Precision::float32},
                                              std::pair{PixelType::int8, Precision::float32},
                                              std::pair{PixelType::complex128, Precision::float64},
                                              std::pair{PixelType::float64, Precision::float64}})
            for (const index_t step : {channels, channels / 4 * 3, channels / 2}) {
                const Case c{channels, 5, step, type, precision};
                cases += analysis ? 1 : 0;
                if (analysis && !divides_alike(c, 60 * channels + 777)) ++wrong;
                // Long signals take another CUDA kernel (walk_frames).
                if (analysis && step == channels && channels <= 1024 &&
                    precision == Precision::float32) {
                    ++cases;
                    if (!divides_alike(c, (1 << 24) + 777)) ++wrong;
                }
                if (!synthesis || is_integer(type)) continue;
                ++cases;
                if (!joins_alike(c)) ++wrong;
            }
    std::cout << wrong << " of " << cases << " cases are wrong\n";
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    const index_t samples = index_t{1} << (argc > 1 ? std::atoi(argv[1]) : 26);
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    const std::string only = argc > 3 ? argv[3] : "";
    const bool analysis = only != "synthesis", synthesis = only != "analysis";
    const int wrong = check_cases(analysis, synthesis);
    const auto time_case = [&](const Case& c) {
        if (analysis) time_analysis(c, samples, rounds);
        if (synthesis && !is_integer(c.type)) time_synthesis(c, samples, rounds);
    };
    for (const index_t channels : {256, 512, 1024, 2048, 4096, 8192, 16384, 1000, 65536})
        time_case({channels, 16, channels, PixelType::complex64});
    time_case({1024, 8, 1024, PixelType::complex64});
    time_case({1024, 16, 768, PixelType::complex64});
    time_case({1024, 16, 512, PixelType::complex64});
    time_case({1024, 16, 1024, PixelType::float32});
    time_case({1024, 16, 1024, PixelType::int16});
    time_case({1024, 16, 1024, PixelType::int8});
    time_case({1024, 16, 768, PixelType::complex128, Precision::float64});
    if (synthesis) time_part_sizes(samples, rounds);
    return wrong == 0 ? 0 : 1;
}
