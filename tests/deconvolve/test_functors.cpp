// SPDX-License-Identifier: Apache-2.0
// Tests functors of the iterations on their own: the misfit of a pixel, voxels with neighbors.

#include <cmath>

#include "deconvolve/executors/host_arrays.hpp"
#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Records which voxels are the neighbors, and counts calls and the sum of their indices.
struct RecordNeighbors {
    double* seen;
    deconvolve::SumPair operator()(index_t i, const deconvolve::NeighborOffsets& near) const {
        double sum = 0;
        for (int axis = 0; axis < 3; ++axis)
            sum = 10000 * sum + static_cast<double>(100 * near.ahead[axis] + near.behind[axis]);
        seen[i] += sum + 1;
        return {1, static_cast<double>(i)};
    }
};

// Arrays whose loops run on three threads.
struct ThreeThreads {
    Array psf = gaussian_psf({1, 1, 1}, {0, 0, 0}, {1, 1, 1});
    deconvolve::DeconvolutionProblem problem =
        deconvolve::resolve_problem({1, 1, 1}, to_volume(psf, PixelType::float32).view(), {});
    Convolver convolver =
        ConvolverFactory::make(problem.object, problem.psf.view(),
                               problem.blur(Operation::convolve), make_engines(cpu_only()));
    deconvolve::HostArrays arrays = deconvolve::HostArrays(problem, convolver, convolver, 3);
};

}  // namespace

TEST_CASE("deconvolve: the misfit of a pixel agrees with its definition") {
    Random random(test_seed("misfit"));
    for (int k = 0; k < 200000; ++k) {
        // Ratios from nearly 1 to about e^±16.
        const double apart = std::exp(20 * random.uniform() - 17) * (random.chance(0.5) ? 1 : -1);
        const auto y = static_cast<float>(std::exp(20 * random.uniform() - 8));
        const auto m = static_cast<float>(static_cast<double>(y) * std::exp(apart));
        const double exact_y = static_cast<double>(y);
        const double exact_m = static_cast<double>(m);
        const double t = (exact_m - exact_y) / exact_y;
        const double want = exact_y * (t - std::log1p(t));
        const auto got = static_cast<double>(deconvolve::richardson_lucy::misfit(y, m, y / m));
        INFO("y " << y << ", m " << m);
        // The bound allows for rounding in float32, which grows 15-fold where √½ begins another
        // power of 2. The definition in double loses more where it nearly vanishes.
        REQUIRE(std::abs(got - want) <= 2e-6 * want + 1e-16 * exact_y);
    }
    CHECK(deconvolve::richardson_lucy::misfit(3, 3, 1) == 0);
    CHECK(deconvolve::richardson_lucy::misfit(0, 7, 0) == 7);
    CHECK(deconvolve::richardson_lucy::misfit(-0.0F, 7, -0.0F) == 7);
}

TEST_CASE("deconvolve: each voxel of a grid is visited once, with its neighbors") {
    const ThreeThreads loops;
    for (const Shape3& shape :
         {Shape3{1, 1, 1}, Shape3{3, 1, 4}, Shape3{2, 3, 1}, Shape3{1, 2, 2}, Shape3{4, 3, 9}}) {
        const index_t count = element_count(shape);
        const deconvolve::VoxelGrid grid{{shape.z, shape.y, shape.x}};
        std::vector<double> seen(static_cast<std::size_t>(count));
        const deconvolve::SumPair sums = loops.arrays.sum(grid, RecordNeighbors{seen.data()});
        CHECK(sums.first == static_cast<double>(count));
        CHECK(sums.second == static_cast<double>(count * (count - 1) / 2));
        loops.arrays.for_each(grid, RecordNeighbors{seen.data()});
        for (index_t z = 0, i = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x, ++i) {
                    const index_t plane = shape.y * shape.x;
                    const auto code = [](index_t stride, bool ahead, bool behind) {
                        return static_cast<double>((ahead ? 100 * stride : 0) +
                                                   (behind ? stride : 0));
                    };
                    const double want = 1e8 * code(plane, z + 1 < shape.z, z > 0) +
                                        1e4 * code(shape.x, y + 1 < shape.y, y > 0) +
                                        code(1, x + 1 < shape.x, x > 0) + 1;
                    INFO(to_string(shape) << " at " << z << "," << y << "," << x);
                    CHECK(seen[static_cast<std::size_t>(i)] == 2 * want);
                }
    }
}

TEST_CASE("deconvolve: a step stores its change, and sums products with the last change") {
    Random random(test_seed("steps"));
    const ThreeThreads loops;
    const index_t count = 40001;  // more than two batches, and an odd remainder
    const auto numbers = [&] {
        std::vector<float> values(static_cast<std::size_t>(count));
        for (float& value : values) value = static_cast<float>(random.uniform() + 0.5);
        return values;
    };
    const std::vector<float> point = numbers(), weight = numbers(), old = numbers();
    const std::vector<float> correction = numbers();
    std::vector<float> next = correction, change = old;
    const deconvolve::RuleStep<const float*> step{point.data(), next.data(), weight.data(), 0.6F};
    const deconvolve::SumPair sums = loops.arrays.sum(
        count,
        deconvolve::StepWithProducts<deconvolve::RuleStep<const float*>>{step, {change.data()}});
    double product = 0, square = 0, furthest = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
        const auto wide = [i](const std::vector<float>& values) {
            return static_cast<double>(values[i]);
        };
        const double want = weight[i] < 0.6F ? 0 : wide(point) * wide(correction) / wide(weight);
        furthest = std::max(furthest, std::abs(wide(next) - want));
        furthest = std::max(furthest, std::abs(wide(change) - (want - wide(point))));
        product += (want - wide(point)) * wide(old);
        square += wide(old) * wide(old);
    }
    CHECK(furthest < 1e-6);  // bound on the rounding of numbers up to 4
    CHECK(std::abs(sums.first - product) < 1e-6 * square);
    CHECK(std::abs(sums.second / square - 1) < 1e-12);
}

// A walk holds a few planes, with the points of the planes beside them; the reference holds all.
TEST_CASE(
    "deconvolve: divisors of single planes agree with the whole step with a total variation") {
    Random random(test_seed("divisors"));
    const Shape3 shape{6, 5, 7};
    const index_t plane = shape.y * shape.x, count = element_count(shape);
    std::vector<float> point(static_cast<std::size_t>(count)), weight = point, correction = point;
    for (std::size_t i = 0; i < point.size(); ++i) {
        point[i] = static_cast<float>(random.uniform() + 0.5);
        weight[i] = static_cast<float>(random.uniform());
        correction[i] = static_cast<float>(random.uniform());
    }
    deconvolve::TotalVariation variation;
    for (int a = 0; a < 3; ++a) variation.extent[a] = shape[a];
    variation.per_step[0] = 0.4F;
    variation.smallest = 1e-2F;
    constexpr float least = 0.1F, tv_weight = 0.05F;
    std::vector<float> whole = correction;
    const deconvolve::PenalizedStep reference{
        {point.data(), whole.data(), weight.data(), least}, variation, tv_weight};
    double total = 0, total_of_parts = 0;
    for (index_t i = 0; i < count; ++i) {
        reference(i, variation.around(i));
        total += static_cast<double>(variation.magnitude(point.data(), i, variation.around(i)));
    }
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 6}}) {
        const index_t before = begin > 0 ? 1 : 0, after = end < shape.z ? 1 : 0;
        const std::vector<float> near(point.begin() + (begin - before) * plane,
                                      point.begin() + (end + after) * plane);
        std::vector<float> divisor(static_cast<std::size_t>((end - begin) * plane));
        const deconvolve::PenalizedDivisor functor{near.data() + before * plane,
                                                   weight.data() + begin * plane,
                                                   (end - begin) * plane,
                                                   divisor.data(),
                                                   begin * plane,
                                                   least,
                                                   variation,
                                                   tv_weight};
        for (index_t i = begin * plane; i < end * plane; ++i) {
            total_of_parts += functor(i, variation.around(i)).first;
            const auto at = static_cast<std::size_t>(i);
            const float next = deconvolve::richardson_lucy::MatchedRule{0}(
                point[at], correction[at], divisor[static_cast<std::size_t>(i - begin * plane)]);
            CHECK(next == whole[at]);
        }
    }
    CHECK(total_of_parts == Approx(static_cast<double>(tv_weight) * total).epsilon(1e-12));
}
