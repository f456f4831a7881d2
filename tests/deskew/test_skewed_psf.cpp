// SPDX-License-Identifier: Apache-2.0
// Tests PSFs in the voxels of a stage scan.

#include <cmath>
#include <vector>

#include "convolume/deskew.hpp"
#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

PsfOptions water_lens() {
    PsfOptions options;
    options.model = PsfModel::gibson_lanni;
    options.modality = Modality::light_sheet;
    options.sheet_fwhm_um = 1;
    options.objective.na = 1.1;
    options.objective.ni = options.objective.ni0 = options.objective.ns = 1.33;
    options.voxel = {0.3, 0.1, 0.11};
    options.size = {11, 41, 31};
    return options;
}

double sum_of(const Volume& volume) {
    double sum = 0;
    for (index_t i = 0; i < element_count(volume.shape()); ++i) sum += volume.elements<float>()[i];
    return sum;
}

}  // namespace

TEST_CASE("values of a skewed PSF are those of the voxels that the scan records", "[psf]") {
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x})
        for (const bool opposite : {false, true}) {
            PsfOptions options = water_lens();
            options.oversampling = 1;
            options.scan_angle_deg = 35;
            options.scan_axis = axis;
            options.scan_opposite = opposite;
            const Psf psf = make_psf(options);
            CHECK(sum_of(psf.values) == Approx(1).epsilon(1e-5));
            const double distance = 0.3 * 0.573576436,
                         shift = (opposite ? -1 : 1) * 0.3 * 0.819152044;
            const auto value = [&](index_t k, index_t j, index_t i) {
                return static_cast<double>(psf.values.view().at<float>(5 + k, 20 + j, 15 + i));
            };
            const double peak = psf_intensity(options, psf.center_z_um, {0.0})[0];
            for (const Index3 at :
                 {Index3{0, 0, 0}, {0, 3, 2}, {1, -2, 0}, {-2, 4, 1}, {3, 1, -5}}) {
                double y = static_cast<double>(at.y) * 0.1, x = static_cast<double>(at.x) * 0.11;
                (axis == ShearAxis::y ? y : x) += static_cast<double>(at.z) * shift;
                const double z = psf.center_z_um - static_cast<double>(at.z) * distance;
                const double wanted = psf_intensity(options, z, {std::hypot(y, x)})[0] / peak;
                CHECK(value(at.z, at.y, at.x) / value(0, 0, 0) == Approx(wanted).margin(2e-4));
            }
        }
}

TEST_CASE("displacements of whole pixels move the planes of the straight PSF", "[psf]") {
    PsfOptions straight = water_lens();
    straight.voxel = {0.2, 0.1, 0.1};
    straight.size = {5, 61, 31};
    PsfOptions skewed = straight;
    // 3 pixels from plane to plane, and the same distance of planes.
    skewed.scan_angle_deg = std::atan2(0.2, 0.3) * 180 / 3.14159265358979323846;
    skewed.voxel.z_um = std::hypot(0.2, 0.3);
    const Volume a = make_psf(straight).values, b = make_psf(skewed).values;
    const double scale = static_cast<double>(a.view().at<float>(2, 30, 15)) /
                         static_cast<double>(b.view().at<float>(2, 30, 15));
    for (index_t k = -2; k <= 2; ++k)
        for (index_t j = -20; j <= 20; ++j)
            for (index_t i = -15; i <= 15; ++i) {
                const auto moved =
                    static_cast<double>(b.view().at<float>(2 + k, 30 + j - 3 * k, 15 + i));
                CHECK(scale * moved ==
                      Approx(a.view().at<float>(2 + k, 30 + j, 15 + i)).epsilon(1e-4).margin(1e-9));
            }
}

TEST_CASE("deskewing and PSFs have the same directions", "[psf]") {
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x})
        for (const bool opposite : {false, true}) {
            PsfOptions skewed = water_lens();
            skewed.voxel = {0.25, 0.1, 0.1};
            skewed.scan_angle_deg = 40;
            skewed.scan_axis = axis;
            skewed.scan_opposite = opposite;
            PsfOptions straight = skewed;
            straight.scan_angle_deg.reset();
            straight.voxel.z_um = skewed.plane_distance_um();
            straight.size = {11, 41, 41};
            DeskewOptions options;
            options.scan = *skewed.scan();
            options.inverse = true;
            options.interpolation = Interpolation::lanczos;
            const Volume moved = deskew(make_psf(straight).values.view(), options);
            skewed.size = moved.shape();
            const Volume made = make_psf(skewed).values;
            double worst = 0, peak = 0;
            for (index_t i = 0; i < element_count(made.shape()); ++i) {
                const double value = static_cast<double>(made.elements<float>()[i]);
                peak = std::max(peak, value);
                worst = std::max(worst,
                                 std::abs(value - static_cast<double>(moved.elements<float>()[i])));
            }
            CHECK(worst < 0.02 * peak);
        }
}

TEST_CASE("sizes of skewed PSFs hold the displaced planes", "[psf]") {
    PsfOptions options = water_lens();
    options.scan_angle_deg = 30;
    PsfOptions straight = options;
    straight.scan_angle_deg.reset();
    straight.voxel.z_um = 0.15;
    const Shape3 without = psf_size_for(straight, 0.9), with = psf_size_for(options, 0.9);
    CHECK(with.z == without.z);
    CHECK(with.x == without.x);
    const double shift = 0.3 * 0.866025404 / 0.1 * static_cast<double>(with.z / 2);
    CHECK(with.y == without.y + 2 * static_cast<index_t>(std::ceil(shift)));
    const Shape3 for_image = psf_size_for_image(options, {9, 20, 30}, 0.9);
    CHECK(for_image.z <= 17);
    CHECK(for_image.y <= 39);
    options.size = with;
    for (const double share : make_psf(options).captured) CHECK(share > 0.85);
    options.scan_angle_deg = 0;
    CHECK(contains(message_of<InvalidArgument>([&] { make_psf(options); }), "degrees"));
}
