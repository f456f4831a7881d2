// SPDX-License-Identifier: Apache-2.0
// Compares centers of kernels with centers computed by hand.

#include <complex>
#include <cstring>
#include <utility>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

using Kind = KernelCenter::Kind;

struct KernelArray {
    Shape3 shape;
    std::vector<double> samples;

    explicit KernelArray(const Shape3& extents)
        : shape(extents), samples(static_cast<std::size_t>(element_count(extents))) {}
    double& at(index_t z, index_t y, index_t x) {
        return samples[static_cast<std::size_t>((z * shape.y + y) * shape.x + x)];
    }
    ConstImageView view() const { return view_of(samples.data(), shape); }
};

}  // namespace

TEST_CASE("middle and scipy depend on the shape alone") {
    const KernelArray kernel({4, 5, 1});
    CHECK(center_index({Kind::middle, {}}, kernel.view()) == Index3{2, 2, 0});
    CHECK(center_index({Kind::scipy, {}}, kernel.view()) == Index3{1, 2, 0});
    CHECK(center_index({Kind::explicit_, {3, 0, 0}}, kernel.view()) == Index3{3, 0, 0});
    CHECK_THROWS_AS(center_index({Kind::explicit_, {4, 0, 0}}, kernel.view()), InvalidArgument);
    CHECK_THROWS_AS(center_index({Kind::explicit_, {0, -1, 0}}, kernel.view()), InvalidArgument);
    CHECK_THROWS_AS(center_index({Kind::middle, {}}, KernelArray({0, 5, 1}).view()),
                    InvalidArgument);
    CHECK_THROWS_AS(center_index({Kind::peak, {}}, KernelArray({0, 5, 1}).view()), InvalidArgument);
}

TEST_CASE("the peak is the largest magnitude, and of several the one nearest to the middle") {
    KernelArray kernel({5, 6, 7});
    kernel.at(0, 1, 2) = 2;
    kernel.at(1, 5, 6) = -3;
    CHECK(kernel_peak(kernel.view()) == Index3{1, 5, 6});
    CHECK(center_index({Kind::peak, {}}, kernel.view()) == Index3{1, 5, 6});
    kernel.at(0, 0, 0) = 3;
    CHECK(kernel_peak(kernel.view()) == Index3{1, 5, 6});
    kernel.at(2, 3, 3) = 3;
    CHECK(kernel_peak(kernel.view()) == Index3{2, 3, 3});
    // A flat top over an even number of samples: the upper one is chosen, as k/2 does.
    KernelArray flat({1, 1, 4});
    flat.at(0, 0, 1) = flat.at(0, 0, 2) = 1;
    CHECK(kernel_peak(flat.view()) == Index3{0, 0, 2});
}

TEST_CASE("the centroid is the center of mass, half-way rounded up") {
    KernelArray kernel({3, 4, 10});
    kernel.at(0, 1, 2) = 1;
    kernel.at(2, 3, 8) = 3;
    const auto at = kernel_centroid(kernel.view());
    CHECK(at[0] == Approx(1.5));
    CHECK(at[1] == Approx(2.5));
    CHECK(at[2] == Approx(6.5));
    CHECK(center_index({Kind::centroid, {}}, kernel.view()) == Index3{2, 3, 7});

    // Sums of these samples are rounded. A centroid half-way between two samples must all the same
    // count as half-way.
    KernelArray even({1, 1, 6});
    for (index_t x = 0; x < 6; ++x) even.at(0, 0, x) = 0.1 / 3;
    CHECK(center_index({Kind::centroid, {}}, even.view()) == Index3{0, 0, 3});

    const std::complex<float> complex_kernel[] = {{0, -4}, {0, 0}, {0, 1}, {3, 4}, {0, 0}};
    CHECK(kernel_centroid(view_of(complex_kernel, {1, 1, 5}))[2] == Approx(1.7));
    CHECK(kernel_peak(view_of(complex_kernel, {1, 1, 5})).x == 3);
    CHECK_THROWS_AS(kernel_centroid(KernelArray({2, 2, 2}).view()), BadData);
}

TEST_CASE("a kernel in FFT order is unwrapped: sample 0 goes to the middle, upper ends before it") {
    for (const Shape3& shape : {Shape3{4, 5, 6}, Shape3{1, 2, 3}, Shape3{7, 1, 1}}) {
        KernelArray kernel(shape);
        for (std::size_t i = 0; i < kernel.samples.size(); ++i)
            kernel.samples[i] = static_cast<double>(i) + 1;
        const Volume unwrapped = unwrapped_kernel(kernel.view());
        REQUIRE(unwrapped.shape() == shape);
        REQUIRE(unwrapped.type() == PixelType::float64);
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x) {
                    const Index3 to{(z + shape.z / 2) % shape.z, (y + shape.y / 2) % shape.y,
                                    (x + shape.x / 2) % shape.x};
                    CHECK(*static_cast<const double*>(unwrapped.view().at(to.z, to.y, to.x)) ==
                          kernel.at(z, y, x));
                }
    }
    CHECK(center_index({Kind::corner, {}}, KernelArray({4, 5, 6}).view()) == Index3{0, 0, 0});
}

TEST_CASE("a kernel in FFT order gives the same convolution as in natural order") {
    KernelArray wrapped({3, 4, 5}), natural({3, 4, 5});
    std::vector<float> image(6 * 7 * 8);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * i % 23);
    for (std::size_t i = 0; i < wrapped.samples.size(); ++i)
        wrapped.samples[i] = static_cast<double>(i * i % 11) + 0.5;
    for (index_t z = 0; z < 3; ++z)
        for (index_t y = 0; y < 4; ++y)
            for (index_t x = 0; x < 5; ++x)
                natural.at((z + 1) % 3, (y + 2) % 4, (x + 2) % 5) = wrapped.at(z, y, x);
    const ConstImageView view = view_of(image.data(), {6, 7, 8});
    for (const Operation operation : {Operation::convolve, Operation::correlate}) {
        Options options;
        options.operation = operation;
        options.precision = Precision::float64;
        const Volume expected = convolve(view, natural.view(), options);
        options.center.kind = Kind::corner;
        const Volume found = convolve(view, wrapped.view(), options);
        for (index_t i = 0; i < element_count(expected.shape()); ++i)
            CHECK(found.elements<double>()[i] == expected.elements<double>()[i]);
    }
}

TEST_CASE("a kernel whose memory is given up gives the same result as one that is copied") {
    std::vector<float> image(7 * 8 * 9);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * i % 23);
    const ConstImageView view = view_of(image.data(), {7, 8, 9});
    const auto kernel_of = [](PixelType type, const Shape3& shape) {
        Volume kernel(shape, PixelType::float64), typed(shape, type);
        for (index_t i = 0; i < element_count(shape); ++i)
            kernel.elements<double>()[i] = static_cast<double>(i * i % 11) + 0.5;
        convert_pixels(kernel.view(), typed.view());
        return typed;
    };
    for (const PixelType type : {PixelType::uint8, PixelType::float32, PixelType::float64,
                                 PixelType::complex64, PixelType::complex128})
        for (const Shape3& shape :
             {Shape3{3, 4, 5}, Shape3{3, 30, 5}})  // of these, some are unused
            for (const Kind center : {Kind::middle, Kind::corner, Kind::peak})
                for (const Operation operation : {Operation::convolve, Operation::correlate})
                    for (const auto normalization :
                         {KernelNormalization::none, KernelNormalization::sum}) {
                        Options options;
                        options.center.kind = center;
                        options.operation = operation;
                        options.normalization = normalization;
                        const Volume kernel = kernel_of(type, shape);
                        const Convolver copied(view.shape, kernel.view(), options);
                        const Convolver moved(view.shape, kernel_of(type, shape), options);
                        CHECK(moved.kernel_sum() == copied.kernel_sum());
                        Volume expected(copied.output_shape(), copied.natural_output_type());
                        Volume found(moved.output_shape(), moved.natural_output_type());
                        copied.execute(view, expected.view());
                        moved.execute(view, found.view());
                        CHECK(std::memcmp(expected.view().data, found.view().data,
                                          static_cast<std::size_t>(expected.bytes())) == 0);
                    }
    CHECK_THROWS_AS(Convolver(view.shape, Volume({2, 3, 4}, PixelType::float32)), BadData);
}

TEST_CASE("a kernel in the type of the sums is not copied if its memory is given up") {
    const Shape3 shape{64, 128, 128};
    Volume kernel(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        kernel.elements<float>()[i] = static_cast<float>(i % 17);
    const index_t bytes = kernel.bytes();
    reset_memory_peak();
    const index_t before = memory_use().current_bytes;
    const Convolver convolver(shape, std::move(kernel), {});
    CHECK(memory_use().peak_bytes - before < bytes);
}
