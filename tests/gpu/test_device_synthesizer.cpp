// SPDX-License-Identifier: Apache-2.0
// Tests synthesis from frames in device memory against its definition in extended precision.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "convolume/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "signals/channel_problem.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_fft.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

struct SynthesisCase {
    ChannelizerOptions options;
    PixelType type = PixelType::complex64;
    index_t frames = 0, signals = 1;
    std::optional<index_t> samples;
    std::vector<double> synthesis_taps;

    DeviceSynthesizerOptions device() const { return {0, type, signals, samples, synthesis_taps}; }
    std::string describe() const {
        return message(options.channels, " channels, step ", options.step, ", ",
                       options.taps_per_channel, " terms, first ", options.first, ", ", signals,
                       " signals of ", frames, " frames, ",
                       samples ? std::to_string(*samples) : "all", " samples, ", to_string(type),
                       ", ", synthesis_taps.size(), " taps given");
    }
};

SynthesisCase random_synthesis(Random& random) {
    SynthesisCase c;
    ChannelizerOptions& options = c.options;
    options.channels = random.chance(0.2) ? random.pick<index_t>({256, 300, 512, 1000, 1024})
                                          : random.integer(1, 80);
    const index_t channels = options.channels;
    options.step = random.chance(0.5) ? random.integer(1, channels)
                                      : std::max<index_t>(channels / 4, 1) * random.integer(1, 4);
    options.step = std::min(options.step, channels);
    options.taps_per_channel = random.integer(1, channels > 100 ? 9 : 20);
    options.first = random.chance(0.5) ? 0 : random.integer(0, 3 * channels);
    options.precision = random.pick({Precision::float32, Precision::float64});
    c.type = sample_type(options.precision, random.chance(0.5));
    c.signals = random.pick<index_t>({1, 1, 2, 5});
    c.frames = random.integer(0, channels > 100 ? 40 : 150);
    if (random.chance(0.7))
        c.samples = random.integer(0, (c.frames + options.taps_per_channel + 2) * channels);
    // The dual prototype of many taps takes long.
    if (channels > 100 || random.chance(0.6)) {
        const index_t taps = channels * options.taps_per_channel;
        for (index_t l = random.chance(0.8) ? taps : random.integer(1, taps); l > 0; --l)
            c.synthesis_taps.push_back(random.uniform() - 0.5);
    }
    return c;
}

// Fills a volume of floating-point or complex numbers with values in [-0.5, 0.5).
void fill(Volume& volume, Random& random) {
    const index_t numbers = element_count(volume.shape()) * (is_complex(volume.type()) ? 2 : 1);
    const bool single =
        volume.type() == PixelType::float32 || volume.type() == PixelType::complex64;
    for (index_t i = 0; i < numbers; ++i) {
        const double value = random.uniform() - 0.5;
        if (single)
            static_cast<float*>(volume.view().data)[i] = static_cast<float>(value);
        else
            static_cast<double*>(volume.view().data)[i] = value;
    }
}

Volume random_frames(const SynthesisCase& c, const ChannelizerPlan& plan, Random& random) {
    Volume frames({c.signals, c.frames, plan.stored_channels}, plan.frame_type);
    fill(frames, random);
    return frames;
}

template <class Real>
std::complex<long double> value_at(const Volume& volume, index_t i) {
    return std::complex<long double>(volume.elements<std::complex<Real>>()[i]);
}
std::complex<long double> value_at(const Volume& volume, index_t i) {
    return volume.type() == PixelType::complex64 ? value_at<float>(volume, i)
                                                 : value_at<double>(volume, i);
}
std::complex<double> sample_at(const Volume& signals, index_t i) {
    switch (signals.type()) {
        case PixelType::float32:
            return static_cast<double>(signals.elements<float>()[i]);
        case PixelType::float64:
            return signals.elements<double>()[i];
        default:
            return std::complex<double>(value_at(signals, i));
    }
}

// Returns the M values Σ_m y[n, m] e^{2πi m j/M} of a frame.
std::vector<std::complex<long double>> transformed(const Volume& frames, index_t frame,
                                                   index_t channels, bool complex_data) {
    const index_t stored = frames.shape().x;
    std::vector<std::complex<long double>> values(static_cast<std::size_t>(channels));
    for (index_t m = 0; m < stored; ++m) {
        std::complex<long double> value = value_at(frames, frame * stored + m);
        if (!complex_data && (m == 0 || 2 * m == channels)) value = value.real();
        values[static_cast<std::size_t>(m)] = value;
        if (!complex_data && m > 0)
            values[static_cast<std::size_t>(channels - m)] = std::conj(value);
    }
    return extended_transform(values, inverse_sign);
}

// Returns the relative difference of all signals to the definition.
double error_of(const SynthesisCase& c, const Volume& frames, const Volume& signals,
                const std::vector<double>& taps) {
    const index_t channels = c.options.channels, samples = signals.shape().x;
    const auto tap_count = static_cast<index_t>(taps.size());
    double error = 0, norm = 0;
    for (index_t s = 0; s < c.signals; ++s) {
        std::vector<std::complex<long double>> wanted(static_cast<std::size_t>(samples));
        for (index_t n = 0; n < c.frames; ++n) {
            const auto row =
                transformed(frames, s * c.frames + n, channels, is_complex(signals.type()));
            for (index_t l = 0; l < tap_count; ++l) {
                const index_t t = c.options.first + n * c.options.step - l;
                if (t >= 0 && t < samples)
                    wanted[static_cast<std::size_t>(t)] +=
                        static_cast<long double>(taps[static_cast<std::size_t>(l)]) *
                        row[static_cast<std::size_t>(t % channels)];
            }
        }
        for (index_t t = 0; t < samples; ++t) {
            const auto want = std::complex<double>(wanted[static_cast<std::size_t>(t)]);
            error += std::norm(sample_at(signals, s * samples + t) - want);
            norm += std::norm(want);
        }
    }
    return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}

// Executes `run(frames, signals, stream)` into poisoned memory and returns the signals. Fails if
// bytes behind them are written.
template <class Run>
Volume executed(const Volume& frames, const Shape3& shape, PixelType type, const Run& run) {
    const gpu::DeviceMemory source = on_device(frames);
    constexpr index_t guard = 64;
    Volume signals(shape, type), all({1, 1, signals.bytes() + guard}, PixelType::uint8);
    std::memset(all.view().data, 0xff, static_cast<std::size_t>(all.bytes()));
    const gpu::DeviceMemory target = on_device(all);
    const gpu::CudaStream stream;
    run(source.data(), target.data(), static_cast<cudaStream_t>(stream));
    stream.wait();
    all = fetched(target, all.shape(), PixelType::uint8);
    const auto* const bytes = all.elements<unsigned char>();
    REQUIRE(std::all_of(bytes + signals.bytes(), bytes + all.bytes(),
                        [](unsigned char byte) { return byte == 0xff; }));
    if (signals.bytes() > 0)
        std::memcpy(signals.view().data, bytes, static_cast<std::size_t>(signals.bytes()));
    return signals;
}

Volume executed(const DeviceSynthesizer& synthesizer, const SynthesisCase& c,
                const Volume& frames) {
    return executed(frames, {1, c.signals, synthesizer.samples()}, synthesizer.plan().signal_type,
                    [&](const void* source, void* target, cudaStream_t stream) {
                        synthesizer.execute(source, target, stream);
                    });
}

bool same_bits(const Volume& a, const Volume& b) {
    return a.bytes() == b.bytes() &&
           (a.bytes() == 0 ||
            std::memcmp(a.view().data, b.view().data, static_cast<std::size_t>(a.bytes())) == 0);
}

std::vector<double> padded_taps(const SynthesisCase& c) {
    const ChannelProblem problem = resolve_channels(c.options, c.type);
    return synthesis_taps_of(problem, c.synthesis_taps).taps;
}

}  // namespace

TEST_CASE("device synthesizer: every number of channels, step, type and batch agrees", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("synthesis on device memory");
    for (std::uint64_t number = 0; number < case_count(150); ++number) {
        Random random(seed, number);
        const SynthesisCase c = random_synthesis(random);
        INFO("case " << number << ": " << c.describe());
        const DeviceSynthesizer synthesizer(c.options, c.frames, c.device());
        const Volume frames = random_frames(c, synthesizer.plan(), random);
        const Volume first = executed(synthesizer, c, frames);
        const double bound = c.options.precision == Precision::float32 ? 1e-6 : 4e-15;
        CHECK(error_of(c, frames, first, padded_taps(c)) < bound);
        CHECK(same_bits(first, executed(synthesizer, c, frames)));
    }
}

TEST_CASE("device synthesizer: samples have the same bits whatever the size of parts", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("parts of a synthesis");
    for (std::uint64_t number = 0; number < case_count(40); ++number) {
        Random random(seed, number);
        SynthesisCase c = random_synthesis(random);
        c.frames = random.integer(100, 800);
        const ChannelProblem problem = resolve_channels(c.options, c.type);
        const index_t samples =
            c.samples.value_or(std::max<index_t>(0, problem.spec.first_sample(c.frames)));
        const Volume frames = random_frames(c, problem.plan("", ""), random);
        DeviceSynthesisSpec spec{0, problem.spec, padded_taps(c), c.signals, c.frames, samples};
        INFO("case " << number << ": " << c.describe());
        const auto run = [&] {
            const auto program = gpu::make_device_synthesis_program(spec);
            return executed(frames, {1, c.signals, samples}, problem.spec.signal_type(),
                            [&](const void* source, void* target, cudaStream_t stream) {
                                program->run(source, target, stream);
                            });
        };
        const Volume whole = run();
        for (const index_t bytes : {index_t{1}, index_t{1} << 16, index_t{1} << 18}) {
            spec.part_bytes = bytes;
            CHECK(same_bits(whole, run()));
        }
    }
}

TEST_CASE("device synthesizer: long signals are reconstructed, as by the CPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("reconstruction in device memory"));
    const index_t samples = index_t{1} << 20;
    for (const PixelType type :
         {PixelType::complex64, PixelType::float32, PixelType::complex128, PixelType::float64})
        for (const auto& [channels, step] :
             {std::pair<index_t, index_t>{1024, 768}, {512, 384}, {1000, 450}}) {
            ChannelizerOptions options;
            options.channels = channels;
            options.step = step;
            options.taps_per_channel = 4;
            options.precision = type == PixelType::complex64 || type == PixelType::float32
                                    ? Precision::float32
                                    : Precision::float64;
            INFO(channels << " channels, step " << step << ", " << to_string(type));
            const Channelizer channelizer(options, type);
            const Synthesizer host(options, type);
            SynthesisCase c{options, type, channelizer.frames(samples, true), 1, samples, {}};
            Volume signal({1, 1, samples}, type), wanted({1, 1, samples}, type);
            fill(signal, random);
            Volume frames({1, c.frames, channelizer.plan().stored_channels},
                          channelizer.plan().frame_type);
            channelizer.execute(signal.view(), frames.view());
            host.execute(frames.view(), wanted.view());
            const DeviceSynthesizer synthesizer(options, c.frames, c.device());
            CHECK(synthesizer.error() == host.error());
            CHECK(synthesizer.device_bytes() > 0);
            const Volume got = executed(synthesizer, c, frames);
            double to_host = 0, to_signal = 0;
            for (index_t t = 0; t < samples; ++t) {
                to_host = std::max(to_host, std::abs(sample_at(got, t) - sample_at(wanted, t)));
                to_signal = std::max(to_signal, std::abs(sample_at(got, t) - sample_at(signal, t)));
            }
            const bool single = options.precision == Precision::float32;
            CHECK(to_host < (single ? 2e-5 : 1e-13));
            if (channels > 2 * step - 1) CHECK(to_signal < (single ? 2e-5 : 1e-9));
        }
}

TEST_CASE("device synthesizer: what cannot be done is refused in a sentence", "[gpu]") {
    NEEDS_GPU();
    ChannelizerOptions options;
    options.channels = 8;
    const auto refusal = [&](index_t frames, const DeviceSynthesizerOptions& device) {
        return message_of<InvalidArgument>([&] { DeviceSynthesizer(options, frames, device); });
    };
    CHECK(contains(refusal(10, {0, PixelType::complex128}), "choose complex64"));
    CHECK(contains(refusal(10, {0, PixelType::int16}), "choose float32"));
    CHECK(contains(refusal(-1, {}), "-1 frames"));
    CHECK(contains(refusal(1, {0, PixelType::complex64, 0}), "0 signals"));
    CHECK(
        contains(refusal(1, {0, PixelType::complex64, 1, {}, std::vector<double>(65)}), "65 taps"));
    CHECK(contains(refusal(index_t{1} << 60, {}), "does not fit 64 bits"));
    const DeviceSynthesizer synthesizer(options, 10, {.samples = 20});
    CHECK(synthesizer.samples() == 20);
    CHECK(contains(message_of<InvalidArgument>([&] { synthesizer.execute(nullptr, nullptr); }),
                   "the frames point to no memory"));
    DeviceSynthesizer moved(options, 3);
    moved = DeviceSynthesizer(options, 100);
    CHECK(moved.samples() == Synthesizer(options).samples(100));
}
