// SPDX-License-Identifier: Apache-2.0
// Tests deconvolution in slabs on several GPUs, and by walks if objects do not fit in a GPU's
// memory: the results equal those of a single GPU whose memory holds all arrays.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineChoice on_gpus(std::vector<int> gpus, std::optional<index_t> max_bytes = {}) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    choice.gpus = std::move(gpus);
    choice.max_gpu_bytes = max_bytes;
    return choice;
}

// Lists of GPUs. One GPU named several times exchanges the same data; two are used if present.
std::vector<std::vector<int>> sets_of_gpus() {
    std::vector<std::vector<int>> sets = {{0, 0}, {0, 0, 0}};
    if (gpu::device_count() > 1) sets.push_back({0, 1});
    if (gpu::device_count() > 1) sets.push_back({1, 0, 1, 0});
    return sets;
}

struct VolumeCase {
    Shape3 image, psf;
    Index3 center;
};
// Objects of few planes, PSFs that reach beyond the neighboring slabs, and PSFs that reach over
// every plane or within one plane.
const std::vector<VolumeCase> cases_of_planes = {{{28, 40, 44}, {9, 9, 9}, {4, 4, 4}},
                                                 {{13, 37, 29}, {11, 8, 6}, {3, 4, 1}},
                                                 {{61, 21, 64}, {5, 11, 15}, {2, 5, 7}},
                                                 {{5, 65, 131}, {1, 9, 12}, {0, 4, 6}},
                                                 {{90, 12, 100}, {24, 5, 7}, {20, 2, 3}}};

// Returns options of every method, with and without acceleration, edges and held-out photons.
std::vector<DeconvolveOptions> various_options() {
    std::vector<DeconvolveOptions> all;
    const DeconvolveMethod methods[] = {DeconvolveMethod::scaled_heavy_ball,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy,
                                        DeconvolveMethod::richardson_lucy_tv,
                                        DeconvolveMethod::richardson_lucy_tv,
                                        DeconvolveMethod::wiener_butterworth,
                                        DeconvolveMethod::wiener_butterworth,
                                        DeconvolveMethod::gradient_consensus,
                                        DeconvolveMethod::gradient_consensus,
                                        DeconvolveMethod::non_negative_least_squares,
                                        DeconvolveMethod::non_negative_least_squares,
                                        DeconvolveMethod::wiener,
                                        DeconvolveMethod::wiener};
    for (int k = 0; k < 18; ++k) {
        DeconvolveOptions options;
        options.method = methods[k];
        const bool poisson = options.method != DeconvolveMethod::wiener &&
                             options.method != DeconvolveMethod::non_negative_least_squares;
        options.acceleration = k % 2 || !poisson ? Acceleration::none : Acceleration::biggs_andrews;
        if (k / 2 % 2) options.boundary = Boundary{BoundaryKind::zero};
        options.hold_out = poisson && k / 4 % 2;
        options.coarse_start = 0;
        if (poisson && k % 3 == 0) options.saturation = 300;
        if (uses_option(options.method, "tv_weight")) options.tv_weight = 0.01;
        options.voxel = {0.3, 0.1, 0.1};
        all.push_back(options);
    }
    return all;
}

// Number of sets of options that are tried with each image.
int option_case_count() {
    return static_cast<int>(std::clamp<std::uint64_t>(case_count(18), 1, 18));
}

// Checks that each method was compared `least` times. Tools that slow a GPU down run fewer cases.
void check_counts(const std::map<DeconvolveMethod, int>& compared, int least) {
    if (option_case_count() < 18) return;
    CHECK(compared.size() == 7);
    for (const auto& [method, count] : compared) {
        INFO(to_string(method) << ": " << count);
        CHECK(count >= least);
    }
}

// Bound of the error. Rounding decides a step of gradient consensus if halves nearly disagree.
double bound_of(DeconvolveMethod method) {
    return method == DeconvolveMethod::gradient_consensus ? 1e-3 : 1e-5;
}

// Compares results with those in the memory of one GPU. `choose` returns the GPUs for a plan.
// Plans that `is_meant` rejects are left out. Returns the number of comparisons for each method.
// A total variation that is flat amplifies rounding in every iteration: with transforms of other
// lengths, results agree after `smooth_iterations` only.
template <class Choose, class IsMeant>
std::map<DeconvolveMethod, int> check_against_resident(const char* name,
                                                       const std::vector<VolumeCase>& volumes,
                                                       const Choose& choose,
                                                       const IsMeant& is_meant,
                                                       int smooth_iterations = 12) {
    Random random(test_seed(name));
    std::map<DeconvolveMethod, int> compared;
    const std::vector<DeconvolveOptions> all_options = various_options();
    // If each image gets only some of the options, the next image gets others.
    const std::size_t every = all_options.size() / static_cast<std::size_t>(option_case_count());
    std::size_t begin = 0;
    for (const VolumeCase& volume_case : volumes) {
        const Array psf = gaussian_psf(volume_case.psf, volume_case.center, {1.5, 1.5, 1.5});
        const Specimen specimen =
            bead_specimen(random, volume_case.image, psf, volume_case.center, 4, 20000, 5, 0.5);
        for (std::size_t k = begin++ % every; k < all_options.size(); k += every) {
            DeconvolveOptions options = all_options[k];
            options.background = 5;
            const bool smooth = options.method == DeconvolveMethod::richardson_lucy_tv;
            options.iterations = smooth ? smooth_iterations : 12;
            options.center = {KernelCenter::Kind::explicit_, volume_case.center};
            const Deconvolved resident = deconvolved(specimen.recorded, psf, options, on_gpus({0}));
            const Deconvolver plain(specimen.recorded.shape,
                                    to_volume(psf, PixelType::float64).view(), options,
                                    on_gpus({0}));
            for (const EngineChoice& choice : choose(plain.plan())) {
                INFO(to_string(options.method) << ", image " << to_string(volume_case.image));
                std::string plan;
                try {
                    const Deconvolver planned(specimen.recorded.shape,
                                              to_volume(psf, PixelType::float64).view(), options,
                                              choice);
                    if (!is_meant(planned.plan())) continue;
                    plan = planned.plan().to_string();
                } catch (const OutOfMemory&) {
                    continue;  // the arrays exceed the limit, and walks are impossible
                }
                const Deconvolved got = deconvolved(specimen.recorded, psf, options, choice);
                const Comparison comparison = compare(resident.result, got.result);
                INFO(to_string(options.method)
                     << ", " << to_string(options.acceleration) << ", zero "
                     << options.boundary.has_value() << ", held out " << options.hold_out
                     << ", image " << to_string(volume_case.image) << ", " << plan
                     << comparison.report);
                CHECK(comparison.error < bound_of(options.method));
                CHECK(got.report.iterations == resident.report.iterations);
                CHECK(got.report.restarts == resident.report.restarts);
                CHECK(got.report.last.likelihood ==
                      Approx(resident.report.last.likelihood).epsilon(bound_of(options.method)));
                CHECK(got.result.values ==
                      deconvolved(specimen.recorded, psf, options, choice).result.values);
                ++compared[options.method];
            }
        }
    }
    return compared;
}

}  // namespace

TEST_CASE("device deconvolve: slabs on several GPUs agree with one GPU", "[gpu]") {
    NEEDS_GPU();
    const auto choose = [](const DeconvolvePlan&) {
        std::vector<EngineChoice> choices;
        for (const auto& gpus : sets_of_gpus()) choices.push_back(on_gpus(gpus));
        return choices;
    };
    // Plans whose grid lengths have no passes use one GPU, and are left out.
    auto compared = check_against_resident(
        "slabs", cases_of_planes, choose,
        [](const DeconvolvePlan& plan) { return contains(plan.engines, " gpu:"); });
    check_counts(compared, 4 * static_cast<int>(sets_of_gpus().size()));
}

TEST_CASE("device deconvolve: walks along z agree with arrays in GPU memory", "[gpu]") {
    NEEDS_GPU();
    const auto choose = [](const DeconvolvePlan& resident) {
        std::vector<EngineChoice> choices;
        for (const double share : {0.7, 0.4})
            choices.push_back(on_gpus(
                {0}, static_cast<index_t>(share * static_cast<double>(resident.device_bytes))));
        // Several GPUs compute by walks if slabs do not fit in their memory.
        for (const auto& gpus : sets_of_gpus())
            choices.push_back(on_gpus(
                gpus, resident.device_bytes / 3 * std::count(gpus.begin(), gpus.end(), gpus[0])));
        return choices;
    };
    auto compared = check_against_resident(
        "walks", cases_of_planes, choose, [](const DeconvolvePlan& plan) { return plan.by_walks; },
        6);
    check_counts(compared, 4);
}

TEST_CASE("device deconvolve: walks through tiles of planes agree with arrays in GPU memory",
          "[gpu]") {
    NEEDS_GPU();
    // A ring buffer needs nearly as much memory as all planes; the long rows have no pass.
    const std::vector<VolumeCase> volumes = {{{13, 60, 96}, {11, 4, 6}, {3, 2, 1}},
                                             {{20, 96, 40}, {14, 5, 4}, {7, 2, 2}},
                                             {{6, 24, 4300}, {3, 5, 9}, {1, 2, 4}}};
    const auto choose = [](const DeconvolvePlan& resident) {
        std::vector<EngineChoice> choices;
        for (const double share : {0.5, 0.25}) {
            const auto bytes =
                static_cast<index_t>(share * static_cast<double>(resident.device_bytes));
            choices.push_back(on_gpus({0}, bytes));
            for (const auto& gpus : sets_of_gpus())
                choices.push_back(
                    on_gpus(gpus, bytes * std::count(gpus.begin(), gpus.end(), gpus[0])));
        }
        return choices;
    };
    auto compared = check_against_resident(
        "tiles", volumes, choose, [](const DeconvolvePlan& plan) { return plan.tiles > 1; }, 3);
    check_counts(compared, 4);
}

TEST_CASE("device deconvolve: a walk continues from an estimate, and every estimate can be read",
          "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("walks from an estimate"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.5, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {70, 48, 56}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    const Volume image = to_volume(specimen.recorded, PixelType::float32);
    DeconvolveOptions options;
    options.acceleration = Acceleration::none;
    options.iterations = 6;
    const Deconvolver resident(specimen.recorded.shape, taps.view(), options, on_gpus({0}));
    const EngineChoice small = on_gpus({0}, resident.plan().device_bytes / 2);
    const auto walking = [&](int iterations) {
        options.iterations = iterations;
        return Deconvolver(specimen.recorded.shape, taps.view(), options, small);
    };
    const Deconvolver six = walking(6);
    REQUIRE(six.plan().by_walks);
    Volume whole(specimen.recorded.shape, PixelType::float32);
    Volume second(six.plan().object, PixelType::float32);
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        if (iteration.number == 2) read(second.view());
    };
    six.execute(image.view(), whole.view(), run);
    // The resumed run also has a callback for every iteration. Without it, several iterations would
    // be fused into one walk, with other slabs and other rounding.
    DeconvolveRun rest;
    rest.start = second.view();
    rest.on_iteration = [](const Iteration&, const EstimateReader&) {};
    Volume resumed(specimen.recorded.shape, PixelType::float32);
    walking(4).execute(image.view(), resumed.view(), rest);
    CHECK(to_array(resumed.view()).values == to_array(whole.view()).values);

    std::stop_source stop;
    ExecutionContext context;
    context.stop = stop.get_token();
    run.on_iteration = [&](const Iteration&, const EstimateReader&) { stop.request_stop(); };
    CHECK_THROWS_AS(six.execute(image.view(), whole.view(), run, context), Cancelled);
    six.execute(image.view(), resumed.view());
    six.execute(image.view(), whole.view());
    CHECK(to_array(resumed.view()).values == to_array(whole.view()).values);
}

TEST_CASE("device deconvolve: iterations fused into one walk equal those of several walks",
          "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("iterations of a walk"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.5, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {90, 48, 56}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    const Volume image = to_volume(specimen.recorded, PixelType::uint16);
    int together = 0;
    for (const auto method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::wiener_butterworth}) {
        DeconvolveOptions options;
        options.method = method;
        options.acceleration = Acceleration::none;
        options.iterations = 11;
        const Deconvolver resident(specimen.recorded.shape, taps.view(), options, on_gpus({0}));
        // Limits the memory so that the arrays do not fit, even without the PSF's spectra.
        const auto limited = [&](index_t eighths) {
            return Deconvolver(specimen.recorded.shape, taps.view(), options,
                               on_gpus({0}, resident.plan().device_bytes * eighths / 8));
        };
        index_t eighths = 7;
        while (eighths > 1 && !limited(eighths).plan().by_walks) --eighths;
        const Deconvolver walking = limited(eighths);
        REQUIRE(walking.plan().by_walks);
        together += walking.plan().iterations_a_walk > 1;
        // Returns the estimates after every fifth iteration, and the likelihood of each iteration.
        const auto observe = [&](const Deconvolver& deconvolver, int reads_every) {
            std::pair<std::vector<Array>, std::vector<double>> found;
            Volume result(specimen.recorded.shape, PixelType::float32);
            DeconvolveRun run;
            run.reads_every = reads_every;
            run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
                REQUIRE(iteration.number == static_cast<int>(found.second.size()) + 1);
                found.second.push_back(iteration.likelihood);
                if (iteration.number % 5 != 0 || reads_every == 0) return;
                read(result.view());
                found.first.push_back(to_array(result.view()));
            };
            CHECK(deconvolver.execute(image.view(), result.view(), run).iterations == 11);
            found.first.push_back(to_array(result.view()));
            return found;
        };
        const auto want = observe(resident, 1);
        REQUIRE(want.first.size() == 3);
        for (const int reads_every : {1, 5, 0}) {
            const auto got = observe(walking, reads_every);
            INFO(to_string(method) << ", read after each of " << reads_every << ", plan "
                                   << walking.plan().to_string());
            CHECK(compare(want.first.back(), got.first.back()).error < 1e-5);
            for (std::size_t i = 0; i + 1 < got.first.size(); ++i)
                CHECK(compare(want.first[i], got.first[i]).error < 1e-5);
            REQUIRE(got.second.size() == want.second.size());
            for (std::size_t i = 0; i < want.second.size(); ++i)
                CHECK(got.second[i] == Approx(want.second[i]).epsilon(1e-5));
        }
    }
    if (together == 0) WARN("SKIPPED: no bus slow enough for iterations to go together");
}

TEST_CASE("device deconvolve: a start on coarser images agrees with the CPU", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("coarse start on a GPU"));
    const Index3 center{4, 4, 4};
    const Array psf = gaussian_psf({9, 9, 9}, center, {1.6, 1.8, 1.8});
    const Specimen specimen = bead_specimen(random, {70, 49, 56}, psf, center, 6, 20000, 5, 0.5);
    const Volume taps = to_volume(psf, PixelType::float64);
    for (const bool accelerated : {false, true})
        for (const bool hold_out : {false, true}) {
            DeconvolveOptions options;
            options.acceleration = accelerated ? Acceleration::biggs_andrews : Acceleration::none;
            options.background = 5;
            options.iterations = 4;
            options.hold_out = hold_out;
            options.coarse_start = 5;
            const Deconvolved on_cpu = deconvolved(specimen.recorded, psf, options);
            REQUIRE(on_cpu.report.coarse_iterations > 0);
            const Deconvolver resident(specimen.recorded.shape, taps.view(), options, on_gpus({0}));
            CHECK(resident.plan().on_device);
            const index_t all = resident.plan().device_bytes;
            for (const index_t bytes : {all, all * 5 / 8}) {
                const Deconvolved on_gpu =
                    deconvolved(specimen.recorded, psf, options, on_gpus({0}, bytes));
                const Comparison comparison = compare(on_cpu.result, on_gpu.result);
                INFO("accelerated " << accelerated << ", held out " << hold_out << ", " << bytes
                                    << " of " << all << " bytes: " << comparison.report);
                CHECK(comparison.error < 1e-4);
                CHECK(on_gpu.report.coarse_iterations == on_cpu.report.coarse_iterations);
            }
        }
}

TEST_CASE("device deconvolve: every solution of wiener in a walk can be read", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("walks of wiener"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.5, 1.5, 1.5});
    const Specimen specimen = bead_specimen(random, {70, 48, 56}, psf, center, 6, 20000, 5);
    const Volume taps = to_volume(psf, PixelType::float64);
    const Volume image = to_volume(specimen.recorded, PixelType::uint16);
    DeconvolveOptions options;
    options.method = DeconvolveMethod::wiener;
    options.stop = 0;
    const auto limited = [&](int iterations, std::optional<index_t> max_bytes) {
        options.iterations = iterations;
        return Deconvolver(specimen.recorded.shape, taps.view(), options, on_gpus({0}, max_bytes));
    };
    const Deconvolver resident = limited(2, {});
    const Deconvolver walking = limited(5, resident.plan().device_bytes / 2);
    REQUIRE(walking.plan().by_walks);
    Volume want(specimen.recorded.shape, PixelType::float32);
    Volume second(specimen.recorded.shape, PixelType::float32);
    Volume last(specimen.recorded.shape, PixelType::float32);
    resident.execute(image.view(), want.view());
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        if (iteration.number == 2) read(second.view());
    };
    for (int repeat = 0; repeat < 2; ++repeat) {
        CHECK(walking.execute(image.view(), last.view(), run).iterations == 5);
        const Comparison comparison = compare(to_array(want.view()), to_array(second.view()));
        INFO(comparison.report);
        CHECK(comparison.error < 1e-5);
    }
    CHECK(compare(to_array(second.view()), to_array(last.view())).error > 1e-4);
}

TEST_CASE("device deconvolve: a deconvolution stays within the limit of GPU memory", "[gpu]") {
    NEEDS_GPU();
    const Array psf = gaussian_psf({5, 9, 9}, {2, 4, 4}, {1, 2, 2});
    EngineChoice choice = on_gpus({0});
    choice.max_gpu_bytes = index_t{512} << 20;
    DeconvolveOptions options;
    options.iterations = 2;
    const Deconvolver deconvolver({64, 256, 256}, to_volume(psf, PixelType::float32).view(),
                                  options, choice);
    CHECK(deconvolver.plan().on_device);
    CHECK(deconvolver.plan().device_bytes <= *choice.max_gpu_bytes);
}
