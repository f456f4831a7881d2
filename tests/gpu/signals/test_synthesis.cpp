// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels that put signals together on the host, and compares with direct sums in
// double precision.

#include <algorithm>
#include <random>

#include "convolume/error.hpp"
#include "gpu/signals/synthesis_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"

namespace convolume::gpu {

namespace {

struct SynthesisCase {
    int channels, step, terms;
    index_t first, rows, begin, end;
};

constexpr index_t signals = 2;

std::size_t element(index_t i) {
    return static_cast<std::size_t>(i);
}

template <class Sample>
struct RealOf {
    using Type = Sample;
};
template <class Real>
struct RealOf<std::complex<Real>> {
    using Type = Real;
};

// Rows and taps of a case, and the samples that the CUDA kernel gives.
template <class Sample>
class Synthesis {
  public:
    using Real = typename RealOf<Sample>::Type;
    static constexpr bool complex_data = !std::is_same_v<Real, Sample>;

    explicit Synthesis(const SynthesisCase& c)
        : case_(c),
          row_(c.channels + 1),  // rows need not follow each other
          rows_(random_samples<Sample>(signals * c.rows * row_, 3)),
          taps_(random_samples<Real>(index_t{c.channels} * c.terms, 4)),
          pattern_(synthesis_pattern<Real>(c.channels, c.step, c.terms)) {}

    bool slides() const { return pattern_.slides; }

    // Computes samples begin … end-1 of poisoned signals, of which only rows first … last-1 are in
    // memory. All of them are moved by `turns` turns of M frames, which leaves taps and phases
    // equal.
    std::vector<Sample> run(index_t begin, index_t end, index_t first, index_t last,
                            index_t turns = 0) const {
        const auto in_memory = std::max<index_t>(last - first, 0);
        std::vector<Sample> rows;
        for (index_t s = 0; s < signals; ++s) {
            const auto from = rows_.begin() + (s * case_.rows + first) * row_;
            rows.insert(rows.end(), from, from + in_memory * row_);
        }
        std::vector<Sample> got(element(signals * case_.end + 1), not_a_number());
        SynthesisJob<Real> job;
        job.rows = rows.data();
        job.row = row_;
        job.signal_rows = in_memory;
        const index_t later = turns * case_.channels, samples_later = later * case_.step;
        job.rows_begin = first + later;
        job.rows_end = last + later;
        job.taps = taps_.data();
        job.target = got.data() - samples_later;
        job.target_stride = case_.end;
        job.begin = begin + samples_later;
        job.end = end + samples_later;
        job.blocks = pattern_.blocks(end - begin);
        job.first = case_.first;
        job.channels = case_.channels;
        job.step = case_.step;
        job.terms = case_.terms;
        run_on_host(signals * job.blocks, SynthesisPattern::threads, 16,
                    [&](const HostBlock& block) {
                        const HostSegmentBlock context(block);
                        if (pattern_.slides)
                            join_frames<true, complex_data, Real>(context, job);
                        else
                            join_frames<false, complex_data, Real>(context, job);
                    });
        return got;
    }

    // Returns the sum of the definition.
    std::complex<double> wanted(index_t signal, index_t t) const {
        std::complex<double> sum = 0;
        for (index_t n = 0; n < case_.rows; ++n) {
            const index_t l = case_.first + n * case_.step - t;
            if (l >= 0 && l < static_cast<index_t>(taps_.size()))
                sum += static_cast<double>(taps_[element(l)]) *
                       std::complex<double>(
                           rows_[element((signal * case_.rows + n) * row_ + t % case_.channels)]);
        }
        return sum;
    }

    // Checks samples against the definition; others must be untouched.
    void check() const {
        const std::vector<Sample> got = run(case_.begin, case_.end, 0, case_.rows);
        for (index_t s = 0; s < signals; ++s) {
            Difference difference;
            for (index_t t = 0; t < case_.end; ++t) {
                const Sample sample = got[element(s * case_.end + t)];
                if (t < case_.begin) {
                    REQUIRE(sample != sample);
                    continue;
                }
                difference.add(std::complex<double>(sample), wanted(s, t));
            }
            CHECK(difference.relative() < (sizeof(Real) == 4 ? 2e-6 : 4e-15));
        }
        CHECK(got.back() != got.back());
    }

    // Checks that a part of the samples has the same bits if only those rows are in memory that it
    // depends on.
    void check_part(index_t begin, index_t end) const {
        const auto first_row_from = [&](index_t sample) {  // first row that ends at it or later
            const index_t n = sample - case_.first;
            return std::clamp<index_t>(n > 0 ? ceil_div(n, case_.step) : 0, 0, case_.rows);
        };
        const index_t taps = index_t{case_.channels} * case_.terms;
        const auto whole = run(case_.begin, case_.end, 0, case_.rows);
        const auto part = run(begin, end, first_row_from(begin), first_row_from(end - 1 + taps));
        for (index_t s = 0; s < signals; ++s)
            for (index_t t = begin; t < end; ++t)
                REQUIRE(part[element(s * case_.end + t)] == whole[element(s * case_.end + t)]);
    }

  private:
    static Sample not_a_number() {
        const Real nan = std::numeric_limits<Real>::quiet_NaN();
        if constexpr (complex_data)
            return {nan, nan};
        else
            return nan;
    }

    SynthesisCase case_;
    index_t row_;
    std::vector<Sample> rows_;
    std::vector<Real> taps_;
    SynthesisPattern pattern_;
};

std::string describe(const SynthesisCase& c) {
    return message(c.channels, " channels, step ", c.step, ", ", c.terms, " terms, first ", c.first,
                   ", ", c.rows, " rows, samples ", c.begin, " to ", c.end);
}

template <class Sample>
void check_samples(const SynthesisCase& c, bool slides) {
    INFO(describe(c));
    const Synthesis<Sample> synthesis(c);
    CHECK(synthesis.slides() == slides);
    synthesis.check();
    synthesis.check_part((2 * c.begin + c.end) / 3, (c.begin + 2 * c.end) / 3);
}

template <class Sample>
void check_random_cases(unsigned seed) {
    std::mt19937 engine(seed);
    const auto integer = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(engine);
    };
    int sliding = 0;
    for (int number = 0; number < 40; ++number) {
        SynthesisCase c{};
        c.channels = integer(1, 60);
        // Often a step that has a large divisor in common with the number of channels.
        c.step =
            number % 3 == 0 ? integer(1, c.channels) : std::max(c.channels / 4, 1) * integer(1, 3);
        c.step = std::min(c.step, c.channels);
        c.terms = integer(1, 20);
        c.first = number % 4 == 0 ? 0 : integer(0, 300);
        c.rows = integer(0, 70);
        c.begin = number % 2 == 0 ? 0 : integer(0, 400);
        c.end = c.begin + integer(1, 2500);
        INFO("case " << number << ": " << describe(c));
        const Synthesis<Sample> synthesis(c);
        sliding += synthesis.slides() ? 1 : 0;
        synthesis.check();
        const index_t cut = c.begin + integer(0, static_cast<int>(c.end - c.begin) - 1);
        synthesis.check_part(cut, c.end);
        if (cut > c.begin) synthesis.check_part(c.begin, cut);
    }
    CHECK((sliding > 5 && sliding < 35));
}

template <class Sample>
void check_late_samples(const SynthesisCase& c) {
    const Synthesis<Sample> synthesis(c);
    const auto early = synthesis.run(c.begin, c.end, 0, c.rows);
    const auto late = synthesis.run(c.begin, c.end, 0, c.rows, index_t{1} << 27);
    for (index_t t = c.begin; t < c.end; ++t) REQUIRE(early[element(t)] == late[element(t)]);
}

template <class Real>
void check_copies(int channels) {
    const index_t stored = channels / 2 + 1, frames = 37;
    const auto source = random_samples<std::complex<Real>>(frames * stored, 5);
    auto copies = poisoned<std::complex<Real>>(frames * stored + 1);
    FrameCopyJob<Real> job;
    job.frames = reinterpret_cast<const Complex<Real>*>(source.data());
    job.copies = reinterpret_cast<Complex<Real>*>(copies.data());
    job.values = frames * stored;
    job.channels = channels;
    run_on_host(ceil_div(job.values, SynthesisPattern::threads), SynthesisPattern::threads, 16,
                [&](const HostBlock& block) { copy_frames<Real>(HostSegmentBlock(block), job); });
    for (index_t n = 0; n < frames; ++n)
        for (index_t m = 0; m < stored; ++m) {
            const std::complex<Real> value = source[element(n * stored + m)];
            const bool is_real = m == 0 || 2 * m == channels;
            REQUIRE(copies[element(n * stored + m)] == (is_real ? value.real() : value));
        }
    CHECK(copies.back() != copies.back());
}

}  // namespace

TEST_CASE("a CUDA kernel puts samples of one phase together") {
    check_samples<std::complex<float>>({64, 64, 5, 3, 60, 0, 3700}, true);
    check_samples<std::complex<float>>({64, 48, 16, 0, 90, 128, 5000}, true);
    check_samples<std::complex<double>>({32, 16, 4, 31, 100, 0, 1500}, true);
    check_samples<float>({96, 72, 8, 500, 70, 0, 4600}, true);
    check_samples<double>({1, 1, 7, 0, 300, 0, 310}, true);
}
TEST_CASE("a CUDA kernel puts samples of several phases together") {
    check_samples<std::complex<float>>({50, 37, 3, 12, 80, 5, 3000}, false);
    check_samples<std::complex<double>>({7, 5, 2, 0, 200, 0, 1010}, false);
    check_samples<float>({9, 8, 4, 0, 200, 0, 1700}, false);
}
TEST_CASE("samples of random filter banks agree with sums") {
    check_random_cases<std::complex<float>>(1);
    check_random_cases<std::complex<double>>(2);
    check_random_cases<float>(3);
    check_random_cases<double>(4);
}
TEST_CASE("samples of numbers beyond 32 bits are those of smaller numbers") {
    check_late_samples<std::complex<float>>({64, 48, 16, 0, 90, 1100, 4000});
    check_late_samples<double>({9, 8, 4, 5, 200, 40, 1700});
}
TEST_CASE("samples before the frames and after them are zero") {
    const SynthesisCase c{8, 6, 3, index_t{1} << 60, 10, 0, 300};
    const Synthesis<std::complex<float>> early(c);
    for (index_t t = 0; t < c.end; ++t) CHECK(early.run(0, c.end, 0, c.rows)[element(t)] == 0.0F);
    const Synthesis<double> late({8, 6, 3, 0, 10, 40, 300});
    const auto samples = late.run(40, 300, 0, 10);
    CHECK(samples[54] != 0);
    for (index_t t = 55; t < c.end; ++t) CHECK(samples[element(t)] == 0);
}
TEST_CASE("a CUDA kernel copies frames of real signals") {
    check_copies<float>(64);
    check_copies<double>(9);
    check_copies<float>(1);
}

}  // namespace convolume::gpu
