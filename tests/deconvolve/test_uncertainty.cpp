// SPDX-License-Identifier: Apache-2.0
// Tests the uncertainty of results: its definition, its memory, and what is refused. The Python
// package's tests compare it with the spread of many recordings.

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/uncertainty.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 divided_shape{8, 20, 22};

struct Case {
    Volume image = Volume(divided_shape, PixelType::uint16);
    Volume psf = to_volume(gaussian_psf({5, 7, 7}, {2, 3, 3}, {1, 1.4, 1.4}), PixelType::float32);

    Case() {
        Random random(test_seed("uncertainty"));
        std::uint16_t* pixel = image.elements<std::uint16_t>();
        for (index_t i = 0; i < element_count(divided_shape); ++i)
            *pixel++ = static_cast<std::uint16_t>(
                100 + 2 * poisson(random, 8 + 60 * std::pow(std::sin(0.03 * double(i % 440)), 8)));
    }
};

DeconvolveOptions options_with(int splits) {
    DeconvolveOptions options;
    options.iterations = 4;
    options.background = 110;
    options.offset = 100;
    if (splits != 0) options.gain = 0.5;
    options.splits = splits;
    return options;
}

struct Estimate {
    Volume result = Volume(divided_shape, PixelType::float32);
    Volume deviation = Volume(divided_shape, PixelType::float32);
    DeconvolveReport report;
    std::vector<Iteration> iterations;
    std::vector<double> progress;
};

Estimate estimate(const Case& of, const DeconvolveOptions& options, int threads = 1) {
    Estimate made;
    ViewSink deviation(made.deviation.view());
    DeconvolveRun run;
    run.uncertainty = &deviation;
    run.on_iteration = [&](const Iteration& done, const EstimateReader&) {
        made.iterations.push_back(done);
    };
    ExecutionContext context;
    context.progress = [&](double fraction) { made.progress.push_back(fraction); };
    made.report = Deconvolver(divided_shape, of.psf.view(), options, cpu_only(threads))
                      .execute(of.image.view(), made.result.view(), run, context);
    return made;
}

double largest_difference(const Volume& a, const Volume& b) {
    double most = 0;
    for (index_t i = 0; i < element_count(divided_shape); ++i)
        most = std::max(most, std::abs(static_cast<double>(a.elements<float>()[i]) -
                                       static_cast<double>(b.elements<float>()[i])));
    return most;
}

}  // namespace

TEST_CASE("uncertainty: it is the spread of halves that are divided and restored one by one") {
    const Case of;
    constexpr int splits = 3;
    const Estimate made = estimate(of, options_with(splits));

    // The same by separate deconvolutions, of halves with twice their photons.
    const DeconvolveOptions options = options_with(0);
    const Deconvolver restore(divided_shape, of.psf.view(), options, cpu_only(1));
    Volume want(divided_shape, PixelType::float32);
    for (int split = 0; split < splits; ++split) {
        Volume halves[2] = {Volume(divided_shape, PixelType::float32),
                            Volume(divided_shape, PixelType::float32)};
        for (index_t i = 0; i < element_count(divided_shape); ++i) {
            const auto purpose = static_cast<deconvolve::ThinningPurpose>(18 + split);
            deconvolve::PixelRandomBits bits(1, purpose, i);
            const auto value = static_cast<float>(of.image.elements<std::uint16_t>()[i]);
            const auto photons = static_cast<std::int64_t>((value - 100) * 0.5F);
            const auto drawn = static_cast<float>(deconvolve::drawn_photons(photons, 1, bits));
            halves[0].elements<float>()[i] = 100 + 2 * drawn / 0.5F;
            halves[1].elements<float>()[i] = 2 * value - halves[0].elements<float>()[i];
        }
        for (Volume& half : halves) restore.execute(std::as_const(half).view(), half.view());
        for (index_t i = 0; i < element_count(divided_shape); ++i) {
            const float half =
                (halves[0].elements<float>()[i] - halves[1].elements<float>()[i]) / 2;
            want.elements<float>()[i] += half * half / splits;
        }
    }
    for (index_t i = 0; i < element_count(divided_shape); ++i)
        want.elements<float>()[i] = std::sqrt(want.elements<float>()[i]);
    CHECK(largest_difference(made.deviation, want) < 1e-3);
    const float* const deviations = made.deviation.elements<float>();
    CHECK(*std::max_element(deviations, deviations + element_count(divided_shape)) > 5);
}

TEST_CASE("uncertainty: the result is that of a run without it, and a seed makes it again") {
    const Case of;
    DeconvolveOptions options = options_with(4);
    const Estimate made = estimate(of, options);
    Volume plain(divided_shape, PixelType::float32);
    Deconvolver(divided_shape, of.psf.view(), options_with(0), cpu_only(1))
        .execute(of.image.view(), plain.view());
    CHECK(largest_difference(made.result, plain) == 0);
    CHECK(largest_difference(made.deviation, estimate(of, options, 3).deviation) < 1e-3);
    options.seed = std::uint64_t{1} << 32;
    CHECK(largest_difference(made.deviation, estimate(of, options).deviation) > 1);

    // Iterations tell their split, and the progress covers all runs.
    CHECK(made.iterations.size() == 4 * (1 + 2 * 4));
    CHECK(made.iterations.front().split == 0);
    CHECK(made.iterations.back().split == 4);
    CHECK(std::is_sorted(made.progress.begin(), made.progress.end()));
    CHECK(made.progress.back() == 1);
    CHECK(made.report.iterations == 4);
    CHECK(made.report.has_gain);
}

TEST_CASE("uncertainty: halves take as many iterations as the result, however these end") {
    const Case of;
    const auto counts = [&](const DeconvolveOptions& options) {
        const Estimate made = estimate(of, options);
        INFO(to_string(options.method));
        int of_result = 0, of_halves = 0;
        for (const Iteration& one : made.iterations)
            if (!one.searching) ++(one.split > 0 ? of_halves : of_result);
        CHECK(of_result == made.report.iterations);
        CHECK(of_halves == 4 * made.report.iterations);
        const float* const deviations = made.deviation.elements<float>();
        CHECK(*std::max_element(deviations, deviations + element_count(divided_shape)) > 1);
    };
    DeconvolveOptions options = options_with(2);
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
          DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::wiener_butterworth,
          DeconvolveMethod::gradient_consensus, DeconvolveMethod::non_negative_least_squares,
          DeconvolveMethod::wiener}) {
        options.method = method;
        counts(options);
    }
    options.iterations = 30;
    options.stop = 0.05;  // of wiener
    counts(options);
    options.method = DeconvolveMethod::gradient_consensus;
    options.stop.reset();
    options.consensus = 0.97;
    counts(options);
    options.method = DeconvolveMethod::richardson_lucy;
    options.consensus = DeconvolveOptions().consensus;
    options.saturation = 160;
    options.hold_out = true;
    options.coarse_start = 5;
    counts(options);
    options.gain.reset();  // estimated from the noise
    options.offset.reset();
    options.background.reset();
    counts(options);
}

TEST_CASE("uncertainty: plans contain its memory") {
    const Case of;
    DeconvolveOptions options = options_with(2);
    options.coarse_start = 2;
    const index_t before = memory_use().current_bytes;
    const Deconvolver engine(divided_shape, of.psf.view(), options, cpu_only());
    Volume result(divided_shape, PixelType::float32), deviation(divided_shape, PixelType::float32);
    ViewSink sink(deviation.view());
    DeconvolveRun run;
    run.uncertainty = &sink;
    reset_memory_peak();
    engine.execute(of.image.view(), result.view(), run);
    CHECK(memory_use().peak_bytes - before <= engine.plan().host_bytes);
    CHECK(engine.plan().splits == 2);
    const auto problem = deconvolve::resolve_problem(divided_shape, of.psf.view(), options);
    options.splits = 0;
    options.gain.reset();
    const Deconvolver without(divided_shape, of.psf.view(), options, cpu_only());
    CHECK(engine.plan().host_bytes ==
          without.plan().host_bytes + deconvolve::uncertainty_bytes(problem));
    options.splits = 2;
    CHECK(engine.plan().to_string().find("4 further runs") != std::string::npos);
    options.max_host_bytes = index_t{100} << 10;
    CHECK_THROWS_AS(Deconvolver(divided_shape, of.psf.view(), options, cpu_only()), OutOfMemory);
}

TEST_CASE("uncertainty: what does not fit is refused") {
    const Case of;
    for (const int splits : {-1, 1, 65})
        CHECK(contains(message_of<InvalidArgument>([&] {
                           Deconvolver(divided_shape, of.psf.view(), options_with(splits),
                                       cpu_only());
                       }),
                       "from 2 to 64"));
    Volume result(divided_shape, PixelType::float32), deviation(divided_shape, PixelType::uint16);
    ViewSink whole(result.view()), integers(deviation.view());
    const auto message_for = [&](int splits, ImageSink& sink, const ImageView& to) {
        const Deconvolver engine(divided_shape, of.psf.view(), options_with(splits), cpu_only());
        DeconvolveRun run;
        run.uncertainty = &sink;
        return message_of<InvalidArgument>([&] { engine.execute(to, to, run); });
    };
    CHECK(contains(message_for(0, whole, result.view()), "was not planned"));
    CHECK(contains(message_for(2, integers, result.view()), "one float32 volume"));
    CHECK(contains(message_for(2, whole, result.view()), "other memory"));
}
