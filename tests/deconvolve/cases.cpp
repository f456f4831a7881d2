// SPDX-License-Identifier: Apache-2.0
#include "tests/deconvolve/cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "convolume/missing_pixels.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/definitions.hpp"
#include "tests/support/compare.hpp"

namespace convolume::testing {

namespace {

// Transforms in float32 err by 1e-6 of the norm (tests/support/compare.hpp); ratios and three
// iterations amplify that by a factor of up to 50.
constexpr double float32_bound = 5e-5;

const std::optional<BoundaryKind> all_edges[] = {std::nullopt,          BoundaryKind::zero,
                                                 BoundaryKind::nearest, BoundaryKind::reflect,
                                                 BoundaryKind::mirror,  BoundaryKind::wrap};

// Solves a linear system by Gaussian elimination with pivoting.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t c = 0; c < n; ++c) {
        std::size_t pivot = c;
        for (std::size_t r = c; r < n; ++r)
            if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
        std::swap(a[c], a[pivot]);
        std::swap(b[c], b[pivot]);
        for (std::size_t r = c + 1; r < n; ++r) {
            const double factor = a[r][c] / a[c][c];
            for (std::size_t k = c; k < n; ++k) a[r][k] -= factor * a[c][k];
            b[r] -= factor * b[c];
        }
    }
    for (std::size_t c = n; c-- > 0;) {
        for (std::size_t k = c + 1; k < n; ++k) b[c] -= a[c][k] * b[k];
        b[c] /= a[c][c];
    }
    return b;
}

}  // namespace

void check_iterations(const EngineChoice& engines) {
    Random random(test_seed("iterations of Richardson and Lucy"));
    const KernelCenter scipy{KernelCenter::Kind::scipy, {}};
    const KernelCenter corner{KernelCenter::Kind::explicit_, {0, 3, 1}};
    struct Case {
        Shape3 psf;
        KernelCenter center;
    };
    bool with_offset = false;
    for (const Case& c : {Case{{3, 5, 3}, {}}, Case{{2, 4, 6}, {}}, Case{{4, 4, 3}, scipy},
                          Case{{3, 4, 5}, corner}})
        for (const auto& edges : all_edges)
            for (const auto method :
                 {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
                  DeconvolveMethod::maximum_a_posteriori}) {
                DeconvolveOptions options;
                options.method = method;
                options.acceleration = Acceleration::none;
                // More iterations with a total variation amplify rounding: the gradient of the
                // total variation jumps where its argument is 0.
                options.iterations = method == DeconvolveMethod::richardson_lucy_tv ? 2 : 3;
                if (edges) options.boundary = Boundary{*edges};
                options.center = c.center;
                options.background = with_offset ? 4.8 : 0.7;
                options.offset = with_offset ? 4.6 : 0;
                if (uses_option(method, "tv_weight")) options.tv_weight = 0.004;
                if (uses_option(method, "roughness")) {
                    options.roughness = 0.03;
                    options.stop = 0;
                }
                options.voxel = {0.3, 0.1, 0.15};
                const Array psf = random_psf(random, c.psf);
                const Array image = random.array({6, 7, 9}, false, 5);
                const Model model(psf, image.shape, options);
                const Array want = model.crop(richardson_lucy(model, image, options));
                const Comparison comparison =
                    compare(want, deconvolved(image, psf, options, engines).result);
                INFO("PSF " << to_string(c.psf) << ", edges "
                            << (edges ? to_string(*edges) : "extend") << ", " << to_string(method)
                            << ", offset " << *options.offset << ": " << comparison.report);
                CHECK(comparison.error < float32_bound);
                with_offset = !with_offset;
            }
}

void check_saturated(const EngineChoice& engines) {
    Random random(test_seed("saturated pixels"));
    for (const auto& edges : all_edges) {
        DeconvolveOptions options;
        options.acceleration = Acceleration::none;
        options.iterations = 3;
        options.background = 0.7;
        options.saturation = 5.3;
        if (edges) options.boundary = Boundary{*edges};
        const Array psf = random_psf(random, {3, 4, 5});
        Array image = random.array({6, 7, 9}, false, 5);
        for (int k = 0; k < 20; ++k)
            image.values[static_cast<std::size_t>(random.integer(0, image.count() - 1))] =
                static_cast<double>(missing_pixel);
        const Model model(psf, image.shape, options);
        const Array want = model.crop(richardson_lucy(model, image, options));
        const Deconvolved done = deconvolved(image, psf, options, engines);
        const Comparison comparison = compare(want, done.result);
        INFO("edges " << (edges ? to_string(*edges) : "extend") << ": " << comparison.report);
        CHECK(comparison.error < float32_bound);
        index_t saturated = 0, missing = 0;
        for (const Complex& value : image.values) {
            const bool is_missing = value.real() >= static_cast<double>(missing_pixel);
            missing += is_missing;
            saturated += value.real() >= 5.3 && !is_missing;
        }
        CHECK(saturated > 10);
        CHECK(done.report.saturated_pixels == saturated);
        CHECK(missing > 10);
        CHECK(done.report.missing_pixels == missing);

        // The values of saturated pixels make no difference to any method.
        Array brighter = image;
        for (Complex& value : brighter.values)
            if (value.real() >= 5.3 && value.real() < static_cast<double>(missing_pixel))
                value = 1000;
        for (const auto method :
             {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
              DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::wiener_butterworth,
              DeconvolveMethod::gradient_consensus})
            for (const bool hold_out : {false, true}) {
                options.method = method;
                options.hold_out = hold_out;
                options.gain.reset();
                if (uses_gain(options)) options.gain = 20;
                INFO(to_string(method) << ", held out " << hold_out);
                CHECK(deconvolved(image, psf, options, engines).result.values ==
                      deconvolved(brighter, psf, options, engines).result.values);
            }
    }
}

void check_pixel_weights(const EngineChoice& engines) {
    Random random(test_seed("weights of pixels"));
    for (const auto& edges : all_edges)
        for (const auto method :
             {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
              DeconvolveMethod::maximum_a_posteriori}) {
            DeconvolveOptions options;
            options.method = method;
            options.acceleration = Acceleration::none;
            options.iterations = method == DeconvolveMethod::richardson_lucy_tv ? 2 : 3;
            options.background = 0.7;
            options.saturation = 4.6;
            options.has_pixel_weights = true;
            if (uses_option(method, "tv_weight")) options.tv_weight = 0.004;
            if (uses_option(method, "roughness")) {
                options.roughness = 0.03;
                options.stop = 0;
            }
            if (edges) options.boundary = Boundary{*edges};
            const Array psf = random_psf(random, {3, 4, 5});
            Array image = random.array({6, 7, 9}, false, 5);
            image.values[17] = static_cast<double>(missing_pixel);
            // The plane of index 2, a column and single pixels have no weight. The largest weight
            // is 7, and counts as 1.
            Array given = random.array(image.shape, false, 1), weights = given;
            for (index_t i = 0; i < given.count(); ++i) {
                const bool counts = i / 63 != 2 && i % 9 != 4 && i % 11 != 0;
                const double at = std::abs(given.values[static_cast<std::size_t>(i)].real());
                given.values[static_cast<std::size_t>(i)] = counts ? std::min(at, 1.0) * 7 : 0;
            }
            given.values[5] = 7;
            for (std::size_t i = 0; i < weights.values.size(); ++i)
                weights.values[i] = given.values[i] / 7.0;
            const Model model(psf, image.shape, options);
            const Array want = model.crop(richardson_lucy(model, image, options, &weights));
            const Comparison comparison =
                compare(want, deconvolved(image, psf, options, engines,
                                          to_volume(given, PixelType::float64).view())
                                  .result);
            INFO("edges " << (edges ? to_string(*edges) : "extend") << ", " << to_string(method)
                          << ": " << comparison.report);
            CHECK(comparison.error < float32_bound);
        }
}

void check_least_squares(const EngineChoice& engines) {
    Random random(test_seed("non-negative least squares"));
    for (const auto& edges : all_edges) {
        DeconvolveOptions options;
        options.method = DeconvolveMethod::non_negative_least_squares;
        options.iterations = 9;
        options.background = 1.5;
        if (edges) options.boundary = Boundary{*edges};
        const Array psf = random_psf(random, {3, 4, 5});
        const Array image = random.array({6, 7, 9}, false, 5);
        const Model model(psf, image.shape, options);
        INFO("edges " << (edges ? to_string(*edges) : "extend"));
        const Array want = model.crop(least_squares(model, image, options));
        const Comparison comparison =
            compare(want, deconvolved(image, psf, options, engines).result);
        INFO(comparison.report);
        CHECK(comparison.error < float32_bound);

        // Checks the Karush-Kuhn-Tucker conditions, if the object has the image's size.
        if (!edges) continue;
        options.iterations = 1500;
        const Array x = deconvolved(image, psf, options, engines).result;
        const Gradient gradient(model, image, x, 1.5);
        const double scale = norm(model.back(image)) / std::sqrt(static_cast<double>(x.count()));
        int positive = 0;
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            const double value = x.values[i].real();
            REQUIRE(value >= 0);
            CHECK(gradient[i] > -2e-3 * scale);
            if (value > 1e-2 * scale) CHECK(gradient[i] < 2e-3 * scale);
            positive += value > 1e-2 * scale;
        }
        CHECK(positive > 10);
        CHECK(positive < static_cast<int>(x.count()));
    }
}

void check_wiener(const EngineChoice& engines) {
    Random random(test_seed("Wiener"));
    for (const auto& edges : all_edges) {
        DeconvolveOptions options;
        options.method = DeconvolveMethod::wiener;
        options.iterations = 200;
        options.stop = 1e-7;
        options.noise_to_signal = 0.03;
        if (edges) options.boundary = Boundary{*edges};
        options.background = 1.5;
        const Array psf = random_psf(random, {2, 3, 4});
        const Array image = random.array({3, 5, 6}, false, 2);
        const Model model(psf, image.shape, options);

        const auto n = static_cast<std::size_t>(element_count(model.object));
        std::vector<std::vector<double>> matrix(n, std::vector<double>(n));
        for (std::size_t i = 0; i < n; ++i) {
            Array unit(model.object);
            unit.values[i] = 1;
            const Array column = model.back(model.blur(unit));
            for (std::size_t r = 0; r < n; ++r) matrix[r][i] = column.values[r].real();
            matrix[i][i] += options.noise_to_signal;
        }
        Array data = image;
        for (Complex& value : data.values) value -= 1.5;
        const Array right = model.back(data);
        std::vector<double> side;
        for (const Complex& value : right.values) side.push_back(value.real());
        Array want(model.object);
        const std::vector<double> solution = solve(matrix, side);
        for (std::size_t i = 0; i < n; ++i) want.values[i] = solution[i];

        const Deconvolved done = deconvolved(image, psf, options, engines);
        const Comparison comparison = compare(model.crop(want), done.result);
        INFO("edges " << (edges ? to_string(*edges) : "extend") << ", residual "
                      << done.report.last.residual << ": " << comparison.report);
        CHECK(comparison.error < float32_bound);
    }
}

void check_flux(const EngineChoice& engines) {
    Random random(test_seed("flux"));
    const Array psf = random_psf(random, {3, 4, 5});
    const Array image = random.array({8, 9, 10}, false, 1);
    for (const int iterations : {1, 4}) {
        DeconvolveOptions options;
        options.acceleration = Acceleration::none;
        options.background = 0;
        options.iterations = iterations;
        for (const BoundaryKind edges : {BoundaryKind::wrap, BoundaryKind::reflect}) {
            options.boundary = Boundary{edges};
            const Model model(psf, image.shape, options);
            const Array weight = model.back(filled(model.image, 1));
            const Array result = deconvolved(image, psf, options, engines).result;
            double weighed = 0;
            for (std::size_t i = 0; i < result.values.size(); ++i)
                weighed += (weight.values[i] * result.values[i]).real();
            CHECK(std::abs(weighed / total(image) - 1) < 1e-5);
            if (edges == BoundaryKind::wrap)
                CHECK(std::abs(total(result) / total(image) - 1) < 1e-5);
        }
    }
}

void check_likelihood(const EngineChoice& engines) {
    Random random(test_seed("likelihood"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.8, 1.4, 1.4});
    for (const double background : {0.0, 3.0}) {
        const Specimen specimen =
            bead_specimen(random, {16, 24, 20}, psf, center, 5, 2000, background, -1);
        index_t zeros = 0;
        for (const Complex& value : specimen.recorded.values) zeros += value == 0.0;
        CHECK(zeros > 100);
        DeconvolveOptions options;
        options.background = background;
        options.iterations = 60;
        options.acceleration = Acceleration::none;
        const Deconvolved plain = deconvolved(specimen.recorded, psf, options, engines);
        const std::vector<double>& likelihoods = plain.likelihoods;
        REQUIRE(likelihoods.size() == 60);
        // The slack allows for rounding in float32 transforms.
        for (std::size_t k = 1; k < likelihoods.size(); ++k) {
            INFO("background " << background << ", iteration " << k);
            CHECK(likelihoods[k] > likelihoods[k - 1] - 1e-6 * std::abs(likelihoods[k - 1]));
        }
        CHECK(likelihoods.front() < 1.2 * likelihoods.back());

        options.acceleration = Acceleration::biggs_andrews;
        const Deconvolved fast = deconvolved(specimen.recorded, psf, options, engines);
        std::size_t reached = 0;
        while (reached < 60 && fast.likelihoods[reached] < likelihoods.back()) ++reached;
        INFO("background " << background << ": plain ends at " << likelihoods.back()
                           << ", reached by iteration " << reached + 1);
        CHECK(reached + 1 < 30);
        for (std::size_t k = 1; k < fast.likelihoods.size(); ++k)
            CHECK(fast.likelihoods[k] >
                  fast.likelihoods[k - 1] - 2e-6 * std::abs(fast.likelihoods[k - 1]));
    }
}

void check_unobserved(const EngineChoice& engines) {
    Random random(test_seed("unobserved"));
    const Index3 center{4, 10, 10};
    // A PSF that is not separable, and so large that transforms are faster than sums.
    Array psf = gaussian_psf({9, 21, 21}, center, {1.8, 1.4, 1.4});
    for (std::size_t i = 0; i < psf.values.size(); ++i)
        psf.values[i] *= 1 + 0.05 * static_cast<double>(i % 11);
    const Volume taps = to_volume(psf, PixelType::float64);
    const Specimen specimen = bead_specimen(random, {24, 44, 40}, psf, center, 5, 2000, 3, -1);
    for (const bool heavy_ball : {false, true}) {
        DeconvolveOptions options;
        options.background = 3;
        options.iterations = 9;
        options.acceleration = Acceleration::none;
        if (heavy_ball) options.method = DeconvolveMethod::scaled_heavy_ball;
        const Deconvolved observed = deconvolved(specimen.recorded, psf, options, engines);
        const Deconvolver deconvolver(specimen.recorded.shape, taps.view(), options, engines);
        const auto unobserved = [&](const Array& image) {
            Volume result(image.shape, PixelType::float32);
            poison(result.view());
            const DeconvolveReport report =
                deconvolver.execute(to_volume(image, PixelType::float32).view(), result.view());
            return std::pair(report, to_array(result.view()));
        };
        const auto [report, result] = unobserved(specimen.recorded);
        const Comparison comparison = compare(observed.result, result);
        INFO(comparison.report);
        CHECK(comparison.error < 1e-6);
        CHECK(report.last.likelihood == Approx(observed.likelihoods.back()).epsilon(1e-6));

        Array bright = specimen.recorded;
        double most = 0;
        for (const Complex& value : bright.values) most = std::max(most, value.real());
        for (Complex& value : bright.values) value *= 3e38 / most;
        const auto overflows = [](const auto& work) {
            try {
                work();
                return false;
            } catch (const BadData&) {
                return true;
            }
        };
        CHECK(overflows([&] { deconvolved(bright, psf, options, engines); }) ==
              overflows([&] { unobserved(bright); }));
    }
}

void check_heavy_ball(const EngineChoice& engines) {
    Random random(test_seed("heavy ball"));
    const Index3 center{3, 3, 3};
    const Array psf = gaussian_psf({7, 7, 7}, center, {1.8, 1.4, 1.4});
    const Specimen specimen = bead_specimen(random, {16, 24, 20}, psf, center, 5, 2000, 3, -1);
    DeconvolveOptions options;
    options.background = 3;
    options.iterations = 1500;
    options.acceleration = Acceleration::biggs_andrews;
    const double least = -deconvolved(specimen.recorded, psf, options, engines).likelihoods.back();
    options.iterations = 60;
    options.acceleration = Acceleration::none;
    const std::vector<double> plain =
        deconvolved(specimen.recorded, psf, options, engines).likelihoods;
    options.method = DeconvolveMethod::scaled_heavy_ball;
    const std::vector<double> ahead =
        deconvolved(specimen.recorded, psf, options, engines).likelihoods;
    // Returns the largest (k + 1)² (misfit - least) over iterations `first` to `last`, from 0.
    const auto bound = [&](const std::vector<double>& likelihoods, std::size_t first,
                           std::size_t last) {
        double most = 0;
        for (std::size_t k = first; k <= last; ++k)
            most = std::max(most,
                            std::pow(static_cast<double>(k + 1), 2) * (-likelihoods.at(k) - least));
        return most;
    };
    CHECK(bound(ahead, 40, 59) <= bound(ahead, 0, 39));
    CHECK(bound(plain, 40, 59) > 1.3 * bound(plain, 0, 39));
    std::size_t reached = 0;
    while (reached < 60 && ahead[reached] < plain.back()) ++reached;
    INFO("reached by iteration " << reached + 1 << ", least misfit " << least);
    CHECK(reached + 1 < 30);
}

void check_held_out(const EngineChoice& engines) {
    const Index3 center{3, 4, 4};
    const Array psf = gaussian_psf({7, 9, 9}, center, {1.7, 1.5, 1.5});
    for (const double photons : {400.0, 4000.0, 40000.0}) {
        Random random(test_seed("held-out photons"));
        const Specimen specimen =
            bead_specimen(random, {20, 48, 48}, psf, center, 40, photons, 2, -1);
        DeconvolveOptions options;
        options.background = 2;
        options.iterations = 150;
        options.hold_out = true;
        options.coarse_start = 0;
        options.gain = 1;
        options.offset = 0;
        const Deconvolved held = deconvolved(specimen.recorded, psf, options, engines);
        options.hold_out = false;
        options.gain.reset();
        INFO(photons << " photons a bead, " << held.report.iterations << " iterations");
        CHECK(held.report.searched > held.report.iterations);
        options.iterations = held.report.iterations;
        const Comparison comparison =
            compare(deconvolved(specimen.recorded, psf, options, engines).result, held.result);
        CHECK(comparison.error < float32_bound);

        double best = 0;
        options.iterations = 150;
        const Shape3& shape = specimen.recorded.shape;
        Volume estimate(shape, PixelType::float32);
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
            constexpr std::array compared{11, 15, 20, 27, 36, 50, 70, 100, 150};
            if (std::count(compared.begin(), compared.end(), iteration.number) == 0) return;
            read(estimate.view());
            best = std::max(best, psnr(specimen.truth, to_array(estimate.view())));
        };
        Deconvolver(shape, to_volume(psf, PixelType::float64).view(), options, engines)
            .execute(to_volume(specimen.recorded, PixelType::float32).view(),
                     Volume(shape, PixelType::float32).view(), run);
        const double reached = psnr(specimen.truth, held.result);
        INFO(reached << " dB, the best is " << best << " dB");
        CHECK(reached > best - 1);
    }
}

void check_beads(const EngineChoice& engines) {
    struct Case {
        Shape3 psf;
        Index3 peak;
        KernelCenter center;
    };
    const KernelCenter off_center{KernelCenter::Kind::explicit_, {2, 6, 3}};
    for (const Case& c : {Case{{9, 9, 9}, {4, 4, 4}, {}}, Case{{8, 10, 8}, {4, 5, 4}, {}},
                          Case{{9, 10, 9}, {2, 6, 3}, off_center}}) {
        Random random(test_seed("beads"));
        const Array psf = gaussian_psf(c.psf, c.peak, {2.2, 1.6, 1.6});
        const Specimen specimen = bead_specimen(random, {26, 32, 36}, psf, c.peak, 5, 40000, 5, 6);
        Array plain = specimen.recorded;
        for (Complex& value : plain.values) value -= 5;
        const double before = psnr(specimen.truth, plain);
        DeconvolveOptions options;
        options.center = c.center;
        options.background = 5;
        for (const auto method :
             {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
              DeconvolveMethod::scaled_heavy_ball}) {
            options.method = method;
            const Array result = deconvolved(specimen.recorded, psf, options, engines).result;
            const double after = psnr(specimen.truth, result);
            INFO("PSF " << to_string(c.psf) << ", " << to_string(method) << ": " << before
                        << " dB before, " << after << " dB after");
            CHECK(after > before + 8);
            for (const Bead& bead : specimen.beads) {
                INFO("bead at " << bead.at[0] << ", " << bead.at[1] << ", " << bead.at[2]);
                CHECK(centroid_shift(result, bead) < 0.1);
            }
        }
    }
}

}  // namespace convolume::testing
