// SPDX-License-Identifier: Apache-2.0
// Tests confocal and light-sheet microscopes against sums over the pinhole, and in their limits.

#include <math.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/optics/direct_psf.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Intensity at any radius up to `farthest`: parabolas through three neighbors of a dense table.
class DirectTable {
  public:
    DirectTable(double na, double wavelength, double z, double farthest) {
        for (double r = 0; r < farthest + 3 * step_; r += step_)
            values_.push_back(direct_born_wolf(na, wavelength, z, r));
    }
    double operator()(double r) const {
        const double position = std::max(1.0, std::round(r / step_));
        const double u = r / step_ - position;
        const double* v = values_.data() + static_cast<std::size_t>(position);
        return v[0] + u * (v[1] - v[-1]) / 2 + u * u * (v[1] - 2 * v[0] + v[-1]) / 2;
    }

  private:
    double step_ = 0.001;
    std::vector<double> values_;
};

// Returns the mean over the points of a disc: Simpson's rule over the squared distance from its
// center, and equal angles around it.
double direct_pinhole_mean(const DirectTable& intensity, double r, double radius) {
    constexpr int rings = 200, angles = 64;
    double mean = 0;
    for (int i = 0; i <= rings; ++i) {
        const double t = radius * std::sqrt(static_cast<double>(i) / rings);
        for (int j = 0; j < angles; ++j) {
            const double phi = 2 * pi * (j + 0.5) / angles;
            mean += simpson_weight(i, rings) / angles *
                    intensity(std::hypot(r + t * std::cos(phi), t * std::sin(phi)));
        }
    }
    return mean;
}

}  // namespace

TEST_CASE("confocal is excitation times emission averaged over the pinhole") {
    const double na = 0.75, emission = 0.55, excitation = 0.45;
    for (const double pinhole : {0.4, 1.0, 2.0}) {
        const PsfOptions options = confocal(air_objective(), pinhole);
        const double radius = pinhole * 1.22 * emission / na / 2;
        const double peak = psf_intensity(options, 0, {0.0})[0];
        // Points on the axis, within the pinhole, at its edge and outside.
        const std::vector<double> radii{0, 0.6 * radius, radius, 1.3 * radius};
        for (const double z : {0.0, 1.3}) {
            const auto found = psf_intensity(options, z, radii);
            const DirectTable emitted(na, emission, z, 2.3 * radius);
            for (std::size_t i = 0; i < radii.size(); ++i) {
                INFO("pinhole " << pinhole << ", z " << z << ", r " << radii[i]);
                const double expected = direct_born_wolf(na, excitation, z, radii[i]) *
                                        direct_pinhole_mean(emitted, radii[i], radius);
                CHECK(std::abs(found[i] - expected) < 1e-6 * peak);
            }
        }
    }
}

TEST_CASE("the PSF of a closed pinhole is excitation times emission") {
    for (const PsfModel model : models) {
        PsfOptions options;
        options.model = model;
        options.depth_um = 2;
        options = confocal(options, 1e-6);
        const double focus = brightest_focus_um(options);
        const double peak = psf_intensity(options, focus, {0.0})[0];
        const std::vector<double> radii{0, 0.07, 0.2, 0.5, 2};
        for (const double away : {0.0, -0.4, 1.0}) {
            const auto found = psf_intensity(options, focus + away, radii);
            const auto excited = psf_intensity(widefield(options, 0.45), focus + away, radii);
            const auto emitted =
                psf_intensity(widefield(options, options.wavelength_um), focus + away, radii);
            for (std::size_t i = 0; i < radii.size(); ++i) {
                INFO("model " << static_cast<int>(model) << ", " << away << ", r " << radii[i]);
                CHECK(std::abs(found[i] - excited[i] * emitted[i]) < 1e-8 * peak);
            }
        }
    }
}

TEST_CASE("the PSF of an open pinhole is the excitation") {
    const double na = 0.75, emission = 0.55;
    const PsfOptions options = confocal(air_objective(), 25);
    const std::vector<double> radii{0, 0.1, 0.3, 1, 3};
    const auto found = psf_intensity(options, 0.5, radii);
    const auto excited = psf_intensity(widefield(options, 0.45), 0.5, radii);
    // The light of the plane, 4π/(k NA)², over the area, except a tail of λ/(π² NA R) beyond R.
    const double k = 2 * pi / emission, radius = 25 * 0.61 * emission / na;
    const double mean = 4 / (k * na * k * na * radius * radius);
    const double tail = emission / (pi * pi * na * radius);
    for (std::size_t i = 0; i < radii.size(); ++i) {
        INFO("r " << radii[i]);
        CHECK(found[i] / excited[i] == Approx(mean).epsilon(2 * tail));
    }
}

TEST_CASE("two-photon excitation is the square of the intensity") {
    PsfOptions options = air_objective();
    options.modality = Modality::two_photon;
    options.excitation_um = 0.92;
    const double peak = psf_intensity(options, 0, {0.0})[0];
    const std::vector<double> radii{0, 0.2, 0.55, 0.9, 2};
    for (const double z : {0.0, 1.3, -4.0}) {
        const auto found = psf_intensity(options, z, radii);
        for (std::size_t i = 0; i < radii.size(); ++i) {
            INFO("z " << z << ", r " << radii[i]);
            const double once = direct_born_wolf(0.75, 0.92, z, radii[i]);
            CHECK(std::abs(found[i] - once * once) < 1e-7 * peak);
        }
    }
    // The emission has no influence.
    PsfOptions other = options;
    other.wavelength_um = 0.45;
    CHECK(psf_intensity(other, 1.3, radii) == psf_intensity(options, 1.3, radii));

    // The square of the light falls off so fast that planes far from focus hold little of it. The
    // captured share of a plane must agree with sums over its points.
    options.voxel = {3, 0.1, 0.12};
    options.size = {3, 31, 31};
    const auto shares = make_psf(options).captured;
    for (const int plane : {0, 1}) {
        double inside = 0, all = 0;
        constexpr double step = 0.02;
        for (double y = step / 2; y < 8; y += step) {
            std::vector<double> row;
            for (double x = step / 2; x < 8; x += step) row.push_back(std::hypot(x, y));
            const auto h = psf_intensity(options, plane == 1 ? 0 : 3, row);
            for (std::size_t i = 0; i < row.size(); ++i) {
                all += h[i];
                const double x = step * (static_cast<double>(i) + 0.5);
                if (y < 1.55 && x < 1.86) inside += h[i];
            }
        }
        CHECK(shares[static_cast<std::size_t>(plane)] == Approx(inside / all).epsilon(1e-2));
    }
    PsfFacts facts = psf_facts(options);
    CHECK(facts.rayleigh_lateral_um == Approx(0.61 * 0.92 / 0.75));
    CHECK(facts.nyquist_lateral_um == Approx(0.92 / (8 * 0.75)));
    options.excitation_um.reset();
    CHECK_THROWS_AS(psf_facts(options), InvalidArgument);
}

TEST_CASE("a light sheet dims planes off its middle, by half at half its width") {
    for (const PsfModel model : models) {
        PsfOptions options;
        options.model = model;
        options.depth_um = 5;
        const PsfOptions plain = options;
        options.modality = Modality::light_sheet;
        options.sheet_fwhm_um = 3;
        const double focus = brightest_focus_um(plain);
        CHECK(brightest_focus_um(options) == focus);
        for (const auto& [away, dimmed] :
             {std::pair{0.0, 1.0}, {1.5, 0.5}, {-1.5, 0.5}, {3.0, 0.0625}}) {
            const std::vector<double> radii{0, 0.3, 1};
            const auto found = psf_intensity(options, focus + away, radii);
            const auto expected = psf_intensity(plain, focus + away, radii);
            for (std::size_t i = 0; i < radii.size(); ++i)
                CHECK(std::abs(found[i] - dimmed * expected[i]) < 1e-12);
        }
    }
}

TEST_CASE("the captured light is the rectangle's share of a plane's light") {
    PsfOptions options = air_objective();
    options.voxel = {1.0, 0.1, 0.12};
    options.size = {3, 15, 31};
    const double k = 2 * pi / options.wavelength_um, na = 0.75;
    const auto sum_over = [](auto&& intensity, double half_y, double half_x) {
        const int count = half_x > 2 ? 150 : 60;
        double sum = 0;
        for (int i = 0; i < count; ++i)
            for (int j = 0; j < count; ++j)
                sum +=
                    intensity(std::hypot(half_y * (i + 0.5) / count, half_x * (j + 0.5) / count));
        return 4 * sum * half_y * half_x / (count * count);
    };
    const auto shares = make_psf(options).captured;
    REQUIRE(shares.size() == 3);
    for (const int plane : {0, 1, 2}) {
        const double inside = sum_over(
            [&](double r) { return direct_born_wolf(na, 0.55, plane - 1.0, r); }, 0.75, 1.86);
        INFO("plane " << plane);
        CHECK(shares[static_cast<std::size_t>(plane)] ==
              Approx(inside * (k * na) * (k * na) / (4 * pi)).epsilon(2e-3));
    }

    // Confocal light falls off so fast that a wide square holds nearly all of it.
    PsfOptions pinhole = confocal(options, 1);
    pinhole.voxel.z_um = 6;
    const auto confocal_shares = make_psf(pinhole).captured;
    for (const double z : {0.0, 6.0}) {
        const auto intensity = [&](double half_y, double half_x) {
            std::vector<double> radii;
            sum_over([&](double r) { return radii.push_back(r), 0.0; }, half_y, half_x);
            const auto values = psf_intensity(pinhole, z, radii);
            std::size_t next = 0;
            return sum_over([&](double) { return values[next++]; }, half_y, half_x);
        };
        CHECK(confocal_shares[z > 0 ? 0 : 1] ==
              Approx(intensity(0.75, 1.86) / intensity(14, 14)).epsilon(1e-2));
    }
}

TEST_CASE("the captured light of every model agrees with sums over rings") {
    for (const PsfModel model : models) {
        PsfOptions options;
        options.model = model;
        options.depth_um = 1;
        options.voxel = {0.5, 1.6, 1.6};
        options.size = {3, 5, 5};
        options.oversampling = 1;
        options.center_z_um = -1.2;
        // The square of 8 µm contains a disc of radius 4 µm, and lies in a disc of radius 5.66 µm.
        const auto shares = make_psf(options).captured;
        for (const int plane : {0, 2}) {
            std::vector<double> radii;
            constexpr double step = 0.01;
            for (double r = step / 2; r < 40; r += step) radii.push_back(r);
            const auto h = psf_intensity(options, plane == 0 ? -0.7 : -1.7, radii);
            double inner = 0, outer = 0, all = 0;
            for (std::size_t i = 0; i < radii.size(); ++i) {
                const double light = h[i] * radii[i];
                all += light;
                if (radii[i] < 4) inner += light;
                if (radii[i] < 5.657) outer += light;
            }
            const double share = shares[static_cast<std::size_t>(plane)];
            INFO("model " << static_cast<int>(model) << ", plane " << plane << ": " << share);
            CHECK(share > inner / all * 0.985);  // about 1 % of the light is beyond 40 µm
            CHECK(share < outer / all);
        }
    }
}
