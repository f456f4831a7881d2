// SPDX-License-Identifier: Apache-2.0
// Tests PSFs over the field against sums in double precision, and that each costs its part alone.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "convolume/forward_model.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/forward/views.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Returns the weights of the places along one axis at a position: linear between two places.
double weight_along(const std::vector<double>& places, std::size_t own, double position) {
    for (std::size_t i = 0; i + 1 < places.size(); ++i)
        if (position >= places[i] && position <= places[i + 1]) {
            const double second = (position - places[i]) / (places[i + 1] - places[i]);
            return own == i ? 1 - second : own == i + 1 ? second : 0;
        }
    return own == (position < places.front() ? 0 : places.size() - 1) ? 1 : 0;
}

// Returns the index inside an axis of `extent` that a boundary puts at `at`, or none.
std::optional<index_t> continued(index_t at, index_t extent, BoundaryKind kind) {
    if (at >= 0 && at < extent) return at;
    if (kind == BoundaryKind::zero) return std::nullopt;
    if (kind == BoundaryKind::nearest) return at < 0 ? 0 : extent - 1;
    if (kind == BoundaryKind::wrap) return ((at % extent) + extent) % extent;
    const bool repeats_edge = kind == BoundaryKind::reflect;
    const index_t next =
        at < 0 ? -at - (repeats_edge ? 1 : 0) : 2 * extent - 1 - at - (repeats_edge ? 0 : 1);
    return continued(next, extent, kind);
}

struct Field {
    std::array<std::vector<double>, 3> places;
    std::vector<Volume> psfs;
    std::vector<std::array<std::size_t, 3>> numbers;
};

// Returns the image of an object with the extents of the view, continued by the boundary after it
// was weighed, or of one that reaches beyond it on all sides, from `first` on, if there is none.
std::vector<double> image_of(const Volume& object, const Field& field, const View& view,
                             const Index3& first) {
    std::vector<double> image(static_cast<std::size_t>(element_count(view.image)));
    const auto weighed = [&](std::size_t k, const Index3& at) {
        Index3 from;
        double weight = 1;
        for (int a = 0; a < 3; ++a) {
            index_t place = at[a];
            if (view.boundary) {
                const auto inside = continued(at[a], view.image[a], view.boundary->kind);
                if (!inside) return 0.0;
                place = *inside;
            }
            from[a] = place + first[a];
            const auto axis = static_cast<std::size_t>(a);
            weight *= weight_along(field.places[axis], field.numbers[k][axis],
                                   static_cast<double>(place));
        }
        return weight == 0 ? 0.0 : weight * object.view().at<double>(from.z, from.y, from.x);
    };
    for (std::size_t k = 0; k < field.psfs.size(); ++k) {
        const Volume& psf = field.psfs[k];
        const Shape3 taps = psf.shape();
        const double* const samples = psf.elements<double>();
        const double sum = std::accumulate(samples, samples + element_count(taps), 0.0);
        std::size_t pixel = 0;
        for (index_t z = 0; z < view.image.z; ++z)
            for (index_t y = 0; y < view.image.y; ++y)
                for (index_t x = 0; x < view.image.x; ++x, ++pixel)
                    for (index_t h = 0; h < taps.z; ++h)
                        for (index_t i = 0; i < taps.y; ++i)
                            for (index_t j = 0; j < taps.x; ++j)
                                image[pixel] += psf.view().at<double>(h, i, j) / sum *
                                                weighed(k, {z + taps.z / 2 - h, y + taps.y / 2 - i,
                                                            x + taps.x / 2 - j});
    }
    return image;
}

}  // namespace

TEST_CASE("images of PSFs over the field are the sums of the definition", "[forward]") {
    Random random(test_seed("PSFs over the field"));
    // Places inside, at an edge, closer than a voxel, and outside the field.
    Field field;
    field.places = {{{1}, {-30, 0, 9.5, 17}, {4, 4.5, 12.25, 60}}};
    std::vector<FieldPsf> psfs;
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) {
            const auto own = static_cast<index_t>(i + j);
            field.psfs.push_back(random_volume(random, {1 + own % 3, 2 + own % 4, 5 - own % 4}));
            field.numbers.push_back({0, i, j});
        }
    for (std::size_t k = 0; k < field.psfs.size(); ++k)
        psfs.push_back(
            {field.psfs[k].view(), {}, {1, field.places[1][k / 4], field.places[2][k % 4]}});
    std::vector<std::optional<Boundary>> boundaries(1);
    for (const BoundaryKind kind :
         {BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect, BoundaryKind::mirror,
          BoundaryKind::wrap})
        boundaries.push_back(Boundary{kind});
    for (const auto& boundary : boundaries) {
        View view{{3, 21, 26}, psfs};
        view.boundary = boundary;
        ForwardModelOptions options;
        options.precision = Precision::float64;
        const ObjectGrid grid = object_grid(view.image, {view});
        const ForwardModel model(grid, {view}, options);
        const Volume object = random_volume(random, grid.shape);
        Volume image(view.image, PixelType::float64);
        model.record(0, object.view(), image.view());
        const std::vector<double> right = image_of(object, field, view, grid.result_at);
        double worst = 0;
        for (std::size_t i = 0; i < right.size(); ++i)
            worst = std::max(worst, std::abs(image.elements<double>()[i] - right[i]));
        CAPTURE(boundary ? static_cast<int>(boundary->kind) : -1);
        CHECK(worst < 1e-12);

        Volume back(grid.shape, PixelType::float64);
        const Volume other = random_volume(random, view.image);
        model.add_back(0, other.view(), back.view());
        const double images =
            std::inner_product(right.begin(), right.end(), other.elements<double>(), 0.0);
        const double objects = std::inner_product(
            object.elements<double>(), object.elements<double>() + element_count(grid.shape),
            back.elements<double>(), 0.0);
        CHECK(std::abs(images - objects) < 1e-12 * images);
    }
}

TEST_CASE("memory of PSFs over the field is that of their parts", "[forward]") {
    Random random(test_seed("memory of PSFs over the field"));
    const Volume psf = random_volume(random, {1, 9, 9});
    const auto bytes_of_places = [&](index_t places) {
        View view{{1, 512, 512}, {}};
        for (index_t i = 0; i < places; ++i)
            for (index_t j = 0; j < places; ++j)
                view.psfs.push_back(
                    {psf.view(),
                     {},
                     {0, (0.5 + static_cast<double>(i)) * 512.0 / static_cast<double>(places),
                      (0.5 + static_cast<double>(j)) * 512.0 / static_cast<double>(places)}});
        return ForwardModel(object_grid(view.image, {view}), {view}).host_bytes();
    };
    // Sixteen PSFs have weights in parts that are three fields in all.
    CHECK(bytes_of_places(4) < 6 * bytes_of_places(1));
}
