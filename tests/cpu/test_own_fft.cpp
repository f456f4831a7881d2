// SPDX-License-Identifier: Apache-2.0
// Compares own transforms with transforms in extended precision.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "cpu/fft/own_fft.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_fft.hpp"

using namespace convolume;
using convolume::cpu::OwnFft;
using convolume::cpu::TransformBatch;
using convolume::cpu::TransformKind;

namespace {

using Precise = std::complex<long double>;

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

/// A random signal of numbers that float holds exactly, and its transform.
struct Reference {
    std::vector<Precise> samples, spectrum;

    Reference(index_t length, testing::Random& random) : samples(at(length)) {
        constexpr index_t range = 1 << 20;
        for (Precise& sample : samples)
            sample = Precise(static_cast<long double>(random.integer(-range, range)),
                             static_cast<long double>(random.integer(-range, range))) /
                     static_cast<long double>(range);
        spectrum = testing::extended_transform(samples, testing::forward_sign);
    }

    index_t length() const { return static_cast<index_t>(samples.size()); }
    Precise mirrored(const std::vector<Precise>& x, index_t k) const {
        return x[at((length() - k) % length())];
    }

    // Real transforms are of the real part of the samples, or of their Hermitian part.
    Precise input(TransformKind kind, index_t n) const {
        const Precise x = samples[at(n)];
        if (kind == TransformKind::real_forward) return x.real();
        if (kind == TransformKind::real_inverse)
            return (x + std::conj(mirrored(samples, n))) / 2.0L;
        return x;
    }
    Precise output(TransformKind kind, index_t k) const {
        switch (kind) {
            case TransformKind::forward:
                return spectrum[at(k)];
            case TransformKind::real_forward:
                return (spectrum[at(k)] + std::conj(mirrored(spectrum, k))) / 2.0L;
            case TransformKind::inverse:
                return mirrored(spectrum, k);
            default:
                return mirrored(spectrum, k).real();
        }
    }
};

/// Relative errors as benchfft reports them: of the norm of all results, and of the largest result.
struct RelativeErrors {
    double l2 = 0, largest = 0;
};

template <class Real>
class Check {
  public:
    using Complex = std::complex<Real>;

    Check(const Reference& reference, TransformKind kind, const TransformBatch& batch)
        : reference_(reference), kind_(kind), batch_(batch), fft_(batch, kind) {}

    RelativeErrors out_of_place() const {
        auto in = input();
        auto out =
            filled(real_output() ? 1 : 2, count_of(false), batch_.out_stride, batch_.out_distance);
        const auto before = in;
        run(in.data(), out.data());
        // NaN lies between the samples.
        CHECK(std::equal(in.begin(), in.end(), before.begin(), [](Real a, Real b) {
            return a == b || (std::isnan(a) && std::isnan(b));
        }));
        return errors(out);
    }
    RelativeErrors in_place() const {
        auto data = input();
        data.resize(std::max(data.size(), filled(real_output() ? 1 : 2, count_of(false),
                                                 batch_.out_stride, batch_.out_distance)
                                              .size()));
        run(data.data(), data.data());
        return errors(data);
    }

  private:
    bool real_input() const { return kind_ == TransformKind::real_forward; }
    bool real_output() const { return kind_ == TransformKind::real_inverse; }
    index_t count_of(bool input) const {
        const bool half =
            kind_ == (input ? TransformKind::real_inverse : TransformKind::real_forward);
        return half ? batch_.length / 2 + 1 : batch_.length;
    }
    std::vector<Real> filled(index_t parts, index_t samples, index_t stride,
                             index_t distance) const {
        return std::vector<Real>(
            at(parts * ((samples - 1) * stride + (batch_.count - 1) * distance + 1)),
            std::numeric_limits<Real>::quiet_NaN());
    }
    // Transform t is of the samples times t + 1.
    std::vector<Real> input() const {
        const index_t parts = real_input() ? 1 : 2;
        auto in = filled(parts, count_of(true), batch_.in_stride, batch_.in_distance);
        for (index_t t = 0; t < batch_.count; ++t)
            for (index_t n = 0; n < count_of(true); ++n) {
                const Precise x = reference_.input(kind_, n) * static_cast<long double>(1 + t % 2);
                Real* const to = &in[at(parts * (t * batch_.in_distance + n * batch_.in_stride))];
                to[0] = static_cast<Real>(x.real());
                if (parts == 2) to[1] = static_cast<Real>(x.imag());
            }
        return in;
    }
    void run(Real* in, Real* out) const { fft_.execute(in, out); }
    RelativeErrors errors(const std::vector<Real>& out) const {
        const index_t parts = real_output() ? 1 : 2;
        RelativeErrors worst;
        for (index_t t = 0; t < batch_.count; ++t) {
            long double error = 0, norm = 0, largest_error = 0, largest = 0;
            for (index_t k = 0; k < count_of(false); ++k) {
                const Precise want =
                    reference_.output(kind_, k) * static_cast<long double>(1 + t % 2);
                const Real* const from =
                    &out[at(parts * (t * batch_.out_distance + k * batch_.out_stride))];
                const Precise got(from[0], parts == 2 ? from[1] : 0);
                error += std::norm(got - want);
                norm += std::norm(want);
                // NaN is larger than all.
                if (!(std::abs(got - want) <= largest_error)) largest_error = std::abs(got - want);
                largest = std::max(largest, std::abs(want));
            }
            const auto l2 = static_cast<double>(std::sqrt(error / norm));
            if (!(l2 <= worst.l2)) worst.l2 = l2;
            worst.largest = std::max(worst.largest, static_cast<double>(largest_error / largest));
        }
        return worst;
    }

    const Reference& reference_;
    TransformKind kind_;
    TransformBatch batch_;
    OwnFft<Real> fft_;
};

constexpr TransformKind all_kinds[] = {TransformKind::forward, TransformKind::inverse,
                                       TransformKind::real_forward, TransformKind::real_inverse};

/// Errors of FFTW's transforms of up to 2^18 samples are below these bounds, too.
template <class Real>
constexpr double l2_bound = sizeof(Real) == sizeof(float) ? 3e-7 : 6e-16;

template <class Real>
void check(const RelativeErrors& errors) {
    CHECK(errors.l2 <= l2_bound<Real>);
    CHECK(errors.largest <= 2 * l2_bound<Real>);
}

template <class Real>
void check_rows(const Reference& reference, index_t count) {
    const index_t length = reference.length();
    for (const TransformKind kind : all_kinds) {
        INFO(count << " rows of " << length << ", kind " << static_cast<int>(kind));
        check<Real>(Check<Real>(reference, kind, {length, count, 1, length + 2, 1, length + 3})
                        .out_of_place());
    }
}

}  // namespace

TEST_CASE("own transforms: every length up to 4096 is as exact as FFTW, alone and in batches") {
    testing::Random random(testing::test_seed("own transforms"));
    for (index_t length = 1; length <= 4096; ++length) {
        if (!OwnFft<float>::takes(length)) continue;
        const Reference reference(length, random);
        const index_t count = random.chance(0.3) ? random.integer(2, 40) : 1;
        random.chance(0.5) ? check_rows<float>(reference, count)
                           : check_rows<double>(reference, count);
        random.chance(0.5) ? check_rows<float>(reference, 1) : check_rows<double>(reference, 1);
    }
}

TEST_CASE("own transforms: long rows are as exact as FFTW") {
    testing::Random random(testing::test_seed("long own transforms"));
    for (int i = 0; i < 80; ++i) {
        index_t length = random.integer(4097, i < 76 ? 16384 : 200000);
        while (!OwnFft<float>::takes(length)) ++length;
        const Reference reference(length, random);
        const TransformKind kind = all_kinds[random.integer(0, 3)];
        const TransformBatch one{length, 1, 1, length, 1, length};
        INFO("length " << length << ", kind " << static_cast<int>(kind));
        random.chance(0.5) ? check<float>(Check<float>(reference, kind, one).out_of_place())
                           : check<double>(Check<double>(reference, kind, one).out_of_place());
    }
}

TEMPLATE_TEST_CASE("own transforms: any strides and distances, in place and not", "", float,
                   double) {
    testing::Random random(testing::test_seed("own transforms of strides"));
    for (int i = 0; i < 150; ++i) {
        index_t length = random.integer(1, i % 10 == 0 ? 700 : 70);
        while (!OwnFft<float>::takes(length)) ++length;
        const Reference reference(length, random);
        const index_t count = random.integer(1, 45), gap = random.integer(0, 3);
        const TransformKind kind = all_kinds[random.integer(0, 3)];
        const index_t bins = length + 2;
        const TransformBatch columns{length, count, count + gap, 1, count + 2 * gap, 1};
        const TransformBatch spread{length, count, 2, 2 * bins + gap, 3, 3 * bins};
        const TransformBatch rows_to_columns{length, count, 1, bins, count, 1};
        const bool real =
            kind == TransformKind::real_forward || kind == TransformKind::real_inverse;
        // In place, a complex sample takes as much memory as two real ones.
        const index_t in_parts = kind == TransformKind::real_forward ? 2 : 1;
        const index_t out_parts = kind == TransformKind::real_inverse ? 2 : 1;
        const TransformBatch same_rows{length, count, 1, in_parts * bins, 1, out_parts * bins};
        const TransformBatch same_columns{length, count, count, 1, count, 1};
        INFO(count << " transforms of " << length << ", kind " << static_cast<int>(kind));
        for (const TransformBatch& batch : {columns, spread, rows_to_columns})
            check<TestType>(Check<TestType>(reference, kind, batch).out_of_place());
        check<TestType>(Check<TestType>(reference, kind, same_rows).in_place());
        if (!real) check<TestType>(Check<TestType>(reference, kind, same_columns).in_place());
    }
}

TEST_CASE("own transforms: threads share a set of transforms") {
    testing::Random random(testing::test_seed("own transforms in threads"));
    const Reference reference(1000, random);
    const Check<float> same(reference, TransformKind::forward, {1000, 20, 1, 1000, 1, 1000});
    std::vector<RelativeErrors> errors(4);
    {
        std::vector<std::jthread> threads;
        for (RelativeErrors& own : errors)
            threads.emplace_back([&same, &own] { own = same.in_place(); });
    }
    for (const RelativeErrors& own : errors) check<float>(own);
}

TEST_CASE("own transforms: large primes and empty sets are refused") {
    for (const index_t length : {0, -4, 17, 34, 1009}) {
        CHECK_FALSE(OwnFft<float>::takes(length));
        CHECK_THROWS_AS(OwnFft<float>({length, 1, 1, 1, 1, 1}, TransformKind::forward),
                        InvalidArgument);
    }
    CHECK_THROWS_AS(OwnFft<double>({8, 0, 1, 8, 1, 8}, TransformKind::forward), InvalidArgument);
}
