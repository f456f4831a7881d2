// SPDX-License-Identifier: Apache-2.0
// Tests the geometry of stage scans: published conventions, extents, voxels and maps.

#include <cmath>
#include <limits>
#include <numbers>

#include "convolume/deskew.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

DeskewOptions options_of(const StageScan& scan, bool rotate = false) {
    DeskewOptions options;
    options.scan = scan;
    options.rotate = rotate;
    return options;
}

}  // namespace

// The table of programs in docs/guides/light-sheet.md has these parameters and signs.
TEST_CASE("shears of published programs", "[deskew]") {
    SECTION("LLSpy: angle 31.5, dz 0.3, dx 0.105, along x") {
        const StageScan scan{31.5, 0.3, 0.105, 0.105, ShearAxis::x, false};
        CHECK(scan.shear_px() == Approx(0.3 * 0.852640164 / 0.105));
        CHECK(scan.plane_distance_um() == Approx(0.3 * 0.522498565));
        // It adds floor((planes - 1) · shear) columns to the image, and we do not cut the last one.
        CHECK(deskewed_grid({151, 40, 128}, options_of(scan)).shape == Shape3{151, 40, 128 + 366});
    }
    SECTION("PetaKit5D: skewAngle 32.45, dz 0.5, xyPixelSize 0.108, reverse, along x") {
        const StageScan scan{32.45, 0.5, 0.108, 0.108, ShearAxis::x, true};
        CHECK(scan.shear_px() == Approx(-0.5 * 0.843863 / 0.108).epsilon(1e-5));
        const DeskewedGrid grid = deskewed_grid({100, 40, 128}, options_of(scan));
        CHECK(grid.shape == Shape3{100, 40, 128 + 387});
        // ceil(99 · 3.9068) columns from the edge in plane 0.
        CHECK(grid.map({0, 0, 0})[2] == 387);
        CHECK(grid.map({1, 0, 0})[2] == Approx(387 - 3.90677).epsilon(1e-5));
    }
    SECTION("SOLS microscopes: scan_step_size_px 3, voxel_aspect_ratio 1.7320508, along y") {
        const double shear = 3, aspect = std::numbers::sqrt3, pixel = 0.115;
        const double angle = std::atan2(aspect, shear) * 180 / std::numbers::pi;
        CHECK(angle == Approx(30));
        const StageScan scan{angle, pixel * std::hypot(shear, aspect), pixel, pixel, ShearAxis::y,
                             false};
        CHECK(scan.shear_px() == Approx(shear));
        CHECK(scan.plane_distance_um() == Approx(aspect * pixel));
        CHECK(deskewed_grid({11, 40, 128}, options_of(scan)).shape == Shape3{11, 40 + 30, 128});
    }
    SECTION("biahub: ls_angle_deg 36.17, px_to_scan_ratio 0.371, rotated") {
        const double pixel = 0.116, ratio = 0.371;
        const StageScan scan{36.17, pixel / ratio, pixel, pixel, ShearAxis::y, true};
        CHECK(scan.shear_px() == Approx(-0.807271 / ratio).epsilon(1e-5));
        DeskewOptions options = options_of(scan, true);
        // Its planes are sin(angle) of a pixel apart, one for each recorded row.
        options.output_voxel_um = {pixel * 0.590187, pixel, pixel};
        const DeskewedGrid grid = deskewed_grid({50, 64, 32}, options);
        CHECK(grid.map.matrix[0][1] == Approx(1).epsilon(1e-5));
        CHECK(grid.map.matrix[0][0] == Approx(0).margin(1e-9));
        // Along the stage: planes are 1/ratio pixels apart, rows cos(angle) pixels.
        CHECK(grid.map.matrix[1][0] == Approx(-1 / ratio));
        CHECK(grid.map.matrix[1][1] == Approx(0.807271).epsilon(1e-5));
    }
}

TEST_CASE("maps are those of the scan", "[deskew]") {
    const Shape3 recorded{21, 30, 12};
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x})
        for (const bool opposite : {false, true})
            for (const bool rotate : {false, true}) {
                const StageScan scan{40, 0.3, 0.1, 0.13, axis, opposite};
                const DeskewedGrid grid = deskewed_grid(recorded, options_of(scan, rotate));
                const std::size_t along = axis == ShearAxis::y ? 1 : 2;
                // Distances in the specimen between voxels are those of the scan.
                const std::array<double, 3> voxel{grid.voxel.z_um, grid.voxel.y_um,
                                                  grid.voxel.x_um};
                const auto moved = [&](const std::array<double, 3>& by) {
                    const auto from = grid.map({3, 4, 5});
                    auto to = grid.map({3 + by[0], 4 + by[1], 5 + by[2]});
                    for (std::size_t a = 0; a < 3; ++a) to[a] = (to[a] - from[a]) * voxel[a];
                    return to;
                };
                const auto of_plane = moved({1, 0, 0});
                CHECK(std::hypot(of_plane[0], of_plane[1], of_plane[2]) == Approx(0.3));
                CHECK(std::abs(of_plane[along]) ==
                      Approx(rotate ? 0.3 : 0.3 * std::cos(40 * std::numbers::pi / 180)));
                CHECK((of_plane[along] < 0) == opposite);
                std::array<double, 3> one{0, 0, 0};
                one[along] = 1;
                const auto of_row = moved(one);
                CHECK(std::hypot(of_row[0], of_row[1], of_row[2]) ==
                      Approx(along == 1 ? 0.1 : 0.13));
                CHECK(of_row[along] > 0);
                CHECK((of_row[0] < 0) == (rotate && !opposite));
                // A rotation that does not mirror has a positive determinant.
                const auto& m = grid.map.matrix;
                CHECK(m[0][0] * m[along][along] - m[0][along] * m[along][0] > 0);
                // All recorded voxels are inside, and the first ones at index 0.
                for (std::size_t a = 0; a < 3; ++a) {
                    double least = 1e9, most = -1e9;
                    for (int corner = 0; corner < 8; ++corner) {
                        const auto at = grid.map({corner & 1 ? 20.0 : 0.0, corner & 2 ? 29.0 : 0.0,
                                                  corner & 4 ? 11.0 : 0.0});
                        least = std::min(least, at[a]);
                        most = std::max(most, at[a]);
                    }
                    const auto extent = static_cast<double>(grid.shape[static_cast<int>(a)]);
                    CHECK(most <= extent - 1 + 1e-9);
                    CHECK(most - least > extent - 2);
                    CHECK(least >= -1e-9);
                }
            }
}

TEST_CASE("impossible scans are refused", "[deskew]") {
    const auto refusal = [](const DeskewOptions& options, const Shape3& shape = {3, 4, 5}) {
        return message_of<InvalidArgument>([&] { deskewed_grid(shape, options); });
    };
    DeskewOptions options;
    CHECK(contains(refusal(options, {3, 0, 5}), "empty"));
    for (const double angle : {0.0, -30.0, 90.5, std::numeric_limits<double>::quiet_NaN()}) {
        options.scan.angle_deg = angle;
        CHECK(contains(refusal(options), "degrees; give one above 0, up to 90"));
    }
    options.scan.angle_deg = 90;
    CHECK(deskewed_grid({3, 4, 5}, options).shape == Shape3{3, 4, 5});
    options.scan.step_um = 0;
    CHECK(contains(refusal(options), "the step of the stage is 0 um"));
    options.scan.step_um = 1e300;
    options.scan.angle_deg = 30;
    CHECK(contains(refusal(options), "1e15"));
    options.scan.step_um = 0.4;
    options.scan.pixel_y_um = -1;
    CHECK(contains(refusal(options), "pixel is -1 um"));
    options.scan.pixel_y_um = 0.1;
    options.output_voxel_um = {0.1, 0.1, 0.1};
    CHECK(contains(refusal(options), "rotate"));
    options.rotate = true;
    options.output_voxel_um->x_um = 0;
    CHECK(contains(refusal(options), "0 um along x"));
}
