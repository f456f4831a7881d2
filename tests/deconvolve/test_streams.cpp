// SPDX-License-Identifier: Apache-2.0
// Deconvolves images that are read and written plane by plane: results, estimates and errors are
// those of images in memory, each sample is read and written once, and large images are searched in
// a part.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "convolume/error.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/scratch_image.hpp"
#include "deconvolve/caller_images.hpp"
#include "deconvolve/estimates/held_out_search.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/placement.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// An image in memory that counts the samples which are read.
class CountingSource : public ImageSource {
  public:
    explicit CountingSource(const ConstImageView& view) : source_(view) {}
    StackFormat format() const override { return source_.format(); }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        samples += element_count(box.shape());
        source_.read_box(t, c, box, target);
    }
    std::atomic<index_t> samples{0};

  private:
    ViewSource source_;
};

/// A result in memory that counts the samples which are written.
class CountingSink : public ImageSink {
  public:
    explicit CountingSink(const ImageView& view) : sink_(view) {}
    StackFormat format() const override { return sink_.format(); }
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        samples += element_count(box.shape());
        sink_.write_box(t, c, box, source);
    }
    std::atomic<index_t> samples{0};

  private:
    ViewSink sink_;
};

Volume recorded_volume(Random& random, const Shape3& shape, PixelType type) {
    Array image = random.integers(shape, 20, 60);
    image(shape.z / 2, shape.y / 2, shape.x / 2) = 120;
    return to_volume(image, type);
}

std::unique_ptr<deconvolve::Runner> cpu_runner(const deconvolve::DeconvolutionProblem& problem) {
    std::string why;
    return deconvolve::place(problem, cpu_only(2), why);
}

ConstImageView planes_of(const Volume& volume, index_t begin, index_t end) {
    const Shape3 shape = volume.shape();
    return subview(volume.view(), {{begin, 0, 0}, {std::min(end, shape.z), shape.y, shape.x}});
}

}  // namespace

TEST_CASE("deconvolve: estimates do not depend on the number of planes that come at once") {
    Random random(test_seed("planes at once"));
    for (const Shape3& shape : {Shape3{7, 40, 33}, Shape3{5, 1200, 900}, Shape3{1, 50, 60}}) {
        const Volume image = recorded_volume(random, shape, PixelType::uint16);
        const auto want = deconvolve::find_background(image.view());
        const auto photons = deconvolve::estimate_photon_scale(image.view(), 1);
        for (const index_t at_once : {1, 3}) {
            INFO(to_string(shape) << ", " << at_once << " planes");
            deconvolve::BackgroundEstimate background(shape);
            deconvolve::PhotonScaleEstimate scale(shape, image.type());
            for (index_t z = 0; z < shape.z; z += at_once) {
                background.add(planes_of(image, z, z + at_once), z);
                scale.add(planes_of(image, z, z + at_once), z, 2);
            }
            CHECK(background.estimate().level == want.level);
            CHECK(background.estimate().darkest == want.darkest);
            CHECK(background.check(55).darkest ==
                  deconvolve::find_background(image.view(), 55).darkest);
            const auto found = scale.find();
            REQUIRE(found.has_value() == photons.has_value());
            if (!found) continue;
            CHECK(found->gain == photons->gain);
            CHECK(found->offset == photons->offset);
        }
    }
}

TEST_CASE("deconvolve: results of streams have the bits of results in memory") {
    Random random(test_seed("streams"));
    const Array psf = gaussian_psf({3, 5, 5}, {1, 2, 2}, {1, 1, 1});
    for (int k = 0; k < 12; ++k) {
        const Shape3 shape{random.integer(1, 9), random.integer(8, 20), random.integer(8, 20)};
        const PixelType type = random.pick({PixelType::uint8, PixelType::uint16, PixelType::int16,
                                            PixelType::float32, PixelType::float64});
        const PixelType result_type =
            random.pick({PixelType::float32, PixelType::uint16, PixelType::uint8});
        DeconvolveOptions options;
        options.iterations = 3;
        options.method = random.pick({DeconvolveMethod::richardson_lucy, DeconvolveMethod::wiener,
                                      DeconvolveMethod::gradient_consensus});
        if (options.method == DeconvolveMethod::richardson_lucy) {
            options.hold_out = random.chance(0.4);
            options.coarse_start = random.chance(0.3) ? 2 : 0;
            if (random.chance(0.3)) options.saturation = 110;
        }
        const index_t at_once = random.integer(1, 4);
        INFO("case " << k << ": " << to_string(shape) << ' ' << to_string(type) << " to "
                     << to_string(result_type) << ", " << to_string(options.method) << ", "
                     << at_once << " planes at once, held out " << options.hold_out
                     << ", coarse start " << *options.coarse_start);
        const Volume image = recorded_volume(random, shape, type);
        Volume want(shape, result_type), got(shape, result_type);
        poison(got.view());
        const Volume kernel = to_volume(psf, PixelType::float64);
        const DeconvolveReport in_memory = Deconvolver(shape, kernel.view(), options, cpu_only(2))
                                               .execute(image.view(), want.view());

        options.streamed = true;
        CountingSource source(image.view());
        CountingSink sink(got.view());
        DeconvolveReport streamed;
        if (*options.coarse_start > 0 || options.hold_out) {
            streamed =
                Deconvolver(shape, kernel.view(), options, cpu_only(2)).execute(source, sink);
        } else {
            const auto problem = deconvolve::resolve_problem(shape, kernel.view(), options);
            const auto runner = cpu_runner(problem);
            const ExecutionContext context;
            deconvolve::StreamedImages images(source, sink, context, {}, at_once);
            streamed = runner->execute(problem, images, context, {});
        }
        CHECK(to_array(got.view()).values == to_array(want.view()).values);
        // A search reads its part, which is all of a small image.
        CHECK(source.samples == (options.hold_out ? 2 : 1) * element_count(shape));
        CHECK(sink.samples == element_count(shape));
        CHECK(streamed.iterations == in_memory.iterations);
        CHECK(streamed.searched == in_memory.searched);
        CHECK(streamed.background == in_memory.background);
        CHECK(streamed.darkest == in_memory.darkest);
        CHECK(streamed.photons.gain == in_memory.photons.gain);
        CHECK(streamed.photons.offset == in_memory.photons.offset);
        CHECK(streamed.saturated_pixels == in_memory.saturated_pixels);
        CHECK(streamed.executed.clamped_low == in_memory.executed.clamped_low);
        CHECK(streamed.executed.clamped_high == in_memory.executed.clamped_high);
    }
}

TEST_CASE("deconvolve: streams of a wrong kind are refused, and errors name the place") {
    const Volume psf = to_volume(gaussian_psf({1, 3, 3}, {0, 1, 1}, {1, 1, 1}), PixelType::float64);
    const Deconvolver deconvolver({4, 8, 8}, psf.view(), {}, cpu_only(1));
    Volume image({4, 8, 8}, PixelType::float32), result({4, 8, 8}, PixelType::float32);
    ViewSource source(std::as_const(image).view());
    ViewSink sink(result.view());
    ScratchImage channels({{4, 8, 8}, PixelType::float32, 1, 2}, ScratchImage::Place::memory);
    CHECK_THROWS_AS(deconvolver.execute(channels, sink), InvalidArgument);
    const Volume other({3, 8, 8}, PixelType::float32);
    ViewSource thin(other.view());
    CHECK_THROWS_AS(deconvolver.execute(thin, sink), InvalidArgument);
    Volume complex({4, 8, 8}, PixelType::complex64);
    ViewSource complex_source(std::as_const(complex).view());
    CHECK_THROWS_AS(deconvolver.execute(complex_source, sink), BadData);

    image.elements<float>()[(2 * 8 + 3) * 8 + 5] = std::numeric_limits<float>::quiet_NaN();
    try {
        deconvolver.execute(source, sink);
        FAIL("NaN was accepted");
    } catch (const NonfiniteSample& error) {
        CHECK(error.place().index == (Index3{2, 3, 5}));
    }
}

TEST_CASE("deconvolve: a large image is searched in its brightest part", "[long]") {
    Random random(test_seed("search in a part"));
    const Shape3 shape{4, 1500, 1300};
    Volume image(shape, PixelType::uint16);
    auto* const pixels = image.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(shape); ++i)
        pixels[i] = static_cast<std::uint16_t>(random.integer(5, 15));
    // Bright squares at the lower right.
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t k = 0; k < 60; ++k) {
            const index_t y = random.integer(1000, 1494), x = random.integer(850, 1294);
            for (index_t i = 0; i < 36; ++i)
                pixels[(z * shape.y + y + i / 6) * shape.x + x + i % 6] = 900;
        }
    const Volume psf =
        to_volume(gaussian_psf({3, 5, 5}, {1, 2, 2}, {1, 1.5, 1.5}), PixelType::float64);
    DeconvolveOptions options;
    options.iterations = 4;
    options.hold_out = true;
    options.coarse_start = 0;
    const Deconvolver deconvolver(shape, psf.view(), options, cpu_only(2));
    const Shape3 part = deconvolver.plan().searched_part.value();
    CHECK(part == (Shape3{4, 500, 434}));
    Volume result(shape, PixelType::float32);
    int searching = 0, iterating = 0;
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        (iteration.searching ? searching : iterating) += 1;
    };
    ViewSource source(std::as_const(image).view());
    ViewSink sink(result.view());
    const DeconvolveReport report = deconvolver.execute(source, sink, run);
    CHECK(report.searched == searching);
    CHECK(report.iterations == iterating);

    // The bits are those of the same number of iterations by hand.
    options.hold_out = false;
    options.iterations = report.iterations;
    Volume by_hand(shape, PixelType::float32);
    Deconvolver(shape, psf.view(), options, cpu_only(2)).execute(image.view(), by_hand.view());
    CHECK(std::equal(by_hand.elements<float>(), by_hand.elements<float>() + element_count(shape),
                     result.elements<float>()));

    // The number is the one after which the halves of the bright corner's photons are nearest to
    // the other half's last estimate.
    const Box3 corner{{0, 992, 864}, {shape.z, 992 + part.y, 864 + part.x}};
    const deconvolve::PhotonHalves divided = deconvolve::divide_photons(
        subview(std::as_const(image).view(), corner), report.photons, {}, 1);
    options.background = report.background;
    options.offset = report.photons.offset;
    const auto estimate_of = [&](const Volume& half, int iterations) {
        options.iterations = iterations;
        Volume estimate(part, PixelType::float32);
        Deconvolver(part, psf.view(), options, cpu_only(2)).execute(half.view(), estimate.view());
        return estimate;
    };
    const Volume reference = estimate_of(divided.halves[0], 4);
    int nearest = 0;
    double least = 0;
    for (int k = 1; k <= 4; ++k) {
        const Volume estimate = estimate_of(divided.halves[1], k);
        double distance = 0;
        for (index_t i = 0; i < element_count(part); ++i)
            distance += std::pow(estimate.elements<float>()[i] - reference.elements<float>()[i], 2);
        if (nearest > 0 && distance >= least) continue;
        nearest = k;
        least = distance;
    }
    // All photons take a quarter more, unless the reference has hardly more iterations.
    CHECK(report.iterations == (nearest == 4 ? 4 : std::lround(1.25 * nearest)));
}
