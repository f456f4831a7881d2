// SPDX-License-Identifier: Apache-2.0
// Tests coarser images and PSFs: their model of recording agrees with that of the fine image.

#include <algorithm>
#include <cmath>

#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/definitions.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;
using deconvolve::Coarsening;

namespace {

template <class Visit>
void for_each_index(const Shape3& shape, const Visit& visit) {
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) visit(Index3{z, y, x});
}

Complex& at(Array& array, const Index3& i) {
    return array(i.z, i.y, i.x);
}
double at(const Array& array, const Index3& i) {
    return array(i.z, i.y, i.x).real();
}

// Blurs an object that reaches beyond the image as far as the PSF does.
Array blurred(const Array& object, const Array& psf, const Shape3& image) {
    Array result(image);
    const double sum = total(psf);
    for_each_index(image, [&](const Index3& m) {
        for_each_index(psf.shape, [&](const Index3& k) {
            at(result, m) += at(psf, k) / sum *
                             object(m.z + psf.shape.z - 1 - k.z, m.y + psf.shape.y - 1 - k.y,
                                    m.x + psf.shape.x - 1 - k.x);
        });
    });
    return result;
}

Array summed(const Array& image, const Coarsening& coarsening) {
    Array result(coarsening.image(image.shape));
    for_each_index(result.shape, [&](const Index3& i) {
        for_each_index({coarsening.factor(0), coarsening.factor(1), coarsening.factor(2)},
                       [&](const Index3& j) {
                           at(result, i) += image(i.z * coarsening.factor(0) + j.z,
                                                  i.y * coarsening.factor(1) + j.y,
                                                  i.x * coarsening.factor(2) + j.x);
                       });
    });
    return result;
}

// Interpolates linearly between the middles of coarse voxels, along the axes that are halved. A
// coarse voxel gives half of its light to each fine one.
Array interpolated(const Array& coarse, const Index3& coarse_at, const Coarsening& coarsening,
                   const Shape3& object, const Index3& object_at) {
    Array result(object);
    for_each_index(object, [&](const Index3& i) {
        double value = 0;
        for (int corner = 0; corner < 8; ++corner) {
            Index3 from;
            double share = 1;
            for (int a = 0; a < 3; ++a) {
                const bool upper = ((corner >> a) & 1) != 0;
                const auto place = static_cast<double>(i[a] - object_at[a]);
                // The middle of coarse voxel N is at fine coordinate 2 N + 1/2.
                const double middle = coarsening.factor(a) == 2 ? (place - 0.5) / 2 : place;
                const double low = std::floor(middle);
                share *= upper ? middle - low : 1 - (middle - low);
                if (coarsening.factor(a) == 2) share /= 2;
                from[a] =
                    std::clamp<index_t>(static_cast<index_t>(low) + (upper ? 1 : 0) + coarse_at[a],
                                        0, coarse.shape[a] - 1);
            }
            value += share * at(coarse, from);
        }
        at(result, i) = value;
    });
    return result;
}

double largest_difference(const Array& a, const Array& b) {
    REQUIRE(a.shape == b.shape);
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
    return largest;
}

Array interpolate_estimate(const Array& coarse, const Index3& coarse_at,
                           const Coarsening& coarsening, const Shape3& object,
                           const Index3& object_at, float least = 0) {
    Volume result(object, PixelType::float32);
    deconvolve::interpolate_estimate(
        {to_volume(coarse, PixelType::float32).view(), coarse_at}, coarsening, object, object_at,
        least, 2, HostMemory::page_locked, [&](const float* values, index_t first, index_t count) {
            std::copy_n(values, count, result.elements<float>() + first);
        });
    return to_array(std::as_const(result).view());
}

struct Geometry {
    Shape3 image;
    Shape3 psf;
    KernelCenter center{};
    Coarsening coarsening{};
};

std::vector<Geometry> geometries() {
    const auto peak = [](index_t z, index_t y, index_t x) {
        return KernelCenter{KernelCenter::Kind::explicit_, {z, y, x}};
    };
    return {{{4, 6, 8}, {3, 3, 5}, {}, {{true, true, true}}},
            {{5, 7, 9}, {4, 2, 6}, {}, {{true, true, true}}},
            {{1, 8, 7}, {1, 5, 4}, {}, {{false, true, true}}},
            {{4, 6, 5}, {3, 9, 12}, peak(0, 8, 11), {{true, true, true}}},
            {{3, 5, 6}, {2, 3, 1}, peak(1, 0, 0), {{false, true, false}}}};
}

}  // namespace

TEST_CASE("coarse image: its model is the blur of spread voxels, summed over pixels") {
    Random random(test_seed("coarse model"));
    for (const Geometry& g : geometries()) {
        const Array psf = random_psf(random, g.psf);
        DeconvolveOptions options;
        options.center = g.center;
        options.coarse_start = 3;
        options.background = 1.5;
        const deconvolve::DeconvolutionProblem fine = deconvolve::resolve_problem(
            g.image, to_volume(psf, PixelType::float64).view(), options);
        const deconvolve::DeconvolutionProblem coarse =
            deconvolve::coarse_problem(fine, g.coarsening);
        INFO("image " << to_string(g.image) << ", PSF " << to_string(g.psf));
        CHECK(coarse.image == g.coarsening.image(g.image));
        CHECK(*coarse.options.background == 1.5 * static_cast<double>(g.coarsening.pixels()));

        const Array object = random.array(coarse.object, false, 1);
        const Array fine_object =
            interpolated(object, coarse.image_at, g.coarsening, fine.object, fine.image_at);
        const Array want = summed(blurred(fine_object, psf, fine.image), g.coarsening);
        const Array got = blurred(object, to_array(coarse.psf.view()), coarse.image);
        CHECK(largest_difference(want, got) < 1e-7 * norm(want));  // taps are float32
        CHECK(largest_difference(fine_object,
                                 interpolate_estimate(object, coarse.image_at, g.coarsening,
                                                      fine.object, fine.image_at)) < 1e-6);
    }
}

TEST_CASE(
    "coarse image: spread voxels keep their light, and none is darker than the given least value") {
    Random random(test_seed("spread"));
    const Coarsening all{{true, true, true}};
    const Array coarse = random.array({3, 4, 5}, false, 1);
    const Array fine = interpolate_estimate(coarse, {}, all, {6, 8, 10}, {});
    CHECK(std::abs(total(fine) - total(coarse)) < 1e-5 * total(coarse));
    const Array lifted = interpolate_estimate(Array({3, 4, 5}), {}, all, {7, 8, 10}, {}, 0.25F);
    CHECK(std::all_of(lifted.values.begin(), lifted.values.end(),
                      [](const Complex& value) { return value.real() == 0.25; }));
}

TEST_CASE(
    "coarse image: sums of pixels bound saturated pixels, and leave out held-out and surplus "
    "ones") {
    Random random(test_seed("sums of pixels"));
    for (const PixelType type : {PixelType::uint8, PixelType::uint16, PixelType::float32})
        for (const Shape3& shape : {Shape3{4, 6, 8}, Shape3{5, 7, 9}}) {
            Array image = random.integers(shape, 0, 40);
            const Coarsening coarsening{{true, false, true}};
            Volume sums(coarsening.image(shape), PixelType::float32);
            const auto sum = [&](std::optional<double> saturation,
                                 const deconvolve::HeldOutPhotons& held) {
                return deconvolve::sum_pixels(to_volume(image, type).view(), {saturation}, held,
                                              coarsening, 2, sums.view());
            };
            CHECK(sum({}, {}) == element_count(sums.shape()));
            CHECK(same(to_array(std::as_const(sums).view()), summed(image, coarsening)));

            // Holds photons out as the iterations do.
            const deconvolve::HeldOutPhotons held{{0.5, 3}, 3};
            Volume data = to_volume(image, PixelType::float32);
            Volume apart(shape, PixelType::float32);
            const deconvolve::PhotonThinning functor{data.elements<float>(),
                                                     apart.elements<float>(),
                                                     3,
                                                     0.5F,
                                                     3,
                                                     1,
                                                     deconvolve::ThinningPurpose::hold_out};
            for (index_t i = 0; i < element_count(shape); ++i) functor(i);
            sum({}, held);
            const Array rest = summed(to_array(std::as_const(data).view()), coarsening);
            CHECK(total(rest) < 0.95 * total(summed(image, coarsening)));
            CHECK(largest_difference(to_array(std::as_const(sums).view()), rest) < 1e-4);

            image(1, 2, 3) = 60;
            image(0, 2, 2) = 70;
            image(3, 5, 7) = 90;
            CHECK(sum(60, {}) == element_count(sums.shape()));
            const auto bound_at = [&](index_t z, index_t y, index_t x) {
                const deconvolve::PixelBounds bounds{
                    static_cast<double>(deconvolve::least_encoded_bound), true};
                const float pixel = std::as_const(sums).view().at<float>(z, y, x);
                CHECK(bounds.apply_to(pixel));
                return static_cast<double>(bounds.bound_of(pixel).value_or(0));
            };
            const double others = image(0, 2, 3).real() + image(1, 2, 2).real();
            CHECK(bound_at(0, 2, 1) == 60 + 60 + others);
            CHECK(bound_at(1, 5, 3) ==
                  60 + (image(2, 5, 6) + image(2, 5, 7) + image(3, 5, 6)).real());
            // Photons that are held out lower the bound in proportion: 7 of 8 above the offset
            // stay.
            sum(60, held);
            CHECK(bound_at(0, 2, 1) <= 2 * (3 + 57 * 0.875) + others);
            CHECK(bound_at(0, 2, 1) >= 2 * (3 + 57 * 0.875));
            if (type == PixelType::float32) {
                const Complex kept = image(0, 2, 3);
                image(0, 2, 3) = static_cast<double>(missing_pixel);
                CHECK(sum(60, {}) == element_count(sums.shape()) - 1);
                CHECK(std::as_const(sums).view().at<float>(0, 2, 1) ==
                      deconvolve::coarse_saturation());
                image(0, 2, 3) = kept;
            }
            image(1, 2, 3) = image(0, 2, 2) = image(3, 5, 7) = 0;
            const Array before = summed(image, coarsening);
            if (type != PixelType::float32) continue;
            image(2, 2, 2) = -5;  // summing reads a negative pixel as 0
            sum({}, {});
            CHECK(to_array(std::as_const(sums).view())(1, 2, 1).real() <= before(1, 2, 1).real());
            CHECK(total(to_array(std::as_const(sums).view())) >= total(before) - 40);
        }
}

TEST_CASE("coarse image: the penalty of an object does not change") {
    DeconvolveOptions options;
    options.method = DeconvolveMethod::richardson_lucy_tv;
    options.coarse_start = 2;
    options.tv_weight = 0.5;
    options.voxel = {3, 1, 2};
    const Array psf = wide_psf();
    const deconvolve::DeconvolutionProblem fine = deconvolve::resolve_problem(
        {8, 32, 32}, to_volume(psf, PixelType::float64).view(), options);
    // The weighted gradient of an object that rises by g per fine voxel along each axis.
    const auto penalty = [](const DeconvolveOptions& deconvolve_options,
                            const Coarsening& coarsening) {
        const VoxelSize& size = deconvolve_options.voxel;
        const double least = std::min({size.z_um, size.y_um, size.x_um});
        double squares = 0;
        for (int a = 0; a < 3; ++a) {
            const double change =
                0.7 * static_cast<double>(coarsening.pixels() * coarsening.factor(a));
            squares += std::pow(change * least / size[a], 2);
        }
        return deconvolve_options.tv_weight.value() * std::sqrt(squares) /
               static_cast<double>(coarsening.pixels());
    };
    for (const Coarsening& coarsening :
         {Coarsening{{true, true, true}}, Coarsening{{false, true, true}},
          Coarsening{{true, false, true}}}) {
        const deconvolve::DeconvolutionProblem coarse =
            deconvolve::coarse_problem(fine, coarsening);
        CHECK(std::abs(penalty(coarse.options, coarsening) / penalty(fine.options, {}) - 1) <
              1e-12);
    }
}

TEST_CASE("coarse image: axes with few samples or a sharp PSF are not halved") {
    const auto halved = [](const Shape3& shape, const Array& psf, std::optional<Boundary> edges,
                           bool keeps_planes = false) {
        DeconvolveOptions options;
        options.boundary = edges;
        const deconvolve::DeconvolutionProblem problem =
            deconvolve::resolve_problem(shape, to_volume(psf, PixelType::float64).view(), options);
        return deconvolve::coarsening_of(problem, keeps_planes).halved;
    };
    using Axes = std::array<bool, 3>;
    const Boundary wrap{BoundaryKind::wrap};
    CHECK(halved({40, 40, 40}, wide_psf(), {}) == Axes{false, true, true});
    CHECK(halved({1, 40, 12}, wide_psf(), {}) == Axes{false, true, false});
    CHECK(halved({40, 41, 40}, wide_psf(), wrap) == Axes{false, false, true});
    const Array wide = gaussian_psf({9, 9, 9}, {4, 4, 4}, {2, 2, 2});
    CHECK(halved({40, 40, 40}, gaussian_psf({9, 9, 9}, {4, 4, 4}, {2, 0.3, 2}), {}) ==
          Axes{true, false, true});
    CHECK(halved({40, 40, 40}, wide, {}) == Axes{true, true, true});
    CHECK(halved({40, 40, 40}, wide, {}, true) == Axes{false, true, true});
    CHECK(halved({40, 12, 40}, wide, {}, true) == Axes{false, false, true});
    CHECK(halved({40, 12, 12}, wide, {}, true) == Axes{true, false, false});
}
