// SPDX-License-Identifier: Apache-2.0
// Transforms of every library, kind, precision and layout agree with reference transforms. Lengths
// with large prime factors are among them, which own transforms compute by chirps.

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/fftw.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_fft.hpp"

using namespace convolume;
using namespace convolume::cpu;
using namespace convolume::testing;

namespace {

constexpr TransformKind all_kinds[] = {TransformKind::forward, TransformKind::inverse,
                                       TransformKind::real_forward, TransformKind::real_inverse};
// Lengths that plans choose, odd and prime ones, powers of large primes, and products of them.
constexpr index_t all_lengths[] = {1,   2,   3,   4,   5,   7,   8,   11,   13,   15,   16,
                                   17,  22,  26,  34,  48,  61,  64,  97,   105,  121,  127,
                                   128, 143, 169, 257, 289, 360, 512, 1009, 1024, 2310, 4098};

std::vector<FftLibrary> libraries() {
    std::vector<FftLibrary> all{FftLibrary::automatic, FftLibrary::own};
    if (has_fftw()) all.push_back(FftLibrary::fftw);
    return all;
}

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

/// A set of transforms of one kind: its layout, its input, and the results that are expected.
template <class Real>
struct TransformCase {
    using Complex = std::complex<Real>;

    TransformKind kind;
    TransformBatch batch{};
    std::vector<Real> real;        ///< real samples: the input or the output
    std::vector<Complex> in, out;  ///< complex samples
    std::vector<std::vector<std::complex<double>>> expected;

    bool is_real_in() const { return kind == TransformKind::real_forward; }
    bool is_real_out() const { return kind == TransformKind::real_inverse; }
    index_t bins() const { return batch.length / 2 + 1; }

    TransformCase(TransformKind of_kind, index_t length, index_t count, Random& random)
        : kind(of_kind) {
        batch.length = length;
        const index_t reads = is_real_out() ? bins() : length;
        const index_t writes = is_real_in() ? bins() : length;
        const bool is_columns = random.integer(0, 1) == 1;
        const index_t in_gap = random.integer(0, 3), out_gap = random.integer(0, 3);
        batch = is_columns ? TransformBatch{length, count, count + in_gap, 1, count + out_gap, 1}
                           : TransformBatch{length, count, 1, reads + in_gap, 1, writes + out_gap};
        const auto size = [&](index_t samples, index_t stride, index_t distance) {
            return at((samples - 1) * stride + (count - 1) * distance + 1);
        };
        const std::size_t in_size = size(reads, batch.in_stride, batch.in_distance);
        const std::size_t out_size = size(writes, batch.out_stride, batch.out_distance);
        real.assign(is_real_in() ? in_size : is_real_out() ? out_size : 0, Real{});
        if (!is_real_in()) in.assign(in_size, Complex{});
        if (!is_real_out()) out.assign(out_size, Complex{});
        for (index_t i = 0; i < count; ++i) fill(i, random);
    }

    void execute(const FftPlan<Real>& plan) {
        if (is_real_in())
            plan.execute(real.data(), out.data());
        else if (is_real_out())
            plan.execute(in.data(), real.data());
        else
            plan.execute(in.data(), out.data());
    }

    void* input() { return is_real_in() ? static_cast<void*>(real.data()) : in.data(); }
    void* output() { return is_real_out() ? static_cast<void*>(real.data()) : out.data(); }

    /// Returns the relative L2 error of all results.
    double error() const {
        double difference = 0, norm = 0;
        for (index_t i = 0; i < batch.count; ++i)
            for (index_t k = 0; k < (is_real_in() ? bins() : batch.length); ++k) {
                const std::size_t place = at(i * batch.out_distance + k * batch.out_stride);
                const std::complex<double> got =
                    is_real_out() ? std::complex<double>(real[place])
                                  : std::complex<double>(out[place].real(), out[place].imag());
                difference += std::norm(got - expected[at(i)][at(k)]);
                norm += std::norm(expected[at(i)][at(k)]);
            }
        return std::sqrt(difference / norm);
    }

  private:
    void fill(index_t i, Random& random) {
        const index_t length = batch.length;
        std::vector<std::complex<double>> signal(at(length));
        for (index_t n = 0; n < length; ++n) {
            const auto re = static_cast<Real>(2 * random.uniform() - 1);
            const auto im = is_real_in() ? Real{} : static_cast<Real>(2 * random.uniform() - 1);
            signal[at(n)] = {re, im};
        }
        if (is_real_out()) {  // the spectrum of a real signal
            signal[0] = signal[0].real();
            for (index_t k = 1; k < length; ++k)
                if (2 * k == length)
                    signal[at(k)] = signal[at(k)].real();
                else if (2 * k > length)
                    signal[at(k)] = std::conj(signal[at(length - k)]);
        }
        for (index_t n = 0; n < (is_real_out() ? bins() : length); ++n) {
            const std::size_t place = at(i * batch.in_distance + n * batch.in_stride);
            const std::complex<double> x = signal[at(n)];
            if (is_real_in())
                real[place] = static_cast<Real>(x.real());
            else
                in[place] = {static_cast<Real>(x.real()), static_cast<Real>(x.imag())};
        }
        const bool inverse = kind == TransformKind::inverse || is_real_out();
        expected.push_back(reference_transform(signal, inverse ? inverse_sign : forward_sign));
    }
};

/// A few ulps, growing slowly with the length. Chirps have three transforms of twice the length.
template <class Real>
double tolerance(index_t length) {
    const double ulp = sizeof(Real) == sizeof(float) ? 6e-8 : 1.2e-16;
    return 4 * ulp * (3 + std::log2(static_cast<double>(length) + 1));
}

}  // namespace

TEMPLATE_TEST_CASE("transforms of every library agree with reference transforms", "", float,
                   double) {
    Random random(test_seed("fft plans"));
    for (const FftLibrary library : libraries())
        for (const TransformKind kind : all_kinds)
            for (const index_t length : all_lengths) {
                const index_t count = random.integer(1, 5);
                TransformCase<TestType> one(kind, length, count, random);
                // Plans are made on other arrays, since FFTW overwrites them.
                TransformCase<TestType> planned = one;
                const FftPlan<TestType> plan(one.batch, kind, planned.input(), planned.output(),
                                             {library});
                one.execute(plan);
                INFO(to_string(library) << ", kind " << static_cast<int>(kind) << ", " << count
                                        << " of length " << length);
                CHECK(one.error() <= tolerance<TestType>(length));
            }
}

TEST_CASE("transforms may overwrite their input with the result") {
    Random random(test_seed("fft in place"));
    for (const FftLibrary library : libraries())
        for (const index_t length : {12, 61, 96}) {
            TransformCase<double> one(TransformKind::forward, length, 3, random);
            one.batch.out_stride = one.batch.in_stride;
            one.batch.out_distance = one.batch.in_distance;
            std::vector<std::complex<double>> planned(one.in.size());
            const FftPlan<double> plan(one.batch, TransformKind::forward, planned.data(),
                                       planned.data(), {library});
            plan.execute(one.in.data(), one.in.data());
            one.out = one.in;
            INFO(to_string(library) << ", length " << length);
            CHECK(one.error() <= tolerance<double>(length));
        }
}

TEST_CASE("several threads may execute one plan of transforms") {
    Random random(test_seed("fft threads"));
    for (const FftLibrary library : libraries())
        for (const index_t length : {97, 480}) {
            const TransformCase<float> one(TransformKind::real_forward, length, 4, random);
            TransformCase<float> planned = one;
            const FftPlan<float> plan(one.batch, one.kind, planned.input(), planned.output(),
                                      {library});
            std::atomic<int> right{0};
            {
                std::vector<std::jthread> threads;
                for (int t = 0; t < 8; ++t)
                    threads.emplace_back([&] {
                        for (int round = 0; round < 20; ++round) {
                            TransformCase<float> own = one;  // its input may be destroyed
                            own.execute(plan);
                            if (own.error() <= tolerance<float>(length)) ++right;
                        }
                    });
            }
            CHECK(right == 8 * 20);
        }
}

TEST_CASE("builds without FFTW refuse it") {
    if (has_fftw()) SKIP("this build has FFTW");
    CHECK(fftw_version().empty());
    CHECK_THROWS_AS(require_fftw(), Unavailable);
    CHECK_THROWS_AS(FftPlan<float>({8, 1, 1, 8, 1, 8}, TransformKind::forward, nullptr, nullptr,
                                   {FftLibrary::fftw}),
                    Unavailable);
}

TEST_CASE("own transforms never need FFTW, and FFTW is used where it is forced") {
    std::vector<std::complex<float>> memory(64);
    for (const index_t length : {32, 61}) {
        const TransformBatch one{length, 1, 1, length, 1, length};
        const auto uses_fftw = [&](FftLibrary library) {
            return FftPlan<float>(one, TransformKind::forward, memory.data(), memory.data(),
                                  {library})
                .uses_fftw();
        };
        CHECK_FALSE(uses_fftw(FftLibrary::own));
        if (has_fftw()) CHECK(uses_fftw(FftLibrary::fftw));
        if (!has_fftw()) CHECK_FALSE(uses_fftw(FftLibrary::automatic));
    }
}
