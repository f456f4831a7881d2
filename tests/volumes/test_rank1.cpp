// SPDX-License-Identifier: Apache-2.0
// Kernels of rank 1 are recognized and convolved by three 1D passes, other kernels are not.

#include <cmath>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Array gaussian(const Shape3& shape, double sigma) {
    Array kernel(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const auto d = [](index_t i, index_t k) { return static_cast<double>(i - k / 2); };
                const double r2 = std::pow(d(z, shape.z), 2) + std::pow(d(y, shape.y), 2) +
                                  std::pow(d(x, shape.x), 2);
                kernel(z, y, x) = std::exp(-r2 / (2 * sigma * sigma));
            }
    return kernel;
}

/// Returns the case with a kernel as a caller would hold it: rounded to `type`.
ConvolverCase with_kernel(ConvolverCase c, const Array& kernel, PixelType type) {
    c.kernel = to_array(to_volume(kernel, type).view());
    return c;
}

Plan plan_of(const ConvolverCase& c, PixelType kernel_type, const EngineList& engines) {
    const Volume kernel = to_volume(c.kernel, kernel_type);
    return ConvolverFactory::make(c.image_shape, kernel.view(), c.options, engines).plan();
}

void check_rank1(const ConvolverCase& c, const EngineList& engines) {
    const std::string wrong = defect(c, engines);
    INFO(c.describe() << "\n" << wrong);
    CHECK(wrong.empty());
}

}  // namespace

TEST_CASE("Gaussians are recognized in both precisions and agree with the oracle") {
    Random random(test_seed("rank 1"));
    const EngineList engines = cpu_engines();
    for (const PixelType type : {PixelType::float32, PixelType::float64})
        for (const Shape3& shape :
             {Shape3{5, 5, 5}, Shape3{4, 7, 6}, Shape3{1, 9, 9}, Shape3{7, 1, 1}})
            for (const double sigma : {0.7, 1.5, 4.0})
                for (const Operation operation :
                     {Operation::convolve, Operation::correlate, Operation::adjoint})
                    for (int b = 0; b < 6; ++b) {
                        ConvolverCase c = with_kernel(make_case(random, {9, 11, 12}, shape),
                                                      gaussian(shape, sigma), type);
                        c.options.precision =
                            type == PixelType::float32 ? Precision::float32 : Precision::float64;
                        c.options.operation = operation;
                        c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? 3.0 : 0};
                        c.options.method = Method::direct;
                        const Plan plan = plan_of(c, type, engines);
                        INFO(c.describe());
                        CHECK(plan.rank1_kernel);
                        check_rank1(c, engines);
                    }
}

TEST_CASE("a large Gaussian is planned as separable passes") {
    Random random(test_seed("rank 1 choice"));
    const EngineList engines = cpu_engines();
    ConvolverCase c = with_kernel(make_case(random, {64, 96, 96}, {9, 9, 9}),
                                  gaussian({9, 9, 9}, 2), PixelType::float32);
    c.options.method = Method::direct;
    CHECK(plan_of(c, PixelType::float32, engines).chosen.algorithm == Algorithm::separable);
    c.options.method = Method::automatic;
    CHECK(plan_of(c, PixelType::float32, engines).rank1_kernel);
    // Kernels with even extents, shifted peaks, signs or zeros at the first tap also count as
    // rank 1.
    Array box(Shape3{2, 3, 4});
    for (Complex& tap : box.values) tap = 0.1f;
    c.kernel = box;
    CHECK(plan_of(c, PixelType::float32, engines).rank1_kernel);
    // A kernel that smooths along y and x, differentiates along z, and sums to zero.
    Array derivative(Shape3{3, 3, 3});
    for (index_t y = 0; y < 3; ++y)
        for (index_t x = 0; x < 3; ++x) {
            const double smooth = (y == 1 ? 2 : 1) * (x == 1 ? 2 : 1);
            derivative(0, y, x) = smooth;
            derivative(2, y, x) = -smooth;
        }
    c.kernel = derivative;
    CHECK(plan_of(c, PixelType::float32, engines).rank1_kernel);
    ConvolverCase small = make_case(random, {8, 9, 10}, {3, 3, 3});
    small.kernel = derivative;
    for (const Method method : {Method::automatic, Method::direct, Method::in_core}) {
        small.options.method = method;
        check_rank1(small, engines);
    }
}

TEST_CASE("kernels near rank 1 are not mistaken for rank 1") {
    Random random(test_seed("near rank 1"));
    const EngineList engines = cpu_engines();
    for (const Precision precision : {Precision::float32, Precision::float64}) {
        const double disturbance = precision == Precision::float32 ? 1e-5 : 1e-12;
        for (int where = 0; where < 3; ++where) {
            ConvolverCase c = make_case(random, {8, 9, 10}, {5, 5, 5});
            c.kernel = gaussian({5, 5, 5}, 1.5);
            if (where == 0) c.kernel(2, 2, 2) *= 1 + disturbance;
            if (where == 1) c.kernel(4, 0, 3) += disturbance;
            if (where == 2)
                for (Complex& tap : c.kernel.values) tap += disturbance * (random.uniform() - 0.5);
            c.options.precision = precision;
            c.options.method = Method::direct;
            INFO(to_string(precision) << ", disturbed as " << where);
            check_rank1(
                c, engines);  // results are accurate, whether or not the kernel counts as rank 1
        }
    }
    ConvolverCase c = make_case(random, {8, 9, 10}, {5, 5, 5});
    c.kernel = gaussian({5, 5, 5}, 1.5);
    c.kernel(0, 0, 0) += 1e-3;
    CHECK_FALSE(plan_of(c, PixelType::float32, engines).rank1_kernel);
    c.kernel = random.array({5, 5, 5}, false);
    CHECK_FALSE(plan_of(c, PixelType::float32, engines).rank1_kernel);
}

TEST_CASE("separable sums are equal for all threads, tiles and memory limits") {
    Random random(test_seed("tiles of separable sums"));
    for (const Precision precision : {Precision::float32, Precision::float64})
        for (const Shape3& kernel : {Shape3{17, 17, 17}, Shape3{1, 9, 30}, Shape3{30, 1, 5},
                                     Shape3{5, 40, 1}, Shape3{1, 1, 50}, Shape3{1, 1, 1}}) {
            ConvolverCase c = make_case(random, {23, 61, 150}, kernel);
            c.kernel = gaussian(kernel, 2);
            c.options.precision = precision;
            c.options.method = Method::direct;
            if (element_count(kernel) < 100) check_rank1(c, cpu_engines());
            EngineChoice choice;
            choice.device = EngineChoice::Device::cpu;
            choice.threads = 1;
            const Array expected = result_of(c, make_engines(choice));
            for (const int threads : {2, 7}) {
                choice.threads = threads;
                CHECK(result_of(c, make_engines(choice)).values == expected.values);
            }
            CHECK(result_of(c, cpu_engines(2, 512 << 10)).values == expected.values);
        }
}

TEST_CASE("separable sums divide rows that exceed the cache") {
    Random random(test_seed("long rows"));
    for (const Shape3& image : {Shape3{1, 1, 20000}, Shape3{6, 9, 9001}, Shape3{3, 20, 4097}}) {
        const Shape3 kernel{std::min<index_t>(image.z, 3), std::min<index_t>(image.y, 3), 9};
        ConvolverCase c = make_case(random, image, kernel);
        c.kernel = gaussian(kernel, 2);
        c.options.method = Method::direct;
        check_rank1(c, cpu_engines());
    }
}
