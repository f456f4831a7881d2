// SPDX-License-Identifier: Apache-2.0
// Tests walks of every method without a GPU: the product's own sources, with passes that are direct
// sums, and CUDA streams that run in any order that their events allow. The results agree with
// those of iterations over whole arrays.

#include <algorithm>
#include <cstring>
#include <optional>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/executors/pass_problem.hpp"
#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/executors/walk_executor.cuh"
#include "deconvolve/loop.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::deconvolve;
using namespace convolume::testing;

namespace {

struct Case {
    Shape3 image;
    Array psf{{1, 1, 1}};
    DeconvolveOptions options;
    index_t depth = 1, walkers = 1, together = 1, tiles_y = 1, tiles_x = 1;
    bool reads = false;
};

Case random_case(Random& random, DeconvolveMethod method) {
    Case of;
    const auto extent = [&](index_t least, index_t most) { return random.integer(least, most); };
    const Shape3 taps{extent(1, 6), extent(2, 4), extent(2, 4)};
    of.image = {taps.z + extent(0, 16), taps.y + extent(2, 6), taps.x + extent(2, 6)};
    const Index3 center{extent(0, taps.z - 1), extent(0, taps.y - 1), extent(0, taps.x - 1)};
    of.psf = gaussian_psf(taps, center, {1, 1, 1});
    DeconvolveOptions& options = of.options;
    const bool poisson = method != DeconvolveMethod::wiener &&
                         method != DeconvolveMethod::non_negative_least_squares;
    options.method = method;
    options.center = {KernelCenter::Kind::explicit_, center};
    options.background = 5;
    // A total variation that is flat amplifies rounding in every iteration.
    const bool smooth = method == DeconvolveMethod::richardson_lucy_tv;
    options.iterations = static_cast<int>(extent(1, smooth ? 3 : 7));
    if (random.chance(0.5)) options.boundary = Boundary{BoundaryKind::zero};
    const bool accelerated = random.chance(0.5);
    options.acceleration = accelerated ? Acceleration::biggs_andrews : Acceleration::none;
    options.hold_out = poisson && random.chance(0.3);
    if (poisson && random.chance(0.3)) options.saturation = 60;
    options.photons = PhotonScale{0.5, 2};
    options.tv_weight = 0.01;
    options.voxel = {0.3, 0.1, 0.1};
    of.depth = extent(1, 9);
    of.walkers = extent(1, 3);
    const bool alone = method == DeconvolveMethod::scaled_heavy_ball ||
                       (!accelerated && (method == DeconvolveMethod::richardson_lucy ||
                                         method == DeconvolveMethod::wiener_butterworth));
    if (random.chance(0.5)) {
        of.tiles_y = extent(1, 3);
        of.tiles_x = extent(1, 3);
    }
    if (alone && of.walkers == 1 && of.tiles_y * of.tiles_x == 1) of.together = extent(1, 4);
    if (random.chance(0.5)) options.image_type = PixelType::uint16;
    of.reads = random.chance(0.5);
    return of;
}

Array random_counts(Random& random, const Shape3& shape) {
    Array image = random.integers(shape, 3, 20);
    for (Complex& value : image.values)
        if (random.chance(0.05)) value = static_cast<double>(random.integer(30, 90));
    return image;
}

/// The result, every second estimate if they are read, and the reports of all iterations.
struct Found {
    Array result{{1, 1, 1}};
    std::vector<Array> seen;
    std::vector<Iteration> told;
    DeconvolveReport report;
};

Found run_steps(Executor& executor, const Problem& problem, const Volume& recorded,
                const Case& of) {
    Found found;
    Volume result(problem.image, PixelType::float32);
    DeconvolveRun along;
    along.reads_every = of.reads ? 2 : 0;
    along.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        found.told.push_back(iteration);
        if (!of.reads || iteration.number % 2 != 0) return;
        read(result.view());
        found.seen.push_back(to_array(result.view()));
    };
    found.report = run(executor, problem, HostImages(recorded.view(), result.view()), {}, along);
    found.result = to_array(result.view());
    return found;
}

Found over_arrays(const Problem& problem, const Volume& recorded, const Case& of) {
    const auto convolver = [&](const Volume& taps, Operation operation) {
        return Convolver(problem.object, taps.view(), problem.blur(operation), cpu_only(1));
    };
    const Convolver blur = convolver(problem.psf, Operation::convolve);
    const Convolver back = convolver(problem.psf, Operation::adjoint);
    std::optional<Convolver> unmatched;
    if (problem.traits.has_unmatched)
        unmatched.emplace(convolver(problem.unmatched, Operation::adjoint));
    HostArrays arrays(problem, blur, back, 1, unmatched ? &*unmatched : nullptr);
    ArrayExecutor<HostArrays> executor(arrays, problem);
    return run_steps(executor, problem, recorded, of);
}

void check_alike(const Found& got, const Found& want) {
    const auto check_arrays = [](const Array& a, const Array& b) {
        const Comparison comparison = compare(b, a);
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);
    };
    check_arrays(got.result, want.result);
    REQUIRE(got.seen.size() == want.seen.size());
    for (std::size_t i = 0; i < want.seen.size(); ++i) check_arrays(got.seen[i], want.seen[i]);
    CHECK(got.report.iterations == want.report.iterations);
    CHECK(got.report.restarts == want.report.restarts);
    REQUIRE(got.told.size() == want.told.size());
    for (std::size_t i = 0; i < want.told.size(); ++i) {
        const Iteration &a = got.told[i], &b = want.told[i];
        CHECK(a.number == b.number);
        CHECK(a.likelihood == Approx(b.likelihood).epsilon(1e-5).margin(1e-6));
        CHECK(a.residual == Approx(b.residual).epsilon(1e-3).margin(1e-6));
        CHECK(a.held_out == Approx(b.held_out).epsilon(1e-5));
        CHECK(a.consenting == b.consenting);
    }
}

// Divides the object into slabs of whole planes or into tiles. Chooses the grids of y and x.
std::vector<Walker::Place> places_of(const Case& of, const Problem& problem, PairAxes& axes) {
    auto& [z, y, x] = axes;
    const index_t chained = problem.traits.projections;
    const auto tiles_y = divide_axis(y, of.tiles_y, chained);
    const auto tiles_x = divide_axis(x, of.tiles_x, chained);
    y.grid = least_grid(y, tiles_y);
    x.grid = least_grid(x, tiles_x);
    const std::vector<PlaneTile> tiles = tiles_of(tiles_y, tiles_x);
    const auto walkers = static_cast<std::size_t>(of.walkers);
    const index_t unlimited = index_t{1} << 40;
    std::vector<Walker::Place> places;
    if (tiles.size() > 1) {
        places.assign(std::min(walkers, tiles.size()),
                      {0, z.whole_object(), z.whole_image(), of.depth, 1, unlimited, {}});
        for (std::size_t i = 0; i < tiles.size(); ++i)
            places[i % places.size()].tiles.push_back(tiles[i]);
        return places;
    }
    const auto slabs = std::min(walkers, static_cast<std::size_t>(z.object));
    for (const PlanePart& part : divide_planes(z, std::vector<double>(slabs, 1.0)))
        places.push_back({0, part.object, part.image, of.depth, of.together, unlimited, {}});
    return places;
}

void check_case(const Case& of, const Volume& recorded, Random& random, int number) {
    const DeconvolveMethod method = of.options.method;
    const Problem problem =
        resolve_problem(of.image, to_volume(of.psf, PixelType::float64).view(), of.options, 1);
    INFO("case " << number << ": image " << to_string(of.image) << ", PSF "
                 << to_string(of.psf.shape) << ", depth " << of.depth << ", walkers " << of.walkers
                 << ", tiles " << of.tiles_y << "x" << of.tiles_x << ", together " << of.together
                 << ", held out " << of.options.hold_out << ", saturation "
                 << of.options.saturation.has_value() << ", "
                 << to_string(of.options.acceleration));
    const bool smooth = method == DeconvolveMethod::richardson_lucy_tv;
    auto axes = pass_axes(problem, smooth ? 2 : 1);
    REQUIRE(axes);
    PairAxis& z = axes->front();
    z.grid = PlaneWalk::least_grid(z, of.depth) + random.integer(0, 2);
    const std::vector<Walker::Place> places = places_of(of, problem, *axes);
    walks_on_host::Machine::one().set_seed(static_cast<std::uint64_t>(number));
    const PassKernels kernels(problem, *axes);
    WalkExecutor walks(problem, *axes, kernels.views(), places, 2);
    const Found want = over_arrays(problem, recorded, of);
    // A run must not depend on the one before.
    for (int repeat = 0; repeat < 2; ++repeat)
        check_alike(run_steps(walks, problem, recorded, of), want);
}

void check_walks(DeconvolveMethod method, int cases) {
    Random random(test_seed(to_string(method)));
    for (int k = 0; k < cases; ++k) {
        const Case of = random_case(random, method);
        const Volume recorded = to_volume(random_counts(random, of.image),
                                          of.options.image_type.value_or(PixelType::float32));
        check_case(of, recorded, random, k);
    }
}

}  // namespace

TEST_CASE("walks on the host: rl agrees with whole arrays") {
    check_walks(DeconvolveMethod::richardson_lucy, 60);
}
TEST_CASE("walks on the host: shb agrees with whole arrays") {
    check_walks(DeconvolveMethod::scaled_heavy_ball, 60);
}
TEST_CASE("walks on the host: rl-tv agrees with whole arrays") {
    check_walks(DeconvolveMethod::richardson_lucy_tv, 30);
}
TEST_CASE("walks on the host: wb agrees with whole arrays") {
    check_walks(DeconvolveMethod::wiener_butterworth, 40);
}
TEST_CASE("walks on the host: rlgc agrees with whole arrays") {
    check_walks(DeconvolveMethod::gradient_consensus, 60);
}
TEST_CASE("walks on the host: nnls agrees with whole arrays") {
    check_walks(DeconvolveMethod::non_negative_least_squares, 60);
}
TEST_CASE("walks on the host: wiener agrees with whole arrays") {
    check_walks(DeconvolveMethod::wiener, 60);
}
// The changes of a few voxels are far larger than the mean of the image.
TEST_CASE("walks on the host: accelerated wb of a single bead agrees with whole arrays") {
    Random random(test_seed("a single bead"));
    Case of;
    const Index3 center{1, 2, 4};
    of.image = {6, 24, 300};
    of.psf = gaussian_psf({3, 5, 9}, center, {1.5, 1.5, 1.5});
    of.options.method = DeconvolveMethod::wiener_butterworth;
    of.options.acceleration = Acceleration::biggs_andrews;
    of.options.boundary = Boundary{BoundaryKind::zero};
    of.options.center = {KernelCenter::Kind::explicit_, center};
    of.options.background = 5;
    of.options.iterations = 12;
    of.depth = 3;
    const Specimen specimen = bead_specimen(random, of.image, of.psf, center, 1, 20000, 5, 0.5);
    check_case(of, to_volume(specimen.recorded, PixelType::float32), random, 0);
}
