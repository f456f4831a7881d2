// SPDX-License-Identifier: Apache-2.0
// Compares intensities with references, direct sums and known zeros. The references are composite
// Gauss–Legendre sums by a program that shares no code with the library, converged to 2e-13.

#include <math.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "convolume/psf.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using std::numbers::pi;

namespace {

bool near(double found, double expected, double tolerance) {
    return std::abs(found - expected) <= tolerance;
}

nlohmann::json references() {
    std::ifstream file(CONVOLUME_PSF_REFERENCE);
    REQUIRE(file);
    return nlohmann::json::parse(file);
}

PsfOptions options_of(const nlohmann::json& row, PsfModel model) {
    const auto& from = row.at("params");
    PsfOptions options;
    options.model = model;
    options.objective = {from.at("NA"),  from.at("ni"),  from.at("ni0"),
                         from.at("ng"),  from.at("ng0"), from.at("ns"),
                         from.at("ti0"), from.at("tg"),  from.at("tg0")};
    options.wavelength_um = from.at("wvl");
    options.depth_um = row.at("pz");
    return options;
}

PsfOptions oil_into_water(PsfModel model, double depth_um) {
    PsfOptions options;
    options.model = model;
    options.objective.ns = 1.33;
    options.wavelength_um = 0.6;
    options.depth_um = depth_um;
    return options;
}

// Compares every row of `column` with the model: |difference| relative to the case's maximum.
void check_references(const char* column, PsfModel model, bool only_born_wolf = false) {
    struct Worst {
        double maximum = 0, difference = 0;
    };
    std::map<std::pair<std::string, double>, Worst> cases;
    int rows = 0;
    for (const auto& row : references()) {
        const std::string name = row.at("case");
        if (only_born_wolf && name != "bw_air_na0.75") continue;
        ++rows;
        Worst& worst = cases[{name, row.at("pz").get<double>()}];
        const std::vector<double> expected = row.at(column), radii = row.at("r");
        const auto found = psf_intensity(options_of(row, model), row.at("z"), radii);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            worst.maximum = std::max(worst.maximum, expected[i]);
            worst.difference = std::max(worst.difference, std::abs(found[i] - expected[i]));
        }
    }
    CHECK(rows == (only_born_wolf ? 5 : 41));
    for (const auto& [name, worst] : cases) {
        INFO(column << ", " << name.first << " at depth " << name.second << ": "
                    << worst.difference / worst.maximum << " of the maximum");
        CHECK(worst.difference <= 1e-11 * worst.maximum);
    }
}

// Computes Gibson and Lanni's integral as a plain midpoint sum over v with ρ = a(1 − v²), which is
// smooth at the critical angle.
double direct_gibson_lanni(const PsfOptions& options, double z, double r) {
    using Complex = std::complex<double>;
    const Objective& lens = options.objective;
    const double k = 2 * pi / options.wavelength_um;
    const double a = std::min(1.0, lens.ns / lens.na);
    const auto q = [&](double n, double rho) {
        return std::sqrt(std::max(0.0, n * n - lens.na * lens.na * rho * rho));
    };
    constexpr int count = 400000;
    Complex sum = 0;
    for (int i = 0; i < count; ++i) {
        const double v = (i + 0.5) / count, rho = a * (1 - v * v);
        const double path = options.depth_um * q(lens.ns, rho) + z * q(lens.ni, rho) +
                            lens.ti0_um * (q(lens.ni, rho) - q(lens.ni0, rho)) +
                            lens.tg_um * q(lens.ng, rho) - lens.tg0_um * q(lens.ng0, rho);
        sum += ::j0(k * lens.na * r * rho) * std::polar(1.0, k * path) * rho * 2.0 * a * v;
    }
    return std::norm(2.0 * sum / static_cast<double>(count));
}

}  // namespace

TEST_CASE("scalar intensities agree with the references") {
    check_references("scalar", PsfModel::gibson_lanni);
}

TEST_CASE("vectorial intensities agree with the references") {
    check_references("vector", PsfModel::vectorial);
}

TEST_CASE("Born and Wolf's model equals Gibson and Lanni's with layers as designed") {
    check_references("scalar", PsfModel::born_wolf, true);
}

TEST_CASE("deep sources and layers that deviate from the design agree with direct sums") {
    for (const double depth : {20.0, 50.0}) {
        PsfOptions options = oil_into_water(PsfModel::gibson_lanni, depth);
        options.objective.tg_um = 175;
        options.objective.ni = 1.51;
        options.objective.ng = 1.52;
        const double focus = brightest_focus_um(options);
        const double peak = psf_intensity(options, focus, {0.0})[0];
        for (const double away : {-3.0, 0.0, 0.7}) {
            const std::vector<double> radii{0.0, 0.1, 0.4, 2.5, 12.0};
            const auto found = psf_intensity(options, focus + away, radii);
            for (std::size_t i = 0; i < radii.size(); ++i) {
                INFO("depth " << depth << ", z " << focus + away << ", r " << radii[i]);
                const double expected = direct_gibson_lanni(options, focus + away, radii[i]);
                CHECK(std::abs(found[i] - expected) <= 1e-7 * peak);
            }
        }
    }
}

TEST_CASE("quadrature has converged: radii give the same results together and alone") {
    // The farthest radius determines the number of nodes.
    for (const double ns : {1.33, 1.401, 1.515})
        for (const double depth : {0.0, 20.0}) {
            PsfOptions options = oil_into_water(PsfModel::vectorial, depth);
            options.objective.ns = ns;
            const double focus = brightest_focus_um(options);
            const double peak = psf_intensity(options, focus, {0.0})[0];
            for (const double away : {0.0, 3.0, -15.0})
                for (const double radius : {0.0, 0.3, 1.0, 3.0, 10.0}) {
                    INFO("ns " << ns << ", depth " << depth << ", away " << away << ", r "
                               << radius);
                    const double alone = psf_intensity(options, focus + away, {radius})[0];
                    const double together = psf_intensity(options, focus + away, {radius, 40})[0];
                    CHECK(std::abs(alone - together) <= 1e-10 * peak);
                }
        }
}

TEST_CASE("the focal plane agrees with Airy's pattern") {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective.na = 0.75;
    options.objective.ni = 1;
    const double unit = options.wavelength_um / options.objective.na;
    // The radius of the first zero, 0.61 λ/NA.
    const double zero = 3.8317059702075123 / (2 * pi) * unit;
    CHECK(near(psf_intensity(options, 0, {0.0})[0], 1, 1e-13));
    CHECK(psf_intensity(options, 0, {zero})[0] < 1e-26);
    CHECK(psf_intensity(options, 0, {0.61 * unit})[0] < 1e-6);
    for (const double radius : {0.05, 0.3, 1.0, 5.0}) {
        const double v = 2 * pi / unit * radius;
        const double airy = std::pow(2 * ::j1(v) / v, 2);
        CHECK(std::abs(psf_intensity(options, 0, {radius})[0] - airy) < 1e-13);
    }
}

TEST_CASE("quadrature has enough nodes far from the axis and far from focus") {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective = {.na = 0.3, .ni = 1};
    const double k = 2 * pi / options.wavelength_um, na = 0.3;
    // Airy's far rings, relative to their own brightness.
    for (const double radius : {500.0, 1234.5, 2000.0}) {
        const double v = k * na * radius, airy = std::pow(2 * ::j1(v) / v, 2);
        CHECK(std::abs(psf_intensity(options, 0, {radius})[0] - airy) <
              1e-6 * 8 / (pi * v * v * v));
    }
    // On the axis, with q = √(n² − NA²ρ²) as the variable, the integral has a closed form.
    for (const double z : {400.0, 3000.0, 9000.0}) {
        using Complex = std::complex<double>;
        const auto primitive = [&](double q) {
            return std::polar(1.0, k * z * q) * (Complex(0, -q / (k * z)) + 1 / (k * z * k * z));
        };
        const Complex field = 2 / (na * na) * (primitive(1) - primitive(std::sqrt(1 - na * na)));
        const double envelope = 16 / std::pow(na * na * k * z, 2);
        CHECK(std::abs(psf_intensity(options, z, {0.0})[0] - std::norm(field)) < 1e-8 * envelope);
    }
}

TEST_CASE("axial zeros are at 2 λ n / NA² if the aperture is small") {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective.na = 0.05;
    options.objective.ni = 1.33;
    const double zero = 2 * options.wavelength_um * 1.33 / (0.05 * 0.05);
    for (const double z : {-2 * zero, -zero, zero, 2 * zero})
        CHECK(psf_intensity(options, z, {0.0})[0] < 1e-6);
    // The expected value is sinc²(1/2).
    CHECK(near(psf_intensity(options, zero / 2, {0.0})[0], 4 / (pi * pi), 1e-3));
}

TEST_CASE("every plane carries the same light") {
    // Parseval: ∫ h 2πr dr = 4π a² / (k NA)² for the scalar models; the light beyond R falls as
    // 1/R.
    PsfOptions options = oil_into_water(PsfModel::gibson_lanni, 2);
    const double k = 2 * pi / options.wavelength_um, na = options.objective.na;
    const double a = options.objective.ns / na, all = 4 * pi * a * a / (k * k * na * na);
    std::vector<double> radii;
    const double step = 0.01, farthest = 60;
    for (double r = step / 2; r < farthest; r += step) radii.push_back(r);
    for (const double z : {-2.3, -1.0, 0.5}) {
        const auto h = psf_intensity(options, z, radii);
        double sum = 0;
        for (std::size_t i = 0; i < radii.size(); ++i) sum += h[i] * 2 * pi * radii[i] * step;
        CHECK(near(sum / all, 1, 0.01));
        CHECK(sum < all);
    }
}

TEST_CASE("foci are at the expected depths") {
    PsfOptions options = oil_into_water(PsfModel::vectorial, 0);
    options.objective.ns = options.objective.ni;
    CHECK(near(paraxial_focus_um(options), 0, 1e-12));
    CHECK(near(brightest_focus_um(options), 0, 1e-4));
    options = oil_into_water(PsfModel::gibson_lanni, 10);
    CHECK(near(paraxial_focus_um(options), -10 * 1.515 / 1.33, 1e-12));
    for (const PsfModel model : {PsfModel::gibson_lanni, PsfModel::vectorial})
        for (const double depth : {0.5, 2.0, 20.0}) {
            options = oil_into_water(model, depth);
            const double found = brightest_focus_um(options);
            const double peak = psf_intensity(options, found, {0.0})[0];
            INFO("depth " << depth << ", focus " << found);
            double brightest = 0;
            for (double z = -2 * depth - 1; z < 1; z += 0.1)
                brightest = std::max(brightest, psf_intensity(options, z, {0.0})[0]);
            CHECK(brightest <= peak * (1 + 1e-9));
            for (const double away : {-1e-3, 1e-3})
                CHECK(psf_intensity(options, found + away, {0.0})[0] < peak);
        }
}

TEST_CASE("the Gaussian has the published widths") {
    PsfOptions options;
    options.model = PsfModel::gaussian;
    const double k = 2 * pi / options.wavelength_um, na = options.objective.na;
    const double sigma_r = std::sqrt(2.0) / (k * na);
    const double sigma_z = 2 * std::sqrt(6.0) * options.objective.ni / (k * na * na);
    CHECK(near(psf_intensity(options, 0, {sigma_r})[0], std::exp(-0.5), 1e-14));
    CHECK(near(psf_intensity(options, sigma_z, {0.0})[0], std::exp(-0.5), 1e-14));
    CHECK(near(sigma_r, 0.225 * options.wavelength_um / na, 1e-4));
}
