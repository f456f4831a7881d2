// SPDX-License-Identifier: Apache-2.0
// Confocal and light-sheet microscopes: against sums over the pinhole, and in their limits.

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

using namespace convolume;

namespace {

constexpr double pi = std::numbers::pi;
constexpr PsfModel models[] = {PsfModel::gaussian, PsfModel::born_wolf, PsfModel::gibson_lanni,
                               PsfModel::vectorial};

PsfOptions air_objective() {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective.na = 0.75;
    options.objective.ni = 1;
    options.wavelength_um = 0.55;
    return options;
}

PsfOptions confocal(PsfOptions options, double pinhole_au) {
    options.modality = Modality::confocal;
    options.excitation_um = 0.45;
    options.pinhole_au = pinhole_au;
    return options;
}

PsfOptions widefield(PsfOptions options, double wavelength_um) {
    options.modality = Modality::widefield;
    options.excitation_um.reset();
    options.pinhole_au.reset();
    options.wavelength_um = wavelength_um;
    return options;
}

double simpson_weight(int i, int intervals) {
    return (i == 0 || i == intervals ? 1 : i % 2 == 1 ? 4 : 2) / (3.0 * intervals);
}

// Born and Wolf's integral in air by Simpson's rule.
double direct_born_wolf(double na, double wavelength, double z, double r) {
    constexpr int intervals = 300;
    const double k = 2 * pi / wavelength;
    std::complex<double> field = 0;
    for (int i = 0; i <= intervals; ++i) {
        const double rho = static_cast<double>(i) / intervals;
        field += simpson_weight(i, intervals) * rho * ::j0(k * na * r * rho) *
                 std::polar(1.0, k * z * std::sqrt(1 - na * na * rho * rho));
    }
    return 4 * std::norm(field);
}

// The same for any radius up to `farthest`: parabolas through three neighbors of a dense table.
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

// Mean over the points of the disc: Simpson's rule over the squared distance from its center, equal
// angles around it.
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

PsfOptions spinning_disc(PsfOptions options, double pinhole_um, double spacing_um) {
    options.modality = Modality::spinning_disc;
    options.excitation_um = 0.45;
    options.disc_pinhole_um = pinhole_um;
    options.disc_spacing_um = spacing_um;
    return options;
}

// What a disc with its pinholes lets through of excitation, point by point: the mean over two
// discs for each pinhole of the lattice, whose directions are averaged. What lies farther than
// `farthest` is spread over the area of the cells.
class DirectDisc {
  public:
    DirectDisc(double na, double wavelength, double z, double pinhole, double spacing)
        : spacing_(spacing) {
        constexpr double farthest = 16, step = 0.004;
        constexpr int intervals = 900;
        const double k = 2 * pi / wavelength;
        std::vector<double> lit, once;
        for (double r = 0; r < farthest + 2 * pinhole; r += step) {
            std::complex<double> field = 0;
            for (int i = 0; i <= intervals; ++i) {
                const double rho = static_cast<double>(i) / intervals;
                field += simpson_weight(i, intervals) * rho * ::j0(k * na * r * rho) *
                         std::polar(1.0, k * z * std::sqrt(1 - na * na * rho * rho));
            }
            lit.push_back(4 * std::norm(field));
        }
        const auto smoothed = [&](const std::vector<double>& values, double end) {
            std::vector<double> result;
            const Table table{values, step};
            for (double r = 0; r < end; r += step)
                result.push_back(disc_mean(table, r, pinhole / 2));
            return result;
        };
        once = smoothed(lit, farthest + pinhole);
        twice_ = {smoothed(once, farthest), step};
        // All of a plane's light is 4π/(k NA)².
        double within = 0;
        for (std::size_t i = 0; i < twice_.values.size(); ++i)
            within += twice_.values[i] * 2 * pi * step * step * static_cast<double>(i);
        beyond_ = (4 * pi / (k * na * k * na) - within) / (spacing * spacing);
        reach_ = farthest - 3 * step;
    }

    double operator()(double r) const {
        constexpr int angles = 720;
        const auto most = static_cast<int>(reach_ / spacing_) + 1;
        double sum = 0;
        for (int i = -most; i <= most; ++i)
            for (int j = -most; j <= most; ++j)
                for (int a = 0; a < angles; ++a) {
                    const double phi = 2 * pi * a / angles;
                    const double distance = std::hypot(r * std::cos(phi) - i * spacing_,
                                                       r * std::sin(phi) - j * spacing_);
                    if (distance < reach_) sum += twice_(distance) / angles;
                }
        return sum + beyond_;
    }

  private:
    struct Table {
        std::vector<double> values;
        double step;
        double operator()(double r) const {
            const auto at = static_cast<std::size_t>(std::max(1.0, std::round(r / step)));
            const double u = r / step - static_cast<double>(at);
            const double* v = values.data() + std::min(at, values.size() - 2);
            return v[0] + u * (v[1] - v[-1]) / 2 + u * u * (v[1] - 2 * v[0] + v[-1]) / 2;
        }
    };
    static double disc_mean(const Table& table, double r, double radius) {
        constexpr int rings = 24, angles = 48;
        double mean = 0;
        for (int i = 0; i <= rings; ++i) {
            const double t = radius * std::sqrt(static_cast<double>(i) / rings);
            for (int j = 0; j < angles; ++j) {
                const double phi = 2 * pi * (j + 0.5) / angles;
                mean += simpson_weight(i, rings) / angles *
                        table(std::hypot(r + t * std::cos(phi), t * std::sin(phi)));
            }
        }
        return mean;
    }

    double spacing_;
    Table twice_;
    double beyond_ = 0;
    double reach_ = 0;
};

}  // namespace

TEST_CASE("a spinning disc lets light through one pinhole or another") {
    const double na = 0.75, emission = 0.55, excitation = 0.45;
    for (const auto& [pinhole, spacing] : {std::pair{0.6, 2.0}, {0.3, 3.1}}) {
        const PsfOptions options = spinning_disc(air_objective(), pinhole, spacing);
        const double peak = psf_intensity(options, 0, {0.0})[0];
        // In the middle, beside it, between pinholes, and at the next ones.
        const std::vector<double> radii{0, 0.25, 0.7, 0.5 * spacing, spacing, 1.6 * spacing};
        for (const double z : {0.0, 1.3, -4.0}) {
            const auto found = psf_intensity(options, z, radii);
            const DirectDisc through(na, excitation, z, pinhole, spacing);
            for (std::size_t i = 0; i < radii.size(); ++i) {
                INFO("pinhole " << pinhole << ", z " << z << ", r " << radii[i]);
                const double emitted = direct_born_wolf(na, emission, z, radii[i]);
                const double expected = emitted * through(radii[i]);
                CHECK(std::abs(found[i] - expected) < 2e-5 * peak);
                // Where little light comes from, too.
                CHECK(std::abs(found[i] - expected) < 2e-3 * expected + 1e-8 * peak);
            }
        }
    }
}

TEST_CASE("far from focus a spinning disc lights the sample evenly") {
    for (const PsfModel model : models) {
        if (model == PsfModel::gaussian) continue;  // which has no light there
        PsfOptions options = air_objective();
        options.model = model;
        if (model != PsfModel::born_wolf)
            options.objective = {0.75, 1.33, 1.33, 1.33, 1.33, 1.33, 150, 170, 170};
        options = spinning_disc(options, 0.5, 2);
        PsfOptions plain = widefield(options, options.wavelength_um);
        plain.disc_pinhole_um.reset();
        plain.disc_spacing_um.reset();
        const std::vector<double> radii{0, 1, 5, 12};  // within the cone of light
        std::vector<double> ratios;
        for (const double z : {-30.0, 30.0}) {
            const auto found = psf_intensity(options, z, radii);
            const auto alone = psf_intensity(plain, z, radii);
            for (std::size_t i = 0; i < radii.size(); ++i) ratios.push_back(found[i] / alone[i]);
        }
        for (const double ratio : ratios) CHECK(ratio == Approx(ratios[0]).epsilon(0.02));
        if (model != PsfModel::born_wolf) continue;
        const double k = 2 * pi / 0.45;  // of 4π/(k NA)², over a cell of 4 µm²
        CHECK(ratios[0] == Approx(4 * pi / (k * 0.75 * k * 0.75) / 4).epsilon(0.02));
    }
}

TEST_CASE("lengths on a disc are divided by its magnification") {
    PsfOptions small = spinning_disc(air_objective(), 0.5, 2.5);
    small.size = {5, 17, 17};
    PsfOptions large = spinning_disc(air_objective(), 50, 250);
    large.disc_magnification = 100;
    large.size = small.size;
    const Psf a = make_psf(small), b = make_psf(large);
    double largest = 0, difference = 0;
    for (index_t i = 0; i < element_count(small.size); ++i) {
        const double value = a.values.elements<float>()[i];
        largest = std::max(largest, value);
        difference = std::max(difference, std::abs(value - b.values.elements<float>()[i]));
    }
    CHECK(difference < 1e-6 * largest);
    CHECK(psf_facts(large).pinhole_um == Approx(0.5));
    // Narrower than widefield, wider than a point-like pinhole.
    const double disc = psf_facts(small).fwhm_axial_um;
    PsfOptions point = confocal(air_objective(), 1e-6);
    CHECK(disc > psf_facts(point).fwhm_axial_um);
    CHECK(disc < psf_facts(air_objective()).fwhm_axial_um);
}

TEST_CASE("confocal is excitation times emission averaged over the pinhole") {
    const double na = 0.75, emission = 0.55, excitation = 0.45;
    for (const double pinhole : {0.4, 1.0, 2.0}) {
        const PsfOptions options = confocal(air_objective(), pinhole);
        const double radius = pinhole * 1.22 * emission / na / 2;
        const double peak = psf_intensity(options, 0, {0.0})[0];
        // On the axis, within the pinhole, at its edge and without.
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

TEST_CASE("a closed pinhole multiplies excitation and emission") {
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

TEST_CASE("an open pinhole leaves the excitation") {
    const double na = 0.75, emission = 0.55;
    const PsfOptions options = confocal(air_objective(), 25);
    const std::vector<double> radii{0, 0.1, 0.3, 1, 3};
    const auto found = psf_intensity(options, 0.5, radii);
    const auto excited = psf_intensity(widefield(options, 0.45), 0.5, radii);
    // All of the plane's light, 4π/(k NA)², over the area; but for a tail of λ/(π² NA R) beyond R.
    const double k = 2 * pi / emission, radius = 25 * 0.61 * emission / na;
    const double mean = 4 / (k * na * k * na * radius * radius);
    const double tail = emission / (pi * pi * na * radius);
    for (std::size_t i = 0; i < radii.size(); ++i) {
        INFO("r " << radii[i]);
        CHECK(found[i] / excited[i] == Approx(mean).epsilon(2 * tail));
    }
}

TEST_CASE("two photons are excited by the square of the intensity") {
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
    // Emission plays no part.
    PsfOptions other = options;
    other.wavelength_um = 0.45;
    CHECK(psf_intensity(other, 1.3, radii) == psf_intensity(options, 1.3, radii));

    // The square of the light falls off so fast that planes far from focus hold little of it, and
    // what is captured of a plane is what sums over its points find.
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

TEST_CASE("a light sheet dims what is off its middle, by half at half its width") {
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

TEST_CASE("light captured is what the rectangle holds of all of a plane's light") {
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

    // Confocal light falls off so fast that a wide square holds all of it.
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

TEST_CASE("every model's planes hold the light that sums over rings find") {
    for (const PsfModel model : models) {
        PsfOptions options;
        options.model = model;
        options.depth_um = 1;
        options.voxel = {0.5, 1.6, 1.6};
        options.size = {3, 5, 5};
        options.oversampling = 1;
        options.center_z_um = -1.2;
        // A square of 8 µm: the disc of 4 µm in it and the disc of 5.66 µm around it.
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
            CHECK(share > inner / all * 0.985);  // some 1 % of the light is beyond 40 µm
            CHECK(share < outer / all);
        }
    }
}
