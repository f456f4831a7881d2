// SPDX-License-Identifier: Apache-2.0
// Tests the forward model: images against sums in double precision, and the adjoint.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/forward_model.hpp"
#include "tests/catch.hpp"
#include "tests/forward/views.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr double degree = 3.14159265358979 / 180;

double value_at(const Volume& object, index_t z, index_t y, index_t x) {
    const Shape3 shape = object.shape();
    if (z < 0 || y < 0 || x < 0 || z >= shape.z || y >= shape.y || x >= shape.x) return 0;
    return object.elements<double>()[(z * shape.y + y) * shape.x + x];
}

// Returns the object at a position, as a sum over voxels of products of three hat functions.
double interpolated(const Volume& object, const std::array<double, 3>& at) {
    double sum = 0;
    const auto hat = [](double distance) { return std::max(0.0, 1 - std::abs(distance)); };
    for (index_t z = 0; z < object.shape().z; ++z)
        for (index_t y = 0; y < object.shape().y; ++y)
            for (index_t x = 0; x < object.shape().x; ++x)
                sum += hat(at[0] - static_cast<double>(z)) * hat(at[1] - static_cast<double>(y)) *
                       hat(at[2] - static_cast<double>(x)) * value_at(object, z, y, x);
    return sum;
}

// Returns the object at a voxel of a view, as a mean over the extents of the voxel.
double seen(const Volume& object, const ObjectGrid& grid, const VoxelMap& map,
            const std::array<double, 3>& voxel, const std::array<int, 3>& samples) {
    double sum = 0;
    for (int i = 0; i < samples[0]; ++i)
        for (int j = 0; j < samples[1]; ++j)
            for (int k = 0; k < samples[2]; ++k) {
                const std::array<int, 3> sample{i, j, k};
                std::array<double, 3> at = voxel;
                for (std::size_t a = 0; a < 3; ++a) at[a] += (sample[a] + 0.5) / samples[a] - 0.5;
                at = map(at);
                for (std::size_t a = 0; a < 3; ++a)
                    at[a] += static_cast<double>(grid.result_at[static_cast<int>(a)]);
                sum += interpolated(object, at);
            }
    return sum / (samples[0] * samples[1] * samples[2]);
}

// Returns one pixel of the image of a view with PSFs of odd extents k, centered at (k - 1) / 2, and
// weights that are given for each of them.
template <class WeightOf>
double pixel_of(const Volume& object, const ObjectGrid& grid, const View& view, const Index3& at,
                const std::array<int, 3>& samples, const WeightOf& weight_of) {
    double sum = 0;
    for (std::size_t k = 0; k < view.psfs.size(); ++k) {
        const ConstImageView& psf = view.psfs[k].psf;
        double psf_sum = 0, blurred = 0;
        for (index_t z = 0; z < psf.shape.z; ++z)
            for (index_t y = 0; y < psf.shape.y; ++y)
                for (index_t x = 0; x < psf.shape.x; ++x) {
                    const auto tap = psf.at<double>(z, y, x);
                    const std::array<double, 3> from{
                        static_cast<double>(at.z + psf.shape.z / 2 - z),
                        static_cast<double>(at.y + psf.shape.y / 2 - y),
                        static_cast<double>(at.x + psf.shape.x / 2 - x)};
                    psf_sum += tap;
                    blurred +=
                        tap * weight_of(k, from) * seen(object, grid, view.map, from, samples);
                }
        sum += blurred / psf_sum;
    }
    return sum;
}

double dot(const Volume& a, const Volume& b) {
    Volume first(a.shape(), PixelType::float64), second(b.shape(), PixelType::float64);
    convert_pixels(a.view(), first.view());
    convert_pixels(b.view(), second.view());
    double sum = 0;
    for (index_t i = 0; i < element_count(a.shape()); ++i)
        sum += first.elements<double>()[i] * second.elements<double>()[i];
    return sum;
}

// Checks that ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ for all views.
void check_adjoint(const std::vector<View>& views, const Shape3& result, Precision precision,
                   Random& random) {
    const bool is_double = precision == Precision::float64;
    const PixelType type = is_double ? PixelType::float64 : PixelType::float32;
    ForwardModelOptions options;
    options.precision = precision;
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    const ForwardModel model(object_grid(result, views), views, options, cpu);
    const Volume object = random_volume(random, model.object().shape, type);
    Volume back(model.object().shape, type);
    double images = 0;
    for (std::size_t v = 0; v < model.views(); ++v) {
        Volume image(model.image(v), type);
        model.record(v, object.view(), image.view());
        const Volume other = random_volume(random, model.image(v), type);
        images += dot(image, other);
        model.add_back(v, other.view(), back.view());
    }
    const double objects = dot(object, back);
    CAPTURE(images, objects);
    CHECK(images > 0);
    CHECK(std::abs(images - objects) <= (is_double ? 1e-12 : 1e-5) * std::abs(images));
}

}  // namespace

TEST_CASE("images are the sums of the definition", "[forward]") {
    Random random(test_seed("forward model"));
    const Volume psf = random_volume(random, {3, 3, 5});
    const Volume other_psf = random_volume(random, {3, 5, 3});
    std::vector<View> views;
    views.push_back({{4, 6, 7}, {{psf.view()}}});
    views.push_back({{5, 6, 4}, {{psf.view()}}, turned(90 * degree, {0, 0, 6})});
    views.push_back({{2, 6, 5}, {{psf.view()}}, turned(30 * degree, {-1, 0.3, 2}, 2.5)});
    const std::array<std::array<int, 3>, 3> samples{{{1, 1, 1}, {1, 1, 1}, {3, 1, 1}}};
    views.push_back({{4, 6, 7}, {{psf.view(), {}, {0, 2, 0}}, {other_psf.view(), {}, {0, 4, 0}}}});
    const Volume mask = random_volume(random, {5, 6, 4});
    views[1].mask = mask.view();
    const ObjectGrid grid = object_grid({4, 6, 7}, views);
    ForwardModelOptions options;
    options.precision = Precision::float64;
    const ForwardModel model(grid, views, options);
    const Volume object = random_volume(random, grid.shape);
    const auto one_psf = [](std::size_t, const std::array<double, 3>&) { return 1.0; };
    const auto two_psfs = [](std::size_t k, const std::array<double, 3>& at) {
        const double second = std::clamp((at[1] - 2) / 2, 0.0, 1.0);
        return k == 0 ? 1 - second : second;
    };
    for (std::size_t v = 0; v < views.size(); ++v) {
        Volume image(views[v].image, PixelType::float64);
        model.record(v, object.view(), image.view());
        double worst = 0;
        for (index_t z = 0; z < image.shape().z; ++z)
            for (index_t y = 0; y < image.shape().y; ++y)
                for (index_t x = 0; x < image.shape().x; ++x) {
                    double right =
                        v < 3 ? pixel_of(object, grid, views[v], {z, y, x}, samples[v], one_psf)
                              : pixel_of(object, grid, views[v], {z, y, x}, samples[0], two_psfs);
                    if (v == 1) right *= value_at(mask, z, y, x);
                    worst = std::max(worst, std::abs(value_at(image, z, y, x) - right));
                }
        CAPTURE(v);
        CHECK(worst < 1e-12);
    }
}

TEST_CASE("the adjoint is exact for all geometries, PSFs, masks and boundaries", "[forward]") {
    Random random(test_seed("adjoint of the forward model"));
    const Volume psf = random_volume(random, {3, 4, 5}), wide = random_volume(random, {5, 7, 3});
    const Volume mask = random_volume(random, {6, 9, 11});
    VoxelMap sheared;
    sheared.matrix[2][0] = 1.7;
    const std::vector<VoxelMap> maps{{},
                                     {.offset = {1, -2, 3}},
                                     {.offset = {0.5, 0, 0}},
                                     turned(90 * degree, {0, 0, 10}),
                                     turned(33 * degree, {-2, 0, 3}, 3.2),
                                     sheared};
    std::vector<std::optional<Boundary>> boundaries(1);
    for (const BoundaryKind kind :
         {BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect, BoundaryKind::mirror,
          BoundaryKind::wrap})
        boundaries.push_back(Boundary{kind});
    for (const Precision precision : {Precision::float32, Precision::float64})
        for (const auto& boundary : boundaries)
            for (const VoxelMap& map : maps)
                for (const bool is_field : {false, true})
                    for (const bool is_masked : {false, true}) {
                        std::vector<View> views{{{6, 9, 11}, {{psf.view()}}}};
                        if (is_field)
                            views[0].psfs = {{psf.view(), {KernelCenter::Kind::peak}, {0, 0, 2}},
                                             {wide.view(), {}, {0, 0, 9}}};
                        views[0].map = map;
                        views[0].boundary = boundary;
                        if (is_masked) views[0].mask = mask.view();
                        check_adjoint(views, {6, 9, 11}, precision, random);
                    }
}

TEST_CASE("images and adjoints do not depend on threads", "[forward]") {
    Random random(test_seed("threads of the forward model"));
    const Volume psf = random_volume(random, {3, 3, 3});
    const std::vector<View> views{{{9, 8, 12}, {{psf.view()}}, turned(40 * degree, {1, 0, 2}, 2)}};
    const ObjectGrid grid = object_grid({9, 8, 12}, views);
    const Volume object = random_volume(random, grid.shape, PixelType::float32);
    std::vector<float> first;
    for (const int threads : {1, 2, 5}) {
        EngineChoice cpu;
        cpu.device = EngineChoice::Device::cpu;
        cpu.threads = threads;
        const ForwardModel model(grid, views, {}, cpu);
        Volume image(views[0].image, PixelType::float32), back(grid.shape, PixelType::float32);
        model.record(0, object.view(), image.view());
        model.add_back(0, image.view(), back.view());
        const float* const values = back.elements<float>();
        const std::vector<float> found(values, values + element_count(grid.shape));
        if (threads == 1) first = found;
        CHECK(found == first);
    }
}

TEST_CASE("light is kept where all views see it", "[forward]") {
    Random random(test_seed("light of the forward model"));
    const Volume psf = random_volume(random, {3, 3, 3});
    // Voxels of the second view are four voxels of the object long along z.
    std::vector<View> views{{{16, 12, 12}, {{psf.view()}}}, {{4, 12, 12}, {{psf.view()}}}};
    views[1].map.matrix[0][0] = 4;
    views[1].map.offset[0] = 1.5;
    const ForwardModel model(object_grid({16, 12, 12}, views), views);
    Volume object(model.object().shape, PixelType::float32);
    std::fill_n(object.elements<float>(), element_count(object.shape()), 3.0F);
    for (std::size_t v = 0; v < 2; ++v) {
        Volume image(views[v].image, PixelType::float32);
        model.record(v, object.view(), image.view());
        for (index_t i = 0; i < element_count(image.shape()); ++i)
            CHECK(std::abs(image.elements<float>()[i] - 3) < 1e-4);
    }
    // Every voxel of the result sends equal light to these pixels.
    Volume ones(views[1].image, PixelType::float32), back(model.object().shape, PixelType::float32);
    std::fill_n(ones.elements<float>(), element_count(ones.shape()), 1.0F);
    model.add_back(1, ones.view(), back.view());
    const Index3 at = model.object().result_at;
    for (index_t z = 4; z < 12; ++z)
        CHECK(back.view().at<float>(at.z + z, at.y + 6, at.x + 6) == Approx(0.25));
}

TEST_CASE("the forward model says what is wrong", "[forward]") {
    Random random(test_seed("errors of the forward model"));
    const Volume psf = random_volume(random, {3, 3, 3});
    const View good{{4, 5, 6}, {{psf.view()}}};
    const auto model_of = [](const View& view) {
        return ForwardModel(object_grid({4, 5, 6}, {view}), {view});
    };
    CHECK(contains(message_of<InvalidArgument>([&] { ForwardModel({}, {}); }), "no view"));
    View view = good;
    view.psfs.clear();
    CHECK(contains(message_of<InvalidArgument>([&] { model_of(view); }), "view 1 has no PSF"));
    view = good;
    view.psfs.assign(3, good.psfs[0]);
    view.psfs[1].at = {0, 2, 0};
    view.psfs[2].at = {0, 0, 2};
    CHECK(contains(message_of<InvalidArgument>([&] { model_of(view); }), "a grid of 4 places"));
    view = good;
    view.map.matrix = {};
    CHECK(contains(message_of<InvalidArgument>([&] { model_of(view); }), "has no inverse"));
    view = good;
    view.mask = psf.view();
    CHECK(
        contains(message_of<InvalidArgument>([&] { model_of(view); }), "mask of view 1 is 3×3×3"));
    view = good;
    view.boundary = Boundary{BoundaryKind::constant, 2};
    CHECK(contains(message_of<InvalidArgument>([&] { model_of(view); }), "another boundary"));
    view = good;
    view.image.z = 0;
    CHECK(contains(message_of<InvalidArgument>([&] { model_of(view); }),
                   "extent of view 1 along z is 0"));
    const ForwardModel model = model_of(good);
    Volume doubles({4, 5, 6}, PixelType::float64);
    Volume object(model.object().shape, PixelType::float32), image({4, 5, 6}, PixelType::float32);
    CHECK(
        contains(message_of<InvalidArgument>([&] { model.record(1, object.view(), image.view()); }),
                 "no view 2"));
    CHECK(
        contains(message_of<InvalidArgument>([&] { model.record(0, image.view(), image.view()); }),
                 "the object is 4×5×6"));
    CHECK(contains(
        message_of<InvalidArgument>([&] { model.record(0, object.view(), doubles.view()); }),
        "float64"));
    ForwardModelOptions small;
    small.max_host_bytes = 100;
    CHECK_THROWS_AS(ForwardModel(object_grid({4, 5, 6}, {good}), {good}, small), OutOfMemory);
}
