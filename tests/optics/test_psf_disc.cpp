// SPDX-License-Identifier: Apache-2.0
// Tests spinning-disc microscopes against sums over the pinholes, and in their limits.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/optics/direct_psf.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

PsfOptions spinning_disc(PsfOptions options, double pinhole_um, double spacing_um) {
    options.modality = Modality::spinning_disc;
    options.excitation_um = 0.45;
    options.disc_pinhole_um = pinhole_um;
    options.disc_spacing_um = spacing_um;
    return options;
}

// Excitation that a spinning disc lets through, point by point: for each pinhole of the lattice,
// the mean over two discs, averaged over directions. Light farther away than `farthest` is spread
// evenly over the cells of the lattice.
class DirectDisc {
  public:
    DirectDisc(double na, double wavelength, double z, double pinhole, double spacing)
        : spacing_(spacing) {
        constexpr double farthest = 16, step = 0.004;
        const double k = 2 * pi / wavelength;
        std::vector<double> lit, once;
        for (double r = 0; r < farthest + 2 * pinhole; r += step)
            lit.push_back(direct_born_wolf(na, wavelength, z, r, 900));
        const auto smoothed = [&](const std::vector<double>& values, double end) {
            std::vector<double> result;
            const Table table{values, step};
            for (double r = 0; r < end; r += step)
                result.push_back(disc_mean(table, r, pinhole / 2));
            return result;
        };
        once = smoothed(lit, farthest + pinhole);
        twice_ = {smoothed(once, farthest), step};
        // The light of a plane is 4π/(k NA)² in total.
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
        constexpr int rings = 24, angles = 24;  // of one half, which mirrors the other one
        double mean = 0;
        for (int i = 0; i <= rings; ++i) {
            const double t = radius * std::sqrt(static_cast<double>(i) / rings);
            for (int j = 0; j < angles; ++j) {
                const double phi = pi * (j + 0.5) / angles;
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

TEST_CASE("a spinning disc's PSF is the sum over its pinholes") {
    const double na = 0.75, emission = 0.55, excitation = 0.45;
    struct Case {
        double pinhole, spacing, z;
    };
    // Direct sums over the pinholes take seconds each.
    for (const auto& [pinhole, spacing, z] :
         {Case{0.6, 2.0, 0.0}, Case{0.6, 2.0, -4.0}, Case{0.3, 3.1, 1.3}}) {
        const PsfOptions options = spinning_disc(air_objective(), pinhole, spacing);
        const double peak = psf_intensity(options, 0, {0.0})[0];
        // Points in the middle, beside it, between pinholes, and at the next pinholes.
        const std::vector<double> radii{0, 0.25, 0.7, 0.5 * spacing, spacing, 1.6 * spacing};
        const auto found = psf_intensity(options, z, radii);
        const DirectDisc through(na, excitation, z, pinhole, spacing);
        for (std::size_t i = 0; i < radii.size(); ++i) {
            INFO("pinhole " << pinhole << ", z " << z << ", r " << radii[i]);
            const double emitted = direct_born_wolf(na, emission, z, radii[i]);
            const double expected = emitted * through(radii[i]);
            CHECK(std::abs(found[i] - expected) < 2e-5 * peak);
            // The bound is relative, also at points from which little light comes.
            CHECK(std::abs(found[i] - expected) < 2e-3 * expected + 1e-8 * peak);
        }
    }
}

TEST_CASE("far from focus a spinning disc lights the sample evenly") {
    for (const PsfModel model : models) {
        if (model == PsfModel::gaussian) continue;  // a Gaussian beam has no light far from focus
        PsfOptions options = air_objective();
        options.model = model;
        if (model != PsfModel::born_wolf)
            options.objective = {0.75, 1.33, 1.33, 1.33, 1.33, 1.33, 150, 170, 170};
        options = spinning_disc(options, 0.5, 2);
        PsfOptions plain = widefield(options, options.wavelength_um);
        plain.disc_pinhole_um.reset();
        plain.disc_spacing_um.reset();
        const std::vector<double> radii{0, 1, 5, 12};  // radii within the cone of light
        std::vector<double> ratios;
        for (const double z : {-30.0, 30.0}) {
            const auto found = psf_intensity(options, z, radii);
            const auto alone = psf_intensity(plain, z, radii);
            for (std::size_t i = 0; i < radii.size(); ++i) ratios.push_back(found[i] / alone[i]);
        }
        for (const double ratio : ratios) CHECK(ratio == Approx(ratios[0]).epsilon(0.02));
        if (model != PsfModel::born_wolf) continue;
        const double k = 2 * pi / 0.45;  // light of 4π/(k NA)² in a cell of 4 µm²
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
    // The PSF is narrower than widefield, and wider than with a point-like pinhole.
    const double disc = psf_facts(small).fwhm_axial_um;
    PsfOptions point = confocal(air_objective(), 1e-6);
    CHECK(disc > psf_facts(point).fwhm_axial_um);
    CHECK(disc < psf_facts(air_objective()).fwhm_axial_um);
}
