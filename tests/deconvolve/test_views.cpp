// SPDX-License-Identifier: Apache-2.0
// Tests the deconvolution of several views: iterations against the formula in double precision on a
// forward model of direct sums, and results on simulated recordings.

#include <algorithm>
#include <cmath>
#include <random>
#include <stop_token>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/view_deconvolver.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineChoice on_cpu() {
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    return cpu;
}

Volume gaussian(const Shape3& shape, const std::array<double, 3>& sigma) {
    Volume psf(shape, PixelType::float32);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const auto square = [](index_t i, index_t extent, double s) {
                    const double distance = static_cast<double>(i - extent / 2) / s;
                    return distance * distance;
                };
                psf.view().at<float>(z, y, x) = static_cast<float>(
                    std::exp(-0.5 * (square(z, shape.z, sigma[0]) + square(y, shape.y, sigma[1]) +
                                     square(x, shape.x, sigma[2]))));
            }
    return psf;
}

// A turn by a quarter around y: what is along x in the object is along z in the view.
VoxelMap quarter_turn(const Shape3& result) {
    VoxelMap map;
    map.matrix = {{{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}}};
    map.offset = {0, 0, static_cast<double>(result.x - 1)};
    return map;
}

// Points of light, at voxels of the result.
Volume points(const ObjectGrid& grid, Random& random, int count, float light) {
    Volume object(grid.shape, PixelType::float32);
    for (int i = 0; i < count; ++i)
        object.view().at<float>(grid.result_at.z + random.integer(1, grid.result.z - 2),
                                grid.result_at.y + random.integer(1, grid.result.y - 2),
                                grid.result_at.x + random.integer(1, grid.result.x - 2)) += light;
    return object;
}

Volume result_of(const Volume& object, const ObjectGrid& grid) {
    Volume result(grid.result, PixelType::float32);
    Box3 box{grid.result_at, {}};
    for (int a = 0; a < 3; ++a) box.end[a] = grid.result_at[a] + grid.result[a];
    convert_pixels(subview(object.view(), box), result.view());
    return result;
}

double error_of(const Volume& result, const Volume& truth) {
    double squares = 0, of_truth = 0;
    for (index_t i = 0; i < element_count(truth.shape()); ++i) {
        const double right = truth.elements<float>()[i];
        squares += std::pow(result.elements<float>()[i] - right, 2);
        of_truth += right * right;
    }
    return std::sqrt(squares / of_truth);
}

struct Recordings {
    ObjectGrid grid;
    Volume truth;
    std::vector<Volume> images;
    std::vector<ConstImageView> seen() const {
        std::vector<ConstImageView> views;
        for (const Volume& image : images) views.push_back(image.view());
        return views;
    }
};

// Records an object by the forward model, with Poisson noise and a background for each view.
Recordings record(const Shape3& result, const std::vector<View>& views,
                  const std::vector<double>& backgrounds, const std::vector<double>& lights,
                  bool noisy = true) {
    Random random(7);
    std::mt19937_64 noise(11);
    Recordings made{object_grid(result, views), {}, {}};
    const ForwardModel model(made.grid, views, {}, on_cpu());
    const Volume object = points(made.grid, random, 60, 4000);
    made.truth = result_of(object, made.grid);
    for (std::size_t v = 0; v < views.size(); ++v) {
        Volume& image = made.images.emplace_back(views[v].image, PixelType::float32);
        model.record(v, object.view(), image.view());
        for (index_t i = 0; i < element_count(image.shape()); ++i) {
            float& pixel = image.elements<float>()[i];
            const double expected = lights[v] * pixel + backgrounds[v];
            pixel = noisy ? static_cast<float>(std::poisson_distribution<int>(expected)(noise))
                          : static_cast<float>(expected);
        }
    }
    return made;
}

DeconvolveOptions plain(int iterations) {
    DeconvolveOptions options;
    options.iterations = iterations;
    options.acceleration = Acceleration::none;
    options.offset = 0;
    options.gain.reset();
    return options;
}

}  // namespace

TEST_CASE("one view without a map is an image", "[views]") {
    const Volume psf = gaussian({5, 7, 7}, {1, 1.5, 1.5});
    const Shape3 shape{8, 20, 24};
    const std::vector<View> views{{shape, {{psf.view()}}}};
    const Recordings made = record(shape, views, {20}, {1});
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::richardson_lucy_tv,
          DeconvolveMethod::scaled_heavy_ball}) {
        DeconvolveOptions options = plain(8);
        options.method = method;
        if (method == DeconvolveMethod::scaled_heavy_ball)
            options.acceleration = DeconvolveOptions{}.acceleration;
        options.background = 20;
        Volume single(shape, PixelType::float32), together(shape, PixelType::float32);
        Deconvolver(shape, psf.view(), options, on_cpu())
            .execute(made.images[0].view(), single.view());
        ViewDeconvolver(shape, views, options, {}, on_cpu()).execute(made.seen(), together.view());
        CHECK(error_of(together, single) < 1e-4);
    }
}

TEST_CASE("steps of several views are those of the formula", "[views]") {
    Random random(test_seed("steps of views"));
    const Volume psf = gaussian({3, 5, 5}, {1, 1, 1}), other = gaussian({5, 3, 3}, {1, 0.7, 0.7});
    const Shape3 shape{6, 9, 8};
    std::vector<View> views{{shape, {{psf.view()}}}, {{8, 9, 6}, {{other.view()}}}};
    views[1].map = quarter_turn(shape);
    Volume mask({8, 9, 6}, PixelType::float32);
    for (index_t i = 0; i < element_count(mask.shape()); ++i)
        mask.elements<float>()[i] = static_cast<float>(random.uniform());
    mask.elements<float>()[17] = 1;
    const std::vector<double> backgrounds{30, 12}, lights{1, 0.5}, offsets{4, 2}, gains{1, 0.6};
    const Recordings made = record(shape, views, backgrounds, lights, false);
    views[1].mask = mask.view();
    std::vector<ViewLevels> levels(2);
    for (std::size_t v = 0; v < 2; ++v) {
        levels[v].background = backgrounds[v];
        levels[v].light = lights[v];
        levels[v].offset = offsets[v];
        levels[v].gain = gains[v];
    }
    Volume result(shape, PixelType::float32);
    ViewDeconvolver(shape, views, plain(3), levels, on_cpu()).execute(made.seen(), result.view());

    // The same in double precision, through the model, which has tests of its own.
    ForwardModelOptions precise;
    precise.precision = Precision::float64;
    std::vector<View> unmasked = views;
    unmasked[1].mask = {};
    const ForwardModel model(made.grid, unmasked, precise, on_cpu());
    const index_t voxels = element_count(made.grid.shape);
    Volume object(made.grid.shape, PixelType::float64), sums(made.grid.shape, PixelType::float64);
    double start = 0, pixels = 0;
    for (std::size_t v = 0; v < 2; ++v)
        for (index_t i = 0; i < element_count(views[v].image); ++i, pixels += 1)
            start += (made.images[v].elements<float>()[i] - backgrounds[v]) / lights[v];
    start /= pixels;
    std::fill_n(object.elements<double>(), voxels, start);
    const auto weight_of = [&](std::size_t v, index_t i) {
        return v == 0 ? 1.0 : static_cast<double>(mask.elements<float>()[i]);
    };
    Volume weights(made.grid.shape, PixelType::float64);
    for (int iteration = 0; iteration <= 3; ++iteration) {
        std::fill_n(sums.elements<double>(), voxels, 0.0);
        for (std::size_t v = 0; v < 2; ++v) {
            Volume image(views[v].image, PixelType::float64);
            model.record(v, object.view(), image.view());
            for (index_t i = 0; i < element_count(image.shape()); ++i) {
                double& pixel = image.elements<double>()[i];
                // Photons above the offset; the units are those of the first view.
                const double expected = lights[v] * pixel + backgrounds[v] - offsets[v];
                const double ratio =
                    iteration == 0 ? 1
                                   : (made.images[v].elements<float>()[i] - offsets[v]) / expected;
                pixel = gains[v] * lights[v] * weight_of(v, i) * ratio;
            }
            model.add_back(v, image.view(), sums.view());
        }
        if (iteration == 0) {
            std::copy_n(sums.elements<double>(), voxels, weights.elements<double>());
            continue;
        }
        for (index_t i = 0; i < voxels; ++i) {
            const double weight = weights.elements<double>()[i];
            object.elements<double>()[i] *= weight < 0.01 ? 0 : sums.elements<double>()[i] / weight;
        }
    }
    Volume floats(made.grid.shape, PixelType::float32);
    convert_pixels(object.view(), floats.view());
    CHECK(error_of(result, result_of(floats, made.grid)) < 1e-4);
}

TEST_CASE("views without weights are those with weights of one", "[views]") {
    const Volume psf = gaussian({3, 5, 5}, {1, 1, 1});
    const Shape3 shape{8, 9, 8};
    std::vector<View> views{{shape, {{psf.view()}}}, {shape, {{psf.view()}}}};
    views[1].map = quarter_turn(shape);
    const Recordings made = record(shape, views, {30, 12}, {1, 0.5});
    std::vector<ViewLevels> levels(2);
    for (std::size_t v = 0; v < 2; ++v) {
        levels[v].background = v == 0 ? 30 : 12;
        levels[v].offset = v == 0 ? 5 : 2;
        levels[v].gain = v == 0 ? 1 : 0.7;
    }
    Volume ones(shape, PixelType::float32);
    std::fill_n(ones.elements<float>(), element_count(shape), 1.0F);
    std::vector<View> masked = views;
    masked[0].mask = ones.view();
    for (const ViewUpdates updates : {ViewUpdates::simultaneous, ViewUpdates::sequential}) {
        DeconvolveOptions options = plain(4);
        options.view_updates = updates;
        options.saturation = 300;
        Volume with(shape, PixelType::float32), without(shape, PixelType::float32);
        const ViewDeconvolver weighs(shape, masked, options, levels, on_cpu());
        const ViewDeconvolver does_not(shape, views, options, levels, on_cpu());
        CHECK(does_not.plan().array_bytes < weighs.plan().array_bytes);
        CHECK(weighs.execute(made.seen(), with.view())[0].saturated_pixels > 0);
        does_not.execute(made.seen(), without.view());
        CHECK(error_of(without, with) == 0);
    }
}

TEST_CASE("two views restore better than either", "[views][long]") {
    const Volume psf = gaussian({15, 7, 7}, {3, 1, 1});
    const Shape3 shape{24, 20, 24};
    std::vector<View> views{{shape, {{psf.view()}}}, {shape, {{psf.view()}}}};
    views[1].map = quarter_turn(shape);
    const Recordings made = record(shape, views, {100, 40}, {1, 1});
    const auto restored = [&](std::vector<std::size_t> chosen) {
        std::vector<View> some;
        std::vector<ConstImageView> images;
        for (const std::size_t v : chosen) {
            some.push_back(views[v]);
            images.push_back(made.images[v].view());
        }
        Volume result(shape, PixelType::float32);
        const auto reports =
            ViewDeconvolver(shape, some, {}, {}, on_cpu()).execute(images, result.view());
        CHECK(reports.size() == chosen.size());
        CHECK(reports[0].searched > 0);
        for (std::size_t i = 0; i < chosen.size(); ++i)
            CHECK(std::abs(reports[i].background - (chosen[i] == 0 ? 100 : 40)) < 4);
        return error_of(result, made.truth);
    };
    const double first = restored({0}), second = restored({1}), both = restored({0, 1});
    CAPTURE(first, second, both);
    CHECK(both < 0.85 * std::min(first, second));
}

TEST_CASE("a deconvolver of views works after a stop between them", "[views]") {
    const Volume psf = gaussian({5, 7, 7}, {1, 1.5, 1.5});
    const Shape3 shape{8, 20, 24};
    std::vector<View> views{{shape, {{psf.view()}}}, {shape, {{psf.view()}}}};
    views[1].map.offset = {0, 1, 0};
    const Recordings made = record(shape, views, {20, 20}, {1, 1});
    DeconvolveOptions options = plain(6);
    options.view_updates = ViewUpdates::sequential;
    const ViewDeconvolver deconvolver(shape, views, options, {}, on_cpu());
    Volume once(shape, PixelType::float32), again(shape, PixelType::float32);
    deconvolver.execute(made.seen(), once.view());
    for (int calls = 1; calls < 8; ++calls) {
        std::stop_source source;
        ExecutionContext context;
        context.stop = source.get_token();
        int left = calls;
        context.progress = [&](double) {
            if (--left == 0) source.request_stop();
        };
        CHECK_THROWS_AS(deconvolver.execute(made.seen(), again.view(), {}, context), Cancelled);
        deconvolver.execute(made.seen(), again.view());
        CHECK(error_of(again, once) == 0);
    }
}

TEST_CASE("pixels outside the result are left out", "[views]") {
    const Volume psf = gaussian({3, 5, 5}, {1, 1, 1});
    const Shape3 shape{6, 16, 16};
    std::vector<View> views{{shape, {{psf.view()}}}, {shape, {{psf.view()}}}};
    views[1].map.offset = {0, 8, 0};  // half of it is beyond the result
    const Recordings made = record(shape, views, {20, 20}, {1, 1}, false);
    Volume result(shape, PixelType::float32), other(shape, PixelType::float32);
    const ViewDeconvolver deconvolver(shape, views, plain(10), {}, on_cpu());
    deconvolver.execute(made.seen(), result.view());
    Recordings changed = record(shape, views, {20, 20}, {1, 1}, false);
    for (index_t z = 0; z < 6; ++z)
        for (index_t y = 8; y < 16; ++y)
            for (index_t x = 0; x < 16; ++x) changed.images[1].view().at<float>(z, y, x) = 20;
    std::vector<ViewLevels> levels(2);
    levels[0].background = levels[1].background = 20;
    const ViewDeconvolver given(shape, views, plain(10), levels, on_cpu());
    given.execute(made.seen(), result.view());
    given.execute(changed.seen(), other.view());
    // The mean of all pixels, where iterations start, differs; what they find hardly does.
    CHECK(error_of(other, result) < 0.05);
    CHECK(error_of(result, made.truth) < 0.9);
}

TEST_CASE("views say what is wrong", "[views]") {
    const Volume psf = gaussian({3, 3, 3}, {1, 1, 1});
    const Shape3 shape{4, 6, 8};
    const std::vector<View> views(2, View{shape, {{psf.view()}}});
    const auto error = [&](const auto& act) { return message_of<Error>(act); };
    DeconvolveOptions options;
    options.method = DeconvolveMethod::non_negative_least_squares;
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, options); }), "choose rl"));
    options.method = DeconvolveMethod::wiener_butterworth;
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, options); }), "choose rl"));
    options = {};
    options.has_varying_background = true;
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, options); }), "one view alone"));
    CHECK(contains(error([&] { ViewDeconvolver(shape, {}, {}); }), "no view"));
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, {}, {ViewLevels{}}); }),
                   "there are 2 views, but the levels of 1"));
    CHECK(contains(error([&] { ViewDeconvolver(shape, {View{shape}}); }), "view 1 has no PSF"));
    CHECK(contains(error([&] {
                       ViewDeconvolver({4, 0, 8}, views);
                   }),
                   "extent of the result along y is 0"));
    std::vector<ViewLevels> levels(2);
    levels[1].light = 0;
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, {}, levels); }), "above 0"));
    std::vector<View> elsewhere = views;
    for (View& view : elsewhere) view.map.offset = {0, 1000, 0};
    Volume image(shape, PixelType::float32), result(shape, PixelType::float32);
    std::fill_n(image.elements<float>(), element_count(shape), 5.0F);
    const ViewDeconvolver nowhere(shape, elsewhere, plain(2), {}, on_cpu());
    CHECK(contains(error([&] {
                       nowhere.execute({image.view(), image.view()}, result.view());
                   }),
                   "no pixel of the views is inside the result"));
    const ViewDeconvolver deconvolver(shape, views, plain(2), {}, on_cpu());
    CHECK(contains(error([&] { deconvolver.execute({image.view()}, result.view()); }),
                   "planned for 2 views, but there are 1 images"));
    DeconvolveOptions small = plain(2);
    small.max_host_bytes = 1000;
    CHECK(contains(error([&] { ViewDeconvolver(shape, views, small); }), "of host memory instead"));
}
