// SPDX-License-Identifier: Apache-2.0
// Compares widths, sampling steps and sizes of PSFs with published figures and with direct sums.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

PsfOptions oil(PsfModel model) {
    PsfOptions options;
    options.model = model;
    options.objective.ns = 1.515;
    options.wavelength_um = 0.6;
    return options;
}

}  // namespace

TEST_CASE("widths agree with the references") {
    PsfFacts facts = psf_facts(oil(PsfModel::vectorial));
    CHECK(facts.fwhm_lateral_um == Approx(0.241802).margin(2e-6));
    CHECK(facts.fwhm_axial_um == Approx(0.585262).margin(2e-6));
    for (const PsfModel model : {PsfModel::born_wolf, PsfModel::gibson_lanni}) {
        facts = psf_facts(oil(model));
        CHECK(facts.fwhm_lateral_um == Approx(0.220499).margin(2e-6));
        CHECK(facts.fwhm_axial_um == Approx(0.590891).margin(2e-6));
    }
    // Products of Gaussians: 1/w² adds up over both lenses, or over lens and sheet.
    PsfOptions options = oil(PsfModel::gaussian);
    const PsfFacts plain = psf_facts(options);
    CHECK(plain.fwhm_lateral_um == Approx(2 * std::sqrt(2 * std::log(2.0)) * std::sqrt(2.0) * 0.6 /
                                          (2 * std::numbers::pi * 1.4))
                                       .epsilon(1e-6));
    options.modality = Modality::light_sheet;
    options.sheet_fwhm_um = 0.7;
    CHECK(psf_facts(options).fwhm_axial_um ==
          Approx(1 / std::hypot(1 / plain.fwhm_axial_um, 1 / 0.7)).epsilon(1e-6));
    options = oil(PsfModel::gaussian);
    options.modality = Modality::confocal;
    options.excitation_um = 0.6;
    options.pinhole_au = 1e-3;
    CHECK(psf_facts(options).fwhm_axial_um ==
          Approx(plain.fwhm_axial_um / std::sqrt(2.0)).epsilon(1e-5));
}

TEST_CASE("samples have the index of their mounting medium") {
    CHECK(sample_index_for(1.0) == 1.33);
    CHECK(sample_index_for(1.33) == 1.33);
    CHECK(sample_index_for(1.4) == 1.33);
    CHECK(sample_index_for(1.45) == 1.45);
    CHECK(sample_index_for(1.515) == 1.515);
    CHECK(PsfOptions().objective.ns == sample_index_for(PsfOptions().objective.ni));
    CHECK(index_of_mountant("vectashield") == 1.45);
    CHECK_THROWS_WITH(
        index_of_mountant("honey"),
        ContainsSubstring("\"honey\" is no mounting medium") &&
            ContainsSubstring("prolong, prolong-glass, vectashield, glycerol, water"));
}

TEST_CASE("facts agree with formulas computed by hand") {
    PsfOptions options;
    options.model = PsfModel::gibson_lanni;
    options.objective.ns = 1.33;
    options.wavelength_um = 0.52;
    options.depth_um = 2;
    PsfFacts facts = psf_facts(options);
    CHECK(facts.rayleigh_lateral_um == Approx(0.2265714).epsilon(1e-6));
    CHECK(facts.rayleigh_axial_um == Approx(0.8038776).epsilon(1e-6));
    CHECK(facts.nyquist_lateral_um == Approx(0.0928571).epsilon(1e-6));
    CHECK(facts.nyquist_axial_um == Approx(0.52 / (2 * (1.515 - 0.5789862))).epsilon(1e-6));
    CHECK(facts.paraxial_focus_um == Approx(-2.2781955).epsilon(1e-6));
    CHECK(facts.brightest_focus_um == brightest_focus_um(options));
    CHECK(facts.effective_na == 1.33);
    CHECK(facts.total_reflection);
    CHECK(facts.pinhole_um == 0);
    options.modality = Modality::confocal;
    options.excitation_um = 0.488;
    facts = psf_facts(options);
    CHECK(facts.pinhole_um == Approx(0.4531429).epsilon(1e-6));
    CHECK(facts.nyquist_lateral_um ==
          Approx(1 / (4 * 1.4 * (1 / 0.52 + 1 / 0.488))).epsilon(1e-12));
    options.objective.ns = 1.515;
    facts = psf_facts(options);
    CHECK(facts.effective_na == 1.4);
    CHECK_FALSE(facts.total_reflection);
}

TEST_CASE("sizes hold the requested share of the light, and hardly more") {
    struct Case {
        PsfModel model;
        Modality modality;
        double share;
    };
    for (const Case& c : {Case{PsfModel::born_wolf, Modality::widefield, 0.9},
                          Case{PsfModel::vectorial, Modality::widefield, 0.95},
                          Case{PsfModel::born_wolf, Modality::confocal, 0.98},
                          Case{PsfModel::born_wolf, Modality::light_sheet, 0.95}}) {
        PsfOptions options;
        options.model = c.model;
        options.modality = c.modality;
        options.objective = {.na = 0.8, .ni = 1.33, .ni0 = 1.33};
        options.voxel = {0.2, 0.11, 0.13};
        if (c.modality == Modality::confocal) options.excitation_um = 0.488;
        if (c.modality == Modality::light_sheet) options.sheet_fwhm_um = 3;
        const Shape3 size = psf_size_for(options, c.share);
        INFO("model " << static_cast<int>(c.model) << ", modality " << static_cast<int>(c.modality)
                      << ": " << to_string(size));

        const double focus = brightest_focus_um(options);
        const auto axis_light = [&](double half_um) {
            double sum = 0, step = 0.1;
            for (double away = step / 2; away < half_um; away += step) {
                for (const double z : {focus - away, focus + away})
                    sum += psf_intensity(options, z, {0.0})[0] * step;
                if (away > 12) step = 0.5;  // a quarter of an oscillation's period there
            }
            return sum;
        };
        const double all = axis_light(c.modality == Modality::widefield ? 120 : 10);
        const double half = static_cast<double>(size.z) * 0.1;
        CHECK(axis_light(half) > (c.share - 0.003) * all);
        CHECK(axis_light(half - 0.3) < (c.share + 0.003) * all);

        options.size = size;
        options.oversampling = 1;
        const auto captured = make_psf(options).captured;
        const double least = *std::min_element(captured.begin(), captured.end());
        CHECK(least > c.share);  // a square holds more light than its inscribed disc
        options.size.y = options.size.x = (size.x * 3 / 4) | 1;
        const auto smaller = make_psf(options).captured;
        CHECK(*std::min_element(smaller.begin(), smaller.end()) < c.share);
    }
}

TEST_CASE("no point on the axis is brighter than the brightest focus") {
    struct Case {
        double na, ns, depth_um, tg_um;
    };
    for (const Case& c : {Case{1.4, 1.33, 15, 170},
                          {1.4, 1.33, 40, 170},
                          {1.3, 1.38, 25, 168},
                          {1.2, 1.4, 30, 172}}) {
        PsfOptions options;
        options.model = PsfModel::gibson_lanni;
        options.objective = {.na = c.na, .ns = c.ns, .tg_um = c.tg_um};
        options.depth_um = c.depth_um;
        const double focus = brightest_focus_um(options), paraxial = paraxial_focus_um(options);
        const double found = psf_intensity(options, focus, {0.0})[0];
        const double reach = 0.4 * std::abs(paraxial) + 3;
        double highest = 0, at = 0;
        for (double z = paraxial - reach; z < paraxial + reach; z += 0.08)
            if (const double value = psf_intensity(options, z, {0.0})[0]; value > highest) {
                highest = value;
                at = z;
            }
        INFO("NA " << c.na << ", " << c.depth_um << " µm deep: " << focus << " of " << found << ", "
                   << at << " of " << highest);
        CHECK(found >= highest * (1 - 1e-9));
    }
}

TEST_CASE("sizes of Gaussians agree with the formula, about any plane") {
    PsfOptions options;
    options.model = PsfModel::gaussian;
    const double na = 1.1, k = 2 * std::numbers::pi / 0.52;
    options.objective = {.na = na, .ni = 1.33};
    const double sigma_z = 2 * std::sqrt(6.0) * 1.33 / (k * na * na);
    const double radius = std::sqrt(2.0) / (k * na) * std::sqrt(2 * std::log(10.0));
    const auto share_along_z = [&](double half_um, double middle_um) {
        const double scale = 1 / (std::sqrt(2.0) * sigma_z);
        return (std::erf((middle_um + half_um) * scale) + std::erf((half_um - middle_um) * scale)) /
               2;
    };
    for (const double middle : {0.0, 0.4, 1.1})
        for (const double voxel : {0.011, 0.013, 0.017, 0.023}) {
            options.center_z_um = middle;
            options.voxel = {voxel, 0.1 * voxel, 0.2 * voxel};
            const Shape3 size = psf_size_for(options, 0.9);
            INFO(middle << ' ' << voxel << ": " << to_string(size));
            const double half = static_cast<double>(size.z) * voxel / 2;
            CHECK(share_along_z(half, middle) > 0.9 - 1e-4);
            CHECK(share_along_z(half - voxel, middle) < 0.9 + 1e-4);
            // The search for the radius takes steps of 1.6 radians of the highest frequency, 2k NA.
            for (const int axis : {1, 2}) {
                const double edge = options.voxel[axis];
                const double reached = static_cast<double>(size[axis]) * edge / 2;
                CHECK(reached > radius * (1 - 1e-3));
                CHECK(reached < radius + 0.8 / (k * na) + edge);
            }
        }
}

// Checks that the outermost planes hold little light, and planes farther in more.
static void check_lit_planes(PsfOptions options) {
    options.size = psf_size_for_image(options, {100, 200, 200}, 0.95);
    INFO(to_string(options.size));
    options.size.y = options.size.x = 255;
    const Psf psf = make_psf(options);
    const auto light = [&](index_t z) {
        const float* const plane = psf.values.elements<float>() + z * 255 * 255;
        return std::accumulate(plane, plane + 255 * 255, 0.0);
    };
    CHECK(light(0) < 0.06 * light(options.size.z / 2));
    CHECK(light(options.size.z / 8 + 1) > 0.05 * light(options.size.z / 2));
}

TEST_CASE(
    "PSFs of widefield images reach from the first plane to the last, others as far as their "
    "light") {
    PsfOptions options;
    options.objective = {.na = 0.9, .ni = 1.33, .ni0 = 1.33};
    options.voxel = {0.3, 0.15, 0.2};
    const Shape3 wide = psf_size_for_image(options, {20, 300, 400}, 0.5);
    INFO(to_string(wide));
    CHECK(wide.z == 39);
    CHECK(wide.y > wide.x);  // voxels are smaller along y than along x
    options.size = wide;
    options.oversampling = 1;
    const auto captured = make_psf(options).captured;
    CHECK(*std::min_element(captured.begin(), captured.end()) > 0.5);
    options.size.y = options.size.y * 3 / 4 | 1;
    options.size.x = options.size.x * 3 / 4 | 1;
    const auto smaller = make_psf(options).captured;
    CHECK(*std::min_element(smaller.begin(), smaller.end()) < 0.5);

    // A narrow image needs no more than twice its extent, less one sample.
    CHECK(psf_size_for_image(options, {20, 12, 400}, 0.5) == Shape3{39, 23, wide.x});
    CHECK(psf_size_for_image(options, {1, 64, 64}, 0.5).z == 1);
    // The size stops at the image's borders if the share cannot be reached.
    CHECK(psf_size_for_image(options, {60, 5, 6}, 0.999) == Shape3{119, 9, 11});

    options.modality = Modality::confocal;
    options.excitation_um = 0.488;
    CHECK(psf_size_for_image(options, {2, 300, 400}, 0.95).z == 3);
    check_lit_planes(options);
    options.modality = Modality::light_sheet;
    options.excitation_um.reset();
    options.sheet_fwhm_um = 3;
    check_lit_planes(options);
}

TEST_CASE("sizes that make no sense are refused") {
    PsfOptions options;
    CHECK(contains(message_of<InvalidArgument>([&] { psf_size_for(options, 0.999999); }), "4 GiB"));
    for (const double share : {0.0, 1.0, -1.0, 2.0, std::nan("")})
        CHECK(contains(message_of<InvalidArgument>([&] { psf_size_for(options, share); }),
                       "of the light is not possible"));
    CHECK(contains(message_of<InvalidArgument>([&] {
                       psf_size_for_image(options, {0, 9, 9}, 0.5);
                   }),
                   "0 pixels along z"));
    CHECK(contains(message_of<InvalidArgument>([&] {
                       psf_size_for_image(options, {1500, 900, 900}, 0.9);
                   }),
                   "4 GiB"));
}
