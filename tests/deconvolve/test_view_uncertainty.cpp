// SPDX-License-Identifier: Apache-2.0
// Tests the uncertainty of the object of several views: its definition, its memory, and what is
// refused. The Python package's tests compare it with the spread of many recordings.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/view_deconvolver.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 seen_shape{8, 12, 14};
constexpr float view_gains[] = {0.5F, 0.25F};

struct TwoViews {
    Volume psf = to_volume(gaussian_psf({5, 5, 5}, {2, 2, 2}, {1, 1.2, 1.2}), PixelType::float32);
    std::vector<Volume> images;
    std::vector<View> views{{seen_shape, {{psf.view()}}}, {seen_shape, {{psf.view()}}}};
    std::vector<ViewLevels> levels;

    TwoViews() {
        views[1].map.offset = {0, 1.5, 0};
        Random random(test_seed("view uncertainty"));
        for (const float gain : view_gains) {
            Volume& image = images.emplace_back(seen_shape, PixelType::float32);
            for (index_t i = 0; i < element_count(seen_shape); ++i) {
                const double light = 8 + 60 * std::pow(std::sin(0.03 * double(i % 440)), 8);
                image.elements<float>()[i] =
                    100 + static_cast<float>(poisson(random, light)) / gain;
            }
            ViewLevels& one = levels.emplace_back();
            one.background = 100 + 6 / gain;
            one.offset = 100;
            one.gain = gain;
        }
    }
    static std::vector<ConstImageView> seen(const std::vector<Volume>& volumes) {
        std::vector<ConstImageView> all;
        for (const Volume& one : volumes) all.push_back(one.view());
        return all;
    }
    ViewDeconvolver with(int splits) const {
        DeconvolveOptions options;
        options.iterations = 4;
        options.splits = splits;
        return {seen_shape, views, options, levels, cpu_only(1)};
    }
};

struct ViewEstimate {
    Volume result = Volume(seen_shape, PixelType::float32);
    Volume deviation = Volume(seen_shape, PixelType::float32);
    std::vector<DeconvolveReport> reports;
    std::vector<Iteration> iterations;
    std::vector<double> progress;
};

ViewEstimate estimate(const TwoViews& of, int splits) {
    ViewEstimate made;
    ViewSink deviation(made.deviation.view());
    DeconvolveRun run;
    run.uncertainty = &deviation;
    run.on_iteration = [&](const Iteration& done, const EstimateReader&) {
        made.iterations.push_back(done);
    };
    ExecutionContext context;
    context.progress = [&](double fraction) { made.progress.push_back(fraction); };
    made.reports =
        of.with(splits).execute(TwoViews::seen(of.images), made.result.view(), run, context);
    return made;
}

}  // namespace

TEST_CASE("view uncertainty: it is the spread of halves that are divided and restored one by one") {
    const TwoViews of;
    constexpr int splits = 3;
    const ViewEstimate made = estimate(of, splits);

    const ViewDeconvolver restore = of.with(0);
    Volume want(seen_shape, PixelType::float32);
    const index_t pixels = element_count(seen_shape);
    for (int split = 0; split < splits; ++split) {
        std::vector<Volume> halves[2], results;
        for (std::size_t v = 0; v < 2; ++v) {
            for (auto& half : halves) half.emplace_back(seen_shape, PixelType::float32);
            for (index_t i = 0; i < pixels; ++i) {
                // Pixels of the second view have numbers behind those of the first one.
                const auto purpose = static_cast<deconvolve::ThinningPurpose>(18 + split);
                deconvolve::PixelRandomBits bits(1, purpose, static_cast<index_t>(v) * pixels + i);
                const float value = of.images[v].elements<float>()[i];
                const auto photons = static_cast<std::int64_t>((value - 100) * view_gains[v]);
                const auto drawn = static_cast<float>(deconvolve::drawn_photons(photons, 1, bits));
                halves[0][v].elements<float>()[i] = 100 + 2 * drawn / view_gains[v];
                halves[1][v].elements<float>()[i] = 2 * value - halves[0][v].elements<float>()[i];
            }
        }
        for (const auto& half : halves)
            restore.execute(TwoViews::seen(half),
                            results.emplace_back(seen_shape, PixelType::float32).view());
        for (index_t i = 0; i < pixels; ++i) {
            const float half =
                (results[0].elements<float>()[i] - results[1].elements<float>()[i]) / 2;
            want.elements<float>()[i] += half * half / splits;
        }
    }
    double most = 0;
    for (index_t i = 0; i < pixels; ++i)
        most = std::max(most, std::abs(double(made.deviation.elements<float>()[i]) -
                                       std::sqrt(double(want.elements<float>()[i]))));
    CHECK(most < 2e-3);
    const float* const deviations = made.deviation.elements<float>();
    CHECK(*std::max_element(deviations, deviations + pixels) > 3);

    // The result, the levels and the progress are those of one run.
    Volume plain(seen_shape, PixelType::float32);
    restore.execute(TwoViews::seen(of.images), plain.view());
    CHECK(std::equal(plain.elements<float>(), plain.elements<float>() + pixels,
                     made.result.elements<float>()));
    CHECK(made.reports[1].photons.gain == 0.25);
    CHECK(made.iterations.size() == 4 * (1 + 2 * splits));
    CHECK(made.iterations.back().split == splits);
    CHECK(std::is_sorted(made.progress.begin(), made.progress.end()));
    CHECK(made.progress.back() == 1);
}

TEST_CASE("view uncertainty: plans contain its memory, and the next run is as without it") {
    const TwoViews of;
    const ViewDeconvolver with = of.with(2);
    CHECK(with.plan().splits == 2);
    // An estimate and sums, and planes that are read.
    CHECK(with.plan().host_bytes >
          of.with(0).plan().host_bytes + 2 * 4 * element_count(seen_shape));
    ViewEstimate first, second;
    ViewSink deviation(first.deviation.view());
    DeconvolveRun run;
    run.uncertainty = &deviation;
    with.execute(TwoViews::seen(of.images), first.result.view(), run);
    with.execute(TwoViews::seen(of.images), second.result.view());
    CHECK(std::equal(first.result.elements<float>(),
                     first.result.elements<float>() + element_count(seen_shape),
                     second.result.elements<float>()));
}

TEST_CASE("view uncertainty: what does not fit is refused") {
    TwoViews of;
    ViewEstimate made;
    DeconvolveRun run;
    ViewSink deviation(made.deviation.view());
    run.uncertainty = &deviation;
    const auto images = TwoViews::seen(of.images);
    CHECK(contains(
        message_of<InvalidArgument>([&] { of.with(0).execute(images, made.result.view(), run); }),
        "was not planned"));
    CHECK(contains(
        message_of<InvalidArgument>([&] { of.with(2).execute(images, of.images[1].view(), run); }),
        "other memory"));
    Volume small({2, 12, 14}, PixelType::float32);
    ViewSink of_small(small.view());
    run.uncertainty = &of_small;
    CHECK(contains(
        message_of<InvalidArgument>([&] { of.with(2).execute(images, made.result.view(), run); }),
        "give one float32 volume of 8×12×14"));
}
