// SPDX-License-Identifier: Apache-2.0
// Simulates measured PSFs point by point from psf_intensity(), with Poisson noise, and recovers
// their parameters; what cannot be recovered is refused.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "convolume/beads.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using convolume::testing::contains;
using convolume::testing::message_of;

namespace {

PsfOptions water() {
    PsfOptions options;
    options.objective = {.na = 1.2, .ni = 1.33, .ni0 = 1.33, .ns = 1.36};
    options.depth_um = 6;
    options.voxel = {0.25, 0.1, 0.1};
    options.size = {21, 27, 27};
    return options;
}

PsfOptions oil() {
    PsfOptions options = water();
    options.objective = {.na = 1.3, .ns = 1.38};
    options.depth_um = 3;
    options.voxel = {0.2, 0.08, 0.08};
    return options;
}

struct Point {
    double z, y, x;
};

/// Returns the points of a voxel (midpoints of 3×3×3 parts), each spread over a ball.
std::vector<Point> points_of(const VoxelSize& voxel, double diameter) {
    std::vector<Point> ball;
    const int n = diameter > 0 ? 5 : 1;
    for (int i = 0; i < n * n * n; ++i) {
        const auto at = [&](int k) { return diameter * ((k + 0.5) / n - 0.5); };
        const Point p{at(i / (n * n)), at(i / n % n), at(i % n)};
        if (p.z * p.z + p.y * p.y + p.x * p.x <= diameter * diameter / 4) ball.push_back(p);
    }
    std::vector<Point> points;
    for (int i = 0; i < 27; ++i)
        for (const Point& p : ball)
            points.push_back({(i / 9 - 1) * voxel.z_um / 3 + p.z,
                              (i / 3 % 3 - 1) * voxel.y_um / 3 + p.y,
                              (i % 3 - 1) * voxel.x_um / 3 + p.x});
    return points;
}

/// Returns the expected PSF with maximum 1, whose middle plane is `off_um` above the brightest one.
std::vector<double> expected_of(const PsfOptions& truth, double off_um, double diameter = 0) {
    constexpr double step = 0.02;
    const Shape3 size = truth.size;
    const VoxelSize& voxel = truth.voxel;
    const auto reach = [&](int axis) {
        return voxel[axis] * static_cast<double>(size[axis]) / 2 + diameter;
    };
    const double center = brightest_focus_um(truth) + off_um;
    std::vector<double> radii;
    for (double r = 0; r < std::hypot(reach(1), reach(2)) + 2 * step; r += step) radii.push_back(r);
    // Radial profiles of planes, from center + reach(0) downward.
    std::vector<std::vector<double>> table;
    for (double z = reach(0); z > -reach(0) - 2 * step; z -= step)
        table.push_back(psf_intensity(truth, center + z, radii));

    std::vector<double> expected;
    const std::vector<Point> points = points_of(voxel, diameter);
    for (index_t z = 0; z < size.z; ++z)
        for (index_t y = 0; y < size.y; ++y)
            for (index_t x = 0; x < size.x; ++x) {
                double sum = 0;
                for (const Point& p : points) {
                    const auto at = [&](index_t i, int axis, double part) {
                        return static_cast<double>(i - size[axis] / 2) * voxel[axis] + part;
                    };
                    const double r = std::hypot(at(y, 1, p.y), at(x, 2, p.x)) / step;
                    const double down = (reach(0) + at(z, 0, p.z)) / step;
                    const auto i = static_cast<std::size_t>(down), j = static_cast<std::size_t>(r);
                    const double u = down - static_cast<double>(i), v = r - static_cast<double>(j);
                    sum += (1 - u) * ((1 - v) * table[i][j] + v * table[i][j + 1]) +
                           u * ((1 - v) * table[i + 1][j] + v * table[i + 1][j + 1]);
                }
                expected.push_back(sum);
            }
    const double highest = *std::max_element(expected.begin(), expected.end());
    for (double& value : expected) value /= highest;
    return expected;
}

constexpr double background = 0.02;  // background as a fraction of the PSF's maximum

Volume recorded(const std::vector<double>& expected, const Shape3& size, double photons,
                unsigned seed) {
    std::mt19937_64 draw(seed);
    Volume volume(size, PixelType::float32);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        std::poisson_distribution<long> light(photons * (expected[i] + background));
        volume.elements<float>()[i] =
            static_cast<float>((static_cast<double>(light(draw)) / photons - background) / 200);
    }
    return volume;
}

RefineOptions refine(std::vector<PsfParameter> parameters) {
    return {std::move(parameters), background / 200};
}

/// Returns the message of the error that a refinement throws.
template <class E>
std::string refusal(const Volume& measured, const PsfOptions& model, const RefineOptions& options) {
    return message_of<E>([&] { refine_psf(measured.view(), model, options); });
}

}  // namespace

TEST_CASE("NA and index of beads at a known depth are found", "[optics][refine]") {
    const PsfOptions truth = water();
    const Volume measured = recorded(expected_of(truth, 0.07), truth.size, 3000, 1);
    PsfOptions first = truth;
    first.objective.na = 1.1;
    first.objective.ns = 1.33;
    const RefinedPsf found =
        refine_psf(measured.view(), first, refine({PsfParameter::na, PsfParameter::index}));
    INFO(found.parameters[0].deviation << ' ' << found.parameters[1].deviation);
    CHECK(std::abs(found.model.objective.na - 1.2) < 0.01);
    CHECK(std::abs(found.model.objective.ns - 1.36) < 0.005);
    for (const RefinedParameter& p : found.parameters) {
        const double exact = p.parameter == PsfParameter::na ? 1.2 : 1.36;
        CHECK(std::abs(p.value - exact) < 4 * p.deviation);
        CHECK(p.deviation < 0.005);
        CHECK_FALSE(p.at_bound);
    }
    CHECK(found.parameters[1].value == found.model.objective.ns);
    CHECK(found.residual < 0.7 * found.first_residual);
    CHECK(found.model.size == first.size);
    CHECK_FALSE(found.model.center_z_um.has_value());
}

TEST_CASE("Depth is found together with NA, and together with the index in oil",
          "[optics][refine]") {
    const PsfOptions truth = oil();
    const Volume measured = recorded(expected_of(truth, -0.1), truth.size, 3000, 2);
    PsfOptions first = truth;
    first.objective.na = 1.2;
    first.depth_um = 1;
    const RefinedPsf beside_na =
        refine_psf(measured.view(), first, refine({PsfParameter::depth, PsfParameter::na}));
    CHECK(std::abs(beside_na.model.depth_um - 3) < 0.3);
    CHECK(std::abs(beside_na.model.objective.na - 1.3) < 0.01);
    first.objective.na = 1.3;
    first.objective.ns = 1.34;
    const RefinedPsf beside_index =
        refine_psf(measured.view(), first, refine({PsfParameter::index, PsfParameter::depth}));
    CHECK(std::abs(beside_index.model.depth_um - 3) < 0.3);
    CHECK(std::abs(beside_index.model.objective.ns - 1.38) < 0.005);
}

TEST_CASE("Deviations agree with repeated recordings", "[optics][refine]") {
    const PsfOptions truth = water();
    const std::vector<double> expected = expected_of(truth, 0);
    PsfOptions first = truth;
    first.objective.na = 1.15;
    constexpr unsigned repeats = 16;
    double squares = 0;
    for (unsigned i = 0; i < repeats; ++i) {
        const Volume measured = recorded(expected, truth.size, 300, 10 + i);
        const RefinedParameter na =
            refine_psf(measured.view(), first, refine({PsfParameter::na})).parameters[0];
        squares += std::pow((na.value - 1.2) / na.deviation, 2) / repeats;
    }
    // 99.9 % of the means of 16 squared normal numbers lie between 0.24 and 2.5.
    CHECK(squares > 0.24);
    CHECK(squares < 2.5);
}

TEST_CASE("Beads of 150 nm may be treated as points", "[optics][refine]") {
    const PsfOptions truth = oil();
    PsfOptions first = truth;
    first.depth_um = 4;
    const Volume measured = recorded(expected_of(truth, 0, 0.15), truth.size, 3000, 3);
    const RefinedPsf found =
        refine_psf(measured.view(), first, refine({PsfParameter::na, PsfParameter::depth}));
    CHECK(std::abs(found.model.objective.na - 1.3) < 0.01);
    CHECK(std::abs(found.model.depth_um - 3) < 0.3);
}

TEST_CASE("Models of one medium have its index refined", "[optics][refine]") {
    PsfOptions truth = water();
    truth.model = PsfModel::born_wolf;
    truth.objective.ni = truth.objective.ni0 = 1.40;
    const Volume measured = recorded(expected_of(truth, 0), truth.size, 3000, 4);
    PsfOptions first = truth;
    first.objective.ni = first.objective.ni0 = 1.36;
    const RefinedPsf found =
        refine_psf(measured.view(), first, refine({PsfParameter::na, PsfParameter::index}));
    CHECK(std::abs(found.model.objective.na - 1.2) < 0.01);
    CHECK(std::abs(found.model.objective.ni - 1.40) < 0.01);
    CHECK(found.model.objective.ni0 == found.model.objective.ni);
}

TEST_CASE("A parameter ends at the bound of its range", "[optics][refine]") {
    const PsfOptions truth = water();
    const Volume measured = recorded(expected_of(truth, 0), truth.size, 3000, 5);
    PsfOptions first = truth;
    first.objective.na = 0.8;
    const RefinedPsf found = refine_psf(measured.view(), first, refine({PsfParameter::na}));
    CHECK(found.parameters[0].at_bound);
    CHECK(found.parameters[0].value == Approx(1.12));
    CHECK(found.parameters[0].high == Approx(1.12));
}

TEST_CASE("What a measured PSF does not determine is refused with the reason", "[optics][refine]") {
    const PsfOptions truth = water();
    const std::vector<double> expected = expected_of(truth, 0);
    const Volume bright = recorded(expected, truth.size, 3000, 6);
    const std::string dim = refusal<BadData>(recorded(expected, truth.size, 0.5, 7), truth,
                                             refine({PsfParameter::index, PsfParameter::depth}));
    INFO(dim);
    CHECK(contains(dim, "does not determine the"));
    CHECK(contains(dim, "record more light"));

    PsfOptions matched = truth;
    matched.model = PsfModel::gibson_lanni;
    matched.objective.ns = 1.33;
    matched.depth_um = 0;
    const Volume at_glass = recorded(expected_of(matched, 0), truth.size, 3000, 8);
    CHECK(contains(refusal<BadData>(at_glass, matched, refine({PsfParameter::depth})),
                   "does not determine the depth: sample and immersion medium have the same"));
    CHECK(contains(refusal<BadData>(at_glass, matched, refine({PsfParameter::index})),
                   "does not determine the index: sources at the cover glass look alike"));

    PsfOptions reflected = oil();
    reflected.objective.na = 1.45;
    reflected.objective.ns = 1.33;
    const Volume deep = recorded(expected_of(reflected, 0), reflected.size, 3000, 9);
    CHECK(contains(refusal<BadData>(deep, reflected, refine({PsfParameter::na})),
                   "does not determine the NA: light of apertures above"));

    Volume dark(truth.size, PixelType::float32);
    std::fill_n(dark.elements<float>(), element_count(truth.size), 1.0F);
    CHECK(contains(refusal<BadData>(dark, truth, refine({PsfParameter::na})), "not brighter"));
}

TEST_CASE("What cannot be refined is refused", "[optics][refine]") {
    const PsfOptions truth = water();
    const Volume plane({1, 27, 27}, PixelType::float32), psf(truth.size, PixelType::float32);
    CHECK(contains(refusal<InvalidArgument>(plane, truth, refine({PsfParameter::na})), "1 plane,"));
    CHECK(contains(refusal<InvalidArgument>(psf, truth, refine({})), "no parameter"));
    CHECK(
        contains(refusal<InvalidArgument>(psf, truth, refine({PsfParameter::na, PsfParameter::na})),
                 "named twice"));
    PsfOptions one_medium = truth;
    one_medium.model = PsfModel::born_wolf;
    CHECK(contains(refusal<InvalidArgument>(psf, one_medium, refine({PsfParameter::depth})),
                   "has no depth"));
    RefineOptions odd = refine({PsfParameter::na});
    odd.background = -1;
    CHECK(contains(refusal<InvalidArgument>(psf, truth, odd), "below zero"));
    const Volume wrong_type(truth.size, PixelType::float64);
    CHECK(contains(refusal<InvalidArgument>(wrong_type, truth, refine({PsfParameter::na})),
                   "float32"));
    CHECK(parse_psf_parameter("depth") == PsfParameter::depth);
    CHECK_THROWS_AS(parse_psf_parameter("focus"), InvalidArgument);
}

TEST_CASE("A stop request ends a refinement", "[optics][refine]") {
    std::stop_source source;
    source.request_stop();
    ExecutionContext context;
    context.stop = source.get_token();
    const Volume psf(water().size, PixelType::float32);
    CHECK_THROWS_AS(refine_psf(psf.view(), water(), refine({PsfParameter::na}), context),
                    Cancelled);
}
