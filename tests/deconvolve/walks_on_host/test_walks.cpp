// SPDX-License-Identifier: Apache-2.0
// Tests walks of every method without a GPU: the product's own sources, with passes that are direct
// sums, and CUDA streams that run in any order that their events allow. The results agree with
// those of iterations over whole arrays.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/executors/host_passes.hpp"
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

struct WalkCase {
    Shape3 image;
    Array psf{{1, 1, 1}};
    std::vector<Array> deeper_psfs;  ///< further PSFs, each two planes deeper than the one before
    DeconvolveOptions options;
    index_t depth = 1, walkers = 1, together = 1, tiles_y = 1, tiles_x = 1;
    bool reads = false;
    bool starts = false;          ///< whether iterations start from an estimate of the caller
    std::array<bool, 3> keeps{};  ///< whether changes, image and weights stay on the device
};

WalkCase random_case(Random& random, DeconvolveMethod method) {
    WalkCase walk_case;
    const auto extent = [&](index_t least, index_t most) { return random.integer(least, most); };
    const Shape3 taps{extent(1, 6), extent(2, 4), extent(2, 4)};
    walk_case.image = {taps.z + extent(0, 16), taps.y + extent(2, 6), taps.x + extent(2, 6)};
    const Index3 center{extent(0, taps.z - 1), extent(0, taps.y - 1), extent(0, taps.x - 1)};
    walk_case.psf = gaussian_psf(taps, center, {1, 1, 1});
    DeconvolveOptions& options = walk_case.options;
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
    options.gain = 0.5;
    options.offset = 2;
    options.tv_weight = 0.01;
    options.voxel = {0.3, 0.1, 0.1};
    walk_case.depth = extent(1, 9);
    walk_case.walkers = extent(1, 3);
    const bool alone = method == DeconvolveMethod::scaled_heavy_ball ||
                       (!accelerated && (method == DeconvolveMethod::richardson_lucy ||
                                         method == DeconvolveMethod::wiener_butterworth));
    if (random.chance(0.5)) {
        walk_case.tiles_y = extent(1, 3);
        walk_case.tiles_x = extent(1, 3);
    }
    if (alone && walk_case.walkers == 1 && walk_case.tiles_y * walk_case.tiles_x == 1)
        walk_case.together = extent(1, 4);
    if (random.chance(0.5)) options.image_type = PixelType::uint16;
    walk_case.reads = random.chance(0.5);
    walk_case.starts = uses_option(method, "start") && random.chance(0.4);
    for (bool& keep : walk_case.keeps) keep = random.chance(0.5);
    if (method != DeconvolveMethod::wiener_butterworth && random.chance(0.4))
        for (index_t more = extent(1, 3); more > 0; --more)
            walk_case.deeper_psfs.push_back(random_psf(random, taps));
    return walk_case;
}

Array random_counts(Random& random, const Shape3& shape) {
    Array image = random.integers(shape, 3, 20);
    for (Complex& value : image.values)
        if (random.chance(0.05)) value = static_cast<double>(random.integer(30, 90));
    return image;
}

/// The result of a run, every second estimate if estimates are read, and the reports of iterations.
struct RunResult {
    Array result{{1, 1, 1}};
    std::vector<Array> estimates;
    std::vector<Iteration> iterations;
    DeconvolveReport report;
};

RunResult run_steps(Executor& executor, const DeconvolutionProblem& problem, const Volume& recorded,
                    const WalkCase& walk_case) {
    RunResult run_result;
    Volume result(problem.image, PixelType::float32);
    Volume start(problem.object, PixelType::float32);
    for (index_t i = 0; i < element_count(problem.object); ++i)
        start.elements<float>()[i] = 1 + static_cast<float>(i * 7 % 11);
    DeconvolveRun along;
    if (walk_case.starts) along.start = std::as_const(start).view();
    along.reads_every = walk_case.reads ? 2 : 0;
    along.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        run_result.iterations.push_back(iteration);
        if (!walk_case.reads || iteration.number % 2 != 0) return;
        read(result.view());
        run_result.estimates.push_back(to_array(result.view()));
    };
    HostImages images(recorded.view(), result.view());
    run_result.report = run(executor, problem, images, {}, along);
    run_result.result = to_array(result.view());
    return run_result;
}

DeconvolutionProblem problem_of(const WalkCase& walk_case) {
    const Volume psf = to_volume(walk_case.psf, PixelType::float64);
    if (walk_case.deeper_psfs.empty())
        return resolve_problem(walk_case.image, psf.view(), walk_case.options, 1);
    std::vector<Volume> deeper;
    std::vector<DepthPsf> psfs{{psf.view(), 0, {}}};
    for (const Array& taps : walk_case.deeper_psfs)
        deeper.push_back(to_volume(taps, PixelType::float64));
    for (const Volume& taps : deeper)
        psfs.push_back({taps.view(), psfs.back().depth_um + 2 * walk_case.options.voxel.z_um, {}});
    return resolve_problem(walk_case.image, psfs, walk_case.options, 1);
}

RunResult over_arrays(const DeconvolutionProblem& problem, const Volume& recorded,
                      const WalkCase& walk_case) {
    if (problem.psf_varies()) {
        cpu::HostPlanePasses passes =
            make_plane_passes(HostPassLayout(problem, 1, true).first(), problem.psf_views());
        HostPassArrays arrays(problem, passes, 1);
        ArrayExecutor<HostPassArrays> executor(arrays, problem);
        return run_steps(executor, problem, recorded, walk_case);
    }
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
    return run_steps(executor, problem, recorded, walk_case);
}

void check_alike(const RunResult& got, const RunResult& want) {
    const auto check_arrays = [](const Array& a, const Array& b) {
        const Comparison comparison = compare(b, a);
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);
    };
    check_arrays(got.result, want.result);
    REQUIRE(got.estimates.size() == want.estimates.size());
    for (std::size_t i = 0; i < want.estimates.size(); ++i)
        check_arrays(got.estimates[i], want.estimates[i]);
    CHECK(got.report.iterations == want.report.iterations);
    CHECK(got.report.restarts == want.report.restarts);
    REQUIRE(got.iterations.size() == want.iterations.size());
    for (std::size_t i = 0; i < want.iterations.size(); ++i) {
        const Iteration &a = got.iterations[i], &b = want.iterations[i];
        CHECK(a.number == b.number);
        CHECK(a.likelihood == Approx(b.likelihood).epsilon(1e-5).margin(1e-6));
        CHECK(a.residual == Approx(b.residual).epsilon(1e-3).margin(1e-6));
        CHECK(a.held_out == Approx(b.held_out).epsilon(1e-5));
        CHECK(a.consenting == b.consenting);
    }
}

// Returns the setups of walkers, among which slabs of whole planes or tiles of the object are
// divided. Chooses the grids of y and x.
std::vector<Walker::Setup> walker_setups(const WalkCase& walk_case,
                                         const DeconvolutionProblem& problem, PairAxes& axes) {
    auto& [z, y, x] = axes;
    const index_t chained = problem.traits.projections;
    const auto tiles_y = divide_axis(y, walk_case.tiles_y, chained);
    const auto tiles_x = divide_axis(x, walk_case.tiles_x, chained);
    y.grid = least_grid(y, tiles_y);
    x.grid = least_grid(x, tiles_x);
    const std::vector<PlaneTile> tiles = tiles_of(tiles_y, tiles_x);
    const auto walkers = static_cast<std::size_t>(walk_case.walkers);
    const index_t unlimited = index_t{1} << 40;
    std::vector<Walker::Setup> setups;
    if (tiles.size() > 1) {
        setups.assign(
            std::min(walkers, tiles.size()),
            {0, z.whole_object(), z.whole_image(), walk_case.depth, 1, unlimited, {}, {}});
        for (std::size_t i = 0; i < tiles.size(); ++i)
            setups[i % setups.size()].tiles.push_back(tiles[i]);
        return setups;
    }
    const auto slabs = std::min(walkers, static_cast<std::size_t>(z.object));
    // A single walker may keep arrays on its device.
    const ResidentArrays most = ResidentArrays::most(problem);
    const ResidentArrays resident{most.change && walk_case.keeps[0],
                                  most.data && walk_case.keeps[1],
                                  most.weights && walk_case.keeps[2]};
    for (const SlabPlanes& part : divide_planes(z, std::vector<double>(slabs, 1.0)))
        setups.push_back({0,
                          part.object,
                          part.image,
                          walk_case.depth,
                          walk_case.together,
                          unlimited,
                          {},
                          slabs == 1 ? resident : ResidentArrays{}});
    return setups;
}

void check_case(const WalkCase& walk_case, const Volume& recorded, Random& random, int number) {
    const DeconvolveMethod method = walk_case.options.method;
    const DeconvolutionProblem problem = problem_of(walk_case);
    INFO("case " << number << ": image " << to_string(walk_case.image) << ", PSF "
                 << to_string(walk_case.psf.shape) << ", PSFs " << problem.psf_count() << ", depth "
                 << walk_case.depth << ", walkers " << walk_case.walkers << ", tiles "
                 << walk_case.tiles_y << "x" << walk_case.tiles_x << ", together "
                 << walk_case.together << ", keeps " << walk_case.keeps[0] << walk_case.keeps[1]
                 << walk_case.keeps[2] << ", starts " << walk_case.starts << ", held out "
                 << walk_case.options.hold_out << ", saturation "
                 << walk_case.options.saturation.has_value() << ", "
                 << to_string(walk_case.options.acceleration));
    const bool smooth = method == DeconvolveMethod::richardson_lucy_tv;
    auto axes = pass_axes(problem, smooth ? 2 : 1);
    REQUIRE(axes);
    PairAxis& z = axes->front();
    z.grid = PlaneWalk::least_grid(z, walk_case.depth) + random.integer(0, 2);
    const std::vector<Walker::Setup> setups = walker_setups(walk_case, problem, *axes);
    cuda_on_host::Machine::one().set_seed(static_cast<std::uint64_t>(number));
    WalkExecutor walks(problem, *axes, pass_kernels(problem), setups, 2);
    const RunResult want = over_arrays(problem, recorded, walk_case);
    // A run must not depend on the previous run.
    for (int repeat = 0; repeat < 2; ++repeat)
        check_alike(run_steps(walks, problem, recorded, walk_case), want);
}

void check_walks(DeconvolveMethod method, int cases) {
    Random random(test_seed(to_string(method)));
    for (int k = 0; k < cases; ++k) {
        const WalkCase walk_case = random_case(random, method);
        const Volume recorded =
            to_volume(random_counts(random, walk_case.image),
                      walk_case.options.image_type.value_or(PixelType::float32));
        check_case(walk_case, recorded, random, k);
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
    WalkCase walk_case;
    const Index3 center{1, 2, 4};
    walk_case.image = {6, 24, 300};
    walk_case.psf = gaussian_psf({3, 5, 9}, center, {1.5, 1.5, 1.5});
    walk_case.options.method = DeconvolveMethod::wiener_butterworth;
    walk_case.options.acceleration = Acceleration::biggs_andrews;
    walk_case.options.boundary = Boundary{BoundaryKind::zero};
    walk_case.options.center = {KernelCenter::Kind::explicit_, center};
    walk_case.options.background = 5;
    walk_case.options.iterations = 12;
    walk_case.depth = 3;
    const Specimen specimen =
        bead_specimen(random, walk_case.image, walk_case.psf, center, 1, 20000, 5, 0.5);
    check_case(walk_case, to_volume(specimen.recorded, PixelType::float32), random, 0);
}
