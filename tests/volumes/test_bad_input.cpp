// SPDX-License-Identifier: Apache-2.0
// Tests which input is refused, and how the message names the cause.

#include <cmath>
#include <limits>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const double nan_value = std::nan("");
const double infinity = std::numeric_limits<double>::infinity();

/// Returns the error message of constructing (and, if that succeeds, executing) a case.
template <class E>
std::string refusal(const ConvolverCase& c) {
    return message_of<E>([&] { result_of(c, cpu_engines()); });
}

}  // namespace

TEST_CASE("kernels of zeros or with NaN are bad data") {
    Random random(test_seed("bad kernels"));
    ConvolverCase c = make_case(random, {5, 6, 7}, {2, 3, 4});
    const Array good = c.kernel;
    c.kernel = Array(good.shape);
    CHECK(contains(refusal<BadData>(c), "zero"));
    for (const double bad : {nan_value, infinity, -infinity}) {
        c.kernel = good;
        c.kernel(1, 0, 2) = bad;
        const std::string text = refusal<BadData>(c);
        INFO(text);
        CHECK(contains(text, "kernel"));
        CHECK(contains(text, "1"));
        for (const NanPolicy policy : {NanPolicy::zero, NanPolicy::propagate}) {
            c.options.nan = policy;  // the policy applies to the image only
            CHECK_THROWS_AS(result_of(c, cpu_engines()), BadData);
        }
        c.options.nan = NanPolicy::error;
    }
    // A kernel that sums to zero cannot be normalized by its sum.
    c.kernel = good;
    c.kernel = Array({1, 1, 2});
    c.kernel(0, 0, 0) = 1;
    c.kernel(0, 0, 1) = -1;
    CHECK_NOTHROW(result_of(c, cpu_engines()));
    c.options.normalization = KernelNormalization::sum;
    CHECK(contains(refusal<BadData>(c), "sum"));
}

TEST_CASE("kernels whose sum is a rounding error, or that float32 cannot hold, are bad data") {
    // A second derivative whose float32 samples sum to about 1e-8 instead of 0.
    Volume derivative({1, 1, 3}, PixelType::float32);
    float* const taps = derivative.elements<float>();
    taps[0] = 1.0F / 3;
    taps[1] = -2.0F / 3;
    taps[2] = 1.0F / 3 + 3e-8F;
    Options options;
    options.normalization = KernelNormalization::sum;
    CHECK_THROWS_AS(ConvolverFactory::make({4, 5, 6}, derivative.view(), options, cpu_engines()),
                    BadData);
    options.normalization = KernelNormalization::none;
    CHECK_NOTHROW(ConvolverFactory::make({4, 5, 6}, derivative.view(), options, cpu_engines()));

    for (const double value : {1e-50, 1e300}) {
        Volume kernel({1, 2, 2}, PixelType::float64);
        for (int i = 0; i < 4; ++i) kernel.elements<double>()[i] = value;
        Options as_given;
        CHECK_THROWS_AS(ConvolverFactory::make({4, 5, 6}, kernel.view(), as_given, cpu_engines()),
                        BadData);
        as_given.precision = Precision::float64;
        CHECK_NOTHROW(ConvolverFactory::make({4, 5, 6}, kernel.view(), as_given, cpu_engines()));
        Options normalized;
        normalized.normalization = KernelNormalization::sum;
        CHECK_NOTHROW(ConvolverFactory::make({4, 5, 6}, kernel.view(), normalized, cpu_engines()));
    }
}

TEST_CASE("empty shapes and images too small for mode valid are invalid") {
    Random random(test_seed("bad shapes"));
    const EngineList engines = cpu_engines();
    const Volume kernel = to_volume(random.array({2, 3, 4}, false), PixelType::float32);
    for (const Shape3& shape :
         {Shape3{0, 6, 7}, Shape3{5, 0, 7}, Shape3{5, 6, 0}, Shape3{-1, 6, 7}, Shape3{0, 0, 0}})
        CHECK_THROWS_AS(ConvolverFactory::make(shape, kernel.view(), {}, engines), InvalidArgument);
    for (const Shape3& shape : {Shape3{0, 3, 4}, Shape3{2, 0, 4}, Shape3{2, 3, 0}}) {
        ConstImageView empty = kernel.view();
        empty.shape = shape;
        CHECK_THROWS_AS(ConvolverFactory::make({5, 6, 7}, empty, {}, engines), InvalidArgument);
    }
    Options valid;
    valid.mode = Mode::valid;
    for (const Shape3& shape : {Shape3{1, 6, 7}, Shape3{5, 2, 7}, Shape3{5, 6, 3}}) {
        const auto text = message_of<InvalidArgument>(
            [&] { ConvolverFactory::make(shape, kernel.view(), valid, engines); });
        INFO(text);
        CHECK(contains(text, "valid"));
    }
    CHECK_NOTHROW(ConvolverFactory::make({2, 3, 4}, kernel.view(), valid, engines));
    CHECK_THROWS_AS(ConvolverFactory::make({5, 6, 7}, kernel.view(), {}, EngineList{}),
                    InvalidArgument);
}

TEST_CASE("centers outside the kernel are invalid") {
    Random random(test_seed("bad centers"));
    ConvolverCase c = make_case(random, {5, 6, 7}, {2, 3, 4});
    for (const Index3& index :
         {Index3{2, 0, 0}, Index3{0, 3, 0}, Index3{0, 0, 4}, Index3{-1, 0, 0}}) {
        c.options.center = {KernelCenter::Kind::explicit_, index};
        const std::string text = refusal<InvalidArgument>(c);
        INFO(text);
        CHECK(contains(text, "cent"));
    }
}

TEST_CASE("boundary values that are not finite are invalid") {
    Random random(test_seed("bad boundary"));
    ConvolverCase c = make_case(random, {5, 6, 7}, {2, 3, 4});
    for (const double value : {nan_value, infinity}) {
        c.options.boundary = {BoundaryKind::constant, value};
        CHECK_THROWS_AS(result_of(c, cpu_engines()), InvalidArgument);
    }
}

TEST_CASE("execute refuses shapes and types that were not planned, and names them") {
    Random random(test_seed("bad execute"));
    const ConvolverCase c = make_case(random, {5, 6, 7}, {2, 3, 4});
    const Volume kernel = to_volume(c.kernel, PixelType::float32),
                 image = to_volume(c.image, PixelType::float32);
    Options full;
    full.mode = Mode::full;
    const Convolver convolver =
        ConvolverFactory::make({5, 6, 7}, kernel.view(), full, cpu_engines());
    Volume output(convolver.output_shape(), PixelType::float32),
        transposed({7, 6, 5}, PixelType::float32);
    const auto bad_input =
        message_of<InvalidArgument>([&] { convolver.execute(transposed.view(), output.view()); });
    INFO(bad_input);
    CHECK(contains(bad_input, "7×6×5"));
    CHECK(contains(bad_input, "5×6×7"));
    Volume wrong({5, 6, 7}, PixelType::float32);
    const auto bad_output =
        message_of<InvalidArgument>([&] { convolver.execute(image.view(), wrong.view()); });
    INFO(bad_output);
    CHECK(contains(bad_output, "5×6×7"));
    CHECK(contains(bad_output, "6×8×10"));

    const Volume complex_image = to_volume(c.image, PixelType::complex64);
    CHECK_THROWS_AS(convolver.execute(complex_image.view(), output.view()), InvalidArgument);
    const Convolver complex_convolver =
        ConvolverFactory::make({5, 6, 7}, kernel.view(), full, cpu_engines(), PixelType::complex64);
    CHECK_THROWS_AS(complex_convolver.execute(complex_image.view(), output.view()),
                    InvalidArgument);
}

TEST_CASE("NaN and infinities in the image follow the policy") {
    Random random(test_seed("image NaN"));
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct})
        for (const double bad : {nan_value, infinity, -infinity}) {
            ConvolverCase c = make_case(random, {9, 10, 11}, {2, 3, 3});
            c.options.method = method;
            c.options.boundary = {BoundaryKind::constant, 2};
            ConvolverCase zeroed = c;
            for (const auto& [z, y, x] : {std::array<index_t, 3>{3, 4, 5}, {8, 9, 10}}) {
                c.image(z, y, x) = bad;
                zeroed.image(z, y, x) = 0;
            }
            const std::string text = refusal<BadData>(c);
            INFO(to_string(method) << " " << bad << ": " << text);
            CHECK(contains(text, "3"));
            CHECK(contains(text, "4"));
            CHECK(contains(text, "5"));

            c.options.nan = NanPolicy::zero;
            const auto comparison = compare(zeroed.expected(), result_of(c, cpu_engines()));
            INFO(comparison.report);
            CHECK(comparison.within(Precision::float32));

            const Volume kernel = to_volume(c.kernel, PixelType::float32),
                         image = to_volume(c.image, PixelType::float32);
            Volume output(c.image_shape, PixelType::float32);
            const Convolver convolver =
                ConvolverFactory::make(c.image_shape, kernel.view(), c.options, cpu_engines());
            for (int execution = 0; execution < 2; ++execution)
                CHECK(convolver.execute(image.view(), output.view()).nonfinite_inputs == 2);

            c.options.nan = NanPolicy::propagate;
            const Array propagated = result_of(c, cpu_engines());
            CHECK_FALSE(std::isfinite(propagated(3, 4, 5).real()));
            if (method == Method::direct) {  // NaN and infinity do not reach voxels far from them
                const Array clean = zeroed.expected();
                CHECK(std::abs(propagated(0, 0, 0) - clean(0, 0, 0)) < 1e-5);
                CHECK(std::isnan(propagated(3, 4, 5).real()) == std::isnan(bad));
            }
        }
}

TEST_CASE("NaN clamps to zero in integer results and is counted") {
    const float one = 1;
    const float values[4] = {1, std::numeric_limits<float>::quiet_NaN(), 3,
                             std::numeric_limits<float>::infinity()};
    Options options;
    options.nan = NanPolicy::propagate;
    options.method = Method::direct;
    const Convolver convolver =
        ConvolverFactory::make({1, 1, 4}, view_of(&one, Shape3{1, 1, 1}), options, cpu_engines());
    std::uint8_t output[4] = {9, 9, 9, 9};
    const auto report =
        convolver.execute(view_of(values, Shape3{1, 1, 4}), view_of(output, Shape3{1, 1, 4}));
    CHECK(int{output[0]} == 1);
    CHECK(int{output[1]} == 0);
    CHECK(int{output[2]} == 3);
    CHECK(int{output[3]} == 255);
    CHECK(report.clamped_low == 1);
    CHECK(report.clamped_high == 1);
}
