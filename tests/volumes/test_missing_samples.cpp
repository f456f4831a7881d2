// SPDX-License-Identifier: Apache-2.0
// Tests normalized convolution, which leaves out NaN and infinities, against its definition.

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/streams.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Returns a real case whose kernel has positive samples, in a convolution or a correlation.
ConvolverCase real_case(std::uint64_t seed, std::uint64_t number) {
    ConvolverCase c = random_convolver_case(seed, number, 5e4);
    if (c.options.operation == Operation::adjoint) {
        c.options.operation = Operation::convolve;
        Random random(seed, number);
        c.image = random.array(c.image_shape, false);
    }
    for (Complex& tap : c.kernel.values) tap = 0.1 + std::abs(tap.real());
    for (Complex& sample : c.image.values) sample = sample.real() + 5;
    c.image_type = pixel_type(c.options.precision, false);
    c.options.normalization = KernelNormalization::none;
    c.options.nan = NanPolicy::missing;
    return c;
}

// Sets a fifth of the samples, and half of the rows, to NaN or infinity. Returns the mask.
Array take_away(Array& image, Random& random) {
    Array mask(image.shape);
    for (std::size_t i = 0; i < image.values.size(); ++i) {
        const bool is_row_missing = static_cast<index_t>(i) / image.shape.x % 4 >= 2;
        const bool is_there = !is_row_missing && random.uniform() > 0.2;
        mask.values[i] = is_there ? 1 : 0;
        if (!is_there) image.values[i] = i % 3 == 0 ? std::numeric_limits<double>::infinity() : nan;
    }
    return mask;
}

// Returns Σh · (h * (m x)) / (h * m), where samples beyond the edges are those of the boundary.
Array expected_of(const ConvolverCase& c, const Array& mask) {
    ConvolverCase sums = c, weights = c;
    sums.options.nan = weights.options.nan = NanPolicy::error;
    weights.image = mask;
    for (std::size_t i = 0; i < mask.values.size(); ++i)
        if (mask.values[i] == 0.0) sums.image.values[i] = 0;
    Boundary& beyond = weights.options.boundary;
    if (beyond.kind == BoundaryKind::zero || beyond.kind == BoundaryKind::constant)
        beyond = {BoundaryKind::constant, 1};
    Complex sum = 0;
    for (const Complex& tap : c.kernel.values) sum += tap;
    Array result = sums.expected();
    const Array parts = weights.expected();
    for (std::size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = parts.values[i].real() > 1e-9 * sum.real()
                               ? result.values[i] * sum / parts.values[i]
                               : Complex(nan);
    return result;
}

// Returns whether results are near, and NaN in the same places.
bool agrees(const Array& result, const Array& wanted, double tolerance) {
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
        const double one = result.values[i].real(), other = wanted.values[i].real();
        if (std::isnan(one) != std::isnan(other)) return false;
        if (!std::isnan(one) && std::abs(one - other) > tolerance * (1 + std::abs(other)))
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("missing samples are left out in every mode, boundary and method") {
    const std::uint64_t seed = test_seed("missing samples");
    const EngineList engines = cpu_engines(2);
    for (std::uint64_t number = 0; number < 240; ++number) {
        Random random(seed, number + 1000);
        ConvolverCase c = real_case(seed, number);
        const Array mask = take_away(c.image, random);
        const Array wanted = expected_of(c, mask);
        INFO("case " << number << ": " << c.describe());
        const double tolerance = c.options.precision == Precision::float64 ? 1e-10 : 1e-3;
        CHECK(agrees(result_of(c, engines), wanted, tolerance));

        Options options = c.options;
        options.streamed = true;
        const Volume kernel = to_volume(c.kernel, c.kernel_type());
        const Volume image = to_volume(c.image, c.image_type);
        const Convolver convolver = ConvolverFactory::make(image.shape(), kernel.view(), options,
                                                           engines, c.image_type, c.output_type());
        TestSource source({&image});
        TestSink sink({convolver.output_shape(), c.output_type()});
        const ExecutionReport report = convolver.execute(source, sink);
        index_t missing = 0;
        for (const Complex& sample : mask.values) missing += sample == 0.0;
        CHECK(report.nonfinite_inputs == missing);
        CHECK(agrees(to_array(sink.volume(0).view()), wanted, tolerance));
    }
}

TEST_CASE("images without missing samples are convolved as always") {
    Random random(test_seed("no missing samples"));
    Options options;
    ConvolverCase c = make_case(random, {9, 10, 11}, {3, 3, 3}, options);
    for (Complex& tap : c.kernel.values) tap = std::abs(tap.real());
    const Array usual = result_of(c, cpu_engines());
    c.options.nan = NanPolicy::missing;
    CHECK(result_of(c, cpu_engines()).values == usual.values);
}

TEST_CASE("missing samples are refused where they have no meaning") {
    Random random(test_seed("refused missing samples"));
    const auto error_of = [&](const auto& change) {
        ConvolverCase c = make_case(random, {4, 5, 6}, {1, 3, 3});
        c.options.nan = NanPolicy::missing;
        change(c);
        return message_of<InvalidArgument>([&] { result_of(c, cpu_engines()); });
    };
    CHECK(contains(error_of([](ConvolverCase& c) { c.options.operation = Operation::adjoint; }),
                   "an adjoint has no missing samples"));
    CHECK(contains(error_of([](ConvolverCase& c) { c.image_type = PixelType::complex64; }),
                   "real images and kernels only"));
    CHECK(contains(error_of([](ConvolverCase& c) {
                       for (std::size_t i = 0; i < 9; ++i) c.kernel.values[i] = i == 4 ? 8.0 : -1.0;
                   }),
                   "the kernel's sum is 0"));
}
