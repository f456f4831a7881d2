// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels of polyphase filter banks on the host, and compares with sums and
// transforms in double precision.

#include <cstring>
#include <limits>

#include "convolume/error.hpp"
#include "gpu/fft/plan.hpp"
#include "gpu/signals/channel_kernel.hpp"
#include "gpu/signals/channel_walk.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"

namespace convolume::gpu {

namespace {

struct ChannelCase {
    int channels, step, terms;
    index_t first, samples, signals;
    ChannelInput input;
};

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

// Samples in memory, and what they mean.
template <class Real>
struct StoredSignals {
    std::vector<char> bytes;
    Signal meant;

    explicit StoredSignals(const ChannelCase& c) {
        const auto numbers = random_samples<std::complex<double>>(c.signals * c.samples, 3);
        for (const std::complex<double> x : numbers) switch (c.input) {
                case ChannelInput::real:
                    meant.push_back(append(static_cast<Real>(x.real())));
                    break;
                case ChannelInput::complex: {
                    const double re = append(static_cast<Real>(x.real()));
                    meant.emplace_back(re, append(static_cast<Real>(x.imag())));
                    break;
                }
                case ChannelInput::pairs8: {
                    const double re = append(static_cast<signed char>(128 * x.real()));
                    meant.emplace_back(re, append(static_cast<signed char>(128 * x.imag())));
                    break;
                }
                case ChannelInput::pairs16: {
                    const double re = append(static_cast<short>(32768 * x.real()));
                    meant.emplace_back(re, append(static_cast<short>(32768 * x.imag())));
                    break;
                }
            }
    }

  private:
    template <class T>
    double append(T value) {
        const auto* const from = reinterpret_cast<const char*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof value);
        return static_cast<double>(value);
    }
};

template <class Real>
ChannelJob<Real> job_of(const ChannelCase& c, const StoredSignals<Real>& signals,
                        const std::vector<Real>& backward) {
    ChannelJob<Real> job;
    job.source = signals.bytes.data();
    job.input = c.input;
    job.source_stride = job.samples = c.samples;
    job.taps = backward.data();
    job.frames = ceil_div(c.samples - c.first, c.step) + 1;
    job.first = c.first;
    job.channels = c.channels;
    job.step = c.step;
    job.terms = c.terms;
    job.stored = c.input == ChannelInput::real ? c.channels / 2 + 1 : c.channels;
    return job;
}

// The sums of a frame by phase.
template <class Real>
Signal phase_sums(const ChannelCase& c, const StoredSignals<Real>& signals,
                  const std::vector<Real>& backward, index_t signal, index_t frame) {
    Signal sums(at(c.channels));
    const index_t taps = static_cast<index_t>(backward.size());
    for (index_t i = 0; i < taps; ++i) {
        const index_t t = c.first + frame * c.step - taps + 1 + i;
        if (t >= 0 && t < c.samples)
            sums[at(t % c.channels)] +=
                static_cast<double>(backward[at(i)]) * signals.meant[at(signal * c.samples + t)];
    }
    return sums;
}

template <class Real>
double bound() {
    return sizeof(Real) == 4 ? 1e-6 : 1e-14;
}

// Signals, and what CUDA kernels need to divide them into N channels.
template <class Real, int N>
struct FrameProblem {
    explicit FrameProblem(const ChannelCase& c)
        : signals(c),
          backward(random_samples<Real>(index_t{N} * c.terms, 4)),
          twiddles(plan_twiddles<Real>(ChannelShape<Real, N>::plan)),
          job(job_of(c, signals, backward)) {
        job.twiddles = twiddles.data();
        job.target_row = job.stored + 1;
    }

    /// Runs `body` in thread blocks of a shape, each thread with the job, and returns the frames.
    template <class Shape, class Body>
    std::vector<std::complex<Real>> frames_of(index_t signal_count, index_t blocks,
                                              const Body& body) {
        auto frames = poisoned<std::complex<Real>>(signal_count * job.frames * job.target_row);
        job.target = frames.data();
        run_on_host(blocks, Shape::threads, Shape::shared_bytes,
                    [&](const HostBlock& block) { body(HostSegmentBlock(block), job); });
        return frames;
    }

    std::vector<std::complex<Real>> frames(index_t signal_count) {
        using Shape = ChannelShape<Real, N>;
        job.groups = ceil_div(job.frames, Shape::frames);
        return frames_of<Shape>(
            signal_count, signal_count * job.groups,
            [](const auto& block, const auto& own) { channelize_frames<Shape>(block, own); });
    }

    std::vector<std::complex<Real>> frames_of_walks(index_t signal_count, index_t blocks) {
        using Shape = ChannelWalkShape<Real, N>;
        job.groups = ceil_div(job.frames, Shape::batch);
        job.all_groups = signal_count * job.groups;
        return frames_of<Shape>(signal_count, blocks, [](const auto& block, const auto& own) {
            walk_frames<Shape>(block, own);
        });
    }

    StoredSignals<Real> signals;
    std::vector<Real> backward;
    std::vector<Complex<Real>> twiddles;
    ChannelJob<Real> job;
};

std::string text_of(const ChannelCase& c) {
    return message(c.signals, " signals, ", c.channels, " channels, step ", c.step, ", ", c.terms,
                   " terms, first ", c.first, ", ", c.samples, " samples, input ",
                   static_cast<int>(c.input));
}

template <class Real, int N>
void check_frames(const ChannelCase& c) {
    INFO(text_of(c));
    FrameProblem<Real, N> problem(c);
    const auto frames = problem.frames(c.signals);
    const ChannelJob<Real>& job = problem.job;
    const auto& signals = problem.signals;
    const auto& backward = problem.backward;
    for (index_t s = 0; s < c.signals; ++s)
        for (index_t n = 0; n < job.frames; ++n) {
            const Signal want =
                reference_transform(phase_sums(c, signals, backward, s, n), forward_sign);
            const auto* const row = frames.data() + (s * job.frames + n) * job.target_row;
            Difference difference;
            for (index_t k = 0; k < job.stored; ++k)
                difference.add(std::complex<double>(row[k]), want[at(k)]);
            INFO("frame " << n << " of signal " << s);
            CHECK(difference.relative() < bound<Real>());
            // Memory behind the channels is still NaN.
            CHECK(row[job.stored] != row[job.stored]);
        }
}

// Compares every bit, also of NaN.
template <int N>
void check_walks(const ChannelCase& c, std::initializer_list<index_t> block_counts,
                 index_t nan_at = -1) {
    INFO(text_of(c));
    FrameProblem<float, N> problem(c);
    if (nan_at >= 0)
        reinterpret_cast<float*>(problem.signals.bytes.data())[nan_at] =
            std::numeric_limits<float>::quiet_NaN();
    const auto want = problem.frames(c.signals);
    for (const index_t blocks : block_counts) {
        INFO(blocks << " thread blocks");
        const auto got = problem.frames_of_walks(c.signals, blocks);
        CHECK(std::memcmp(got.data(), want.data(), want.size() * sizeof(want[0])) == 0);
    }
}

template <class Real, int N>
void check_frames_of_all_inputs() {
    const index_t samples = index_t{N} * (ChannelShape<Real, N>::frames + 2) + 17;
    for (const auto input :
         {ChannelInput::real, ChannelInput::complex, ChannelInput::pairs8, ChannelInput::pairs16})
        check_frames<Real, N>({N, N, 3, 5, samples, input == ChannelInput::real ? 2 : 1, input});
    check_frames<Real, N>({N, N / 4 * 3, 2, 0, samples / 2, 1, ChannelInput::complex});
}

template <class Real>
void check_sums(const ChannelCase& c) {
    const StoredSignals<Real> signals(c);
    const auto backward = random_samples<Real>(index_t{c.channels} * c.terms, 4);
    ChannelJob<Real> job = job_of(c, signals, backward);
    const bool is_real = c.input == ChannelInput::real;
    job.target_row = c.channels + 1;
    job.groups = ceil_div(job.frames, ChannelSumShape::frames);
    auto sums = poisoned<std::complex<Real>>(c.signals * job.frames * job.target_row);
    job.target = sums.data();
    run_on_host(c.signals * job.groups * ceil_div(c.channels, ChannelSumShape::threads),
                ChannelSumShape::threads, 16,
                [&](const HostBlock& block) { sum_frames<Real>(HostSegmentBlock(block), job); });
    for (index_t s = 0; s < c.signals; ++s)
        for (index_t n = 0; n < job.frames; ++n) {
            const Signal want = phase_sums(c, signals, backward, s, n);
            const index_t row = (s * job.frames + n) * job.target_row;
            Difference difference;
            for (index_t k = 0; k < c.channels; ++k)
                difference.add(is_real ? std::complex<double>(
                                             reinterpret_cast<const Real*>(sums.data())[row + k])
                                       : std::complex<double>(sums[at(row + k)]),
                               want[at(k)]);
            CHECK(difference.relative() < bound<Real>());
        }
}

}  // namespace

TEST_CASE("float frames of one CUDA kernel agree with sums and transforms") {
    check_frames_of_all_inputs<float, 256>();
    check_frames_of_all_inputs<float, 512>();
    check_frames_of_all_inputs<float, 2048>();
}
TEST_CASE("double frames of one CUDA kernel agree with sums and transforms") {
    check_frames_of_all_inputs<double, 256>();
    check_frames_of_all_inputs<double, 1024>();
    check_frames<double, 4096>({4096, 4096, 2, 4095, 15000, 1, ChannelInput::complex});
}
TEST_CASE("frames of thread blocks that walk have the bits of others") {
    for (const auto input :
         {ChannelInput::real, ChannelInput::complex, ChannelInput::pairs8, ChannelInput::pairs16}) {
        // The first frames begin before the signals, and the last ones end behind them.
        check_walks<256>({256, 256, 16, 5, 256 * 26 + 17, 2, input}, {1, 2, 5, 40});
        check_walks<256>({256, 256, 3, 255, 256 * 11, 3, input}, {2, 7});
    }
    // A NaN reaches only the frames whose taps meet it.
    for (const index_t nan_at : {0, 2 * 256 * 9 + 100})
        check_walks<256>({256, 256, 5, 0, 256 * 20, 1, ChannelInput::complex}, {2}, nan_at);
    check_walks<512>({512, 512, 16, 511, 512 * 23, 1, ChannelInput::complex}, {2});
    check_walks<1024>({1024, 1024, 16, 0, 1024 * 22 + 1, 1, ChannelInput::complex}, {2});
}
TEST_CASE("a CUDA kernel sums for any number of channels") {
    check_sums<float>({1000, 1000, 17, 0, 30000, 2, ChannelInput::complex});
    check_sums<float>({300, 225, 3, 299, 5000, 1, ChannelInput::real});
    check_sums<double>({7, 7, 20, 3, 500, 1, ChannelInput::complex});
}

}  // namespace convolume::gpu
