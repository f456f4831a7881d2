// SPDX-License-Identifier: Apache-2.0
// Tests PSF volumes: symmetry, sum, voxel means, independence of threads.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/optics/direct_psf.hpp"
#include "tests/support/volumes.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr Modality modalities[] = {Modality::widefield, Modality::confocal, Modality::light_sheet,
                                   Modality::two_photon};

PsfOptions small(PsfModel model, Modality modality = Modality::widefield) {
    PsfOptions options;
    options.model = model;
    options.modality = modality;
    if (modality == Modality::confocal) options.excitation_um = 0.5;
    if (modality == Modality::two_photon) options.excitation_um = 0.9;
    if (modality == Modality::light_sheet) options.sheet_fwhm_um = 1;
    options.wavelength_um = 0.6;
    options.depth_um = 2;
    options.voxel = {0.15, 0.08, 0.06};
    options.size = {9, 13, 17};
    return options;
}

std::vector<std::pair<PsfModel, Modality>> all_kinds() {
    std::vector<std::pair<PsfModel, Modality>> kinds;
    for (const PsfModel model : models)
        for (const Modality modality : modalities) kinds.emplace_back(model, modality);
    return kinds;
}

// Computes voxel means as midpoint sums of exact intensities over fine³ points, scaled to sum 1.
std::vector<double> direct_means(const PsfOptions& options, int fine) {
    const Shape3 size = options.size;
    const double center = options.center_z_um ? *options.center_z_um : brightest_focus_um(options);
    std::vector<double> means(static_cast<std::size_t>(element_count(size)));
    const auto point = [&](index_t i, index_t extent, int part) {
        return static_cast<double>(i - extent / 2) + (part + 0.5) / fine - 0.5;
    };
    double total = 0;
    for (index_t z = 0; z < size.z; ++z)
        for (int part = 0; part < fine; ++part) {
            std::vector<double> radii;
            for (index_t y = 0; y < size.y; ++y)
                for (index_t x = 0; x < size.x; ++x)
                    for (int i = 0; i < fine; ++i)
                        for (int j = 0; j < fine; ++j)
                            radii.push_back(std::hypot(point(y, size.y, i) * options.voxel.y_um,
                                                       point(x, size.x, j) * options.voxel.x_um));
            const double depth = center - point(z, size.z, part) * options.voxel.z_um;
            const auto values = psf_intensity(options, depth, radii);
            const auto cells = static_cast<std::size_t>(fine * fine);
            for (std::size_t i = 0; i < values.size(); ++i) {
                means[static_cast<std::size_t>(z * size.y * size.x) + i / cells] += values[i];
                total += values[i];
            }
        }
    for (double& mean : means) mean /= total;
    return means;
}

double worst_difference(const Volume& psf, const std::vector<double>& expected) {
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
        worst =
            std::max(worst, std::abs(static_cast<double>(psf.elements<float>()[i]) - expected[i]));
    return worst / *std::max_element(expected.begin(), expected.end());
}

}  // namespace

TEST_CASE("PSFs sum to 1, have their peak in the middle and are symmetric in y and x") {
    for (const auto& [model, modality] : all_kinds()) {
        const PsfOptions options = small(model, modality);
        const Volume psf = make_psf(options).values;
        const Shape3 size = psf.shape();
        REQUIRE(size == options.size);
        const float* h = psf.elements<float>();
        const auto at = [&](index_t z, index_t y, index_t x) {
            return h[(z * size.y + y) * size.x + x];
        };
        double sum = 0;
        int asymmetric = 0, brighter = 0, negative = 0;
        const float peak = at(size.z / 2, size.y / 2, size.x / 2);
        for (index_t z = 0; z < size.z; ++z)
            for (index_t y = 0; y < size.y; ++y)
                for (index_t x = 0; x < size.x; ++x) {
                    const float value = at(z, y, x);
                    sum += static_cast<double>(value);
                    brighter += value > peak;
                    negative += value < 0;
                    asymmetric += value != at(z, size.y - 1 - y, x);
                    asymmetric += value != at(z, y, size.x - 1 - x);
                }
        INFO("model " << static_cast<int>(model) << ", modality " << static_cast<int>(modality));
        CHECK(std::abs(sum - 1) < 1e-7);
        CHECK(asymmetric == 0);
        CHECK(brighter == 0);
        CHECK(negative == 0);
    }
}

TEST_CASE(
    "PSFs change y and x with the voxel, and are symmetric in z if the layers are as designed") {
    PsfOptions options = small(PsfModel::vectorial);
    options.size = {5, 11, 11};
    const Volume a = make_psf(options).values;
    std::swap(options.voxel.y_um, options.voxel.x_um);
    const Volume b = make_psf(options).values;
    options.depth_um = 0;
    options.objective.ns = options.objective.ni;
    options.center_z_um = 0;
    const Volume c = make_psf(options).values;
    double swapped = 0, mirrored = 0;
    for (index_t z = 0; z < 5; ++z)
        for (index_t y = 0; y < 11; ++y)
            for (index_t x = 0; x < 11; ++x) {
                const auto at = [&](const Volume& v, index_t i, index_t j, index_t k) {
                    return static_cast<double>(v.elements<float>()[(i * 11 + j) * 11 + k]);
                };
                swapped = std::max(swapped, std::abs(at(a, z, y, x) - at(b, z, x, y)));
                mirrored = std::max(mirrored, std::abs(at(c, z, y, x) - at(c, 4 - z, y, x)));
            }
    CHECK(swapped < 1e-8);
    CHECK(mirrored < 1e-8);
}

TEST_CASE("without oversampling, voxels hold the intensities at their centers") {
    for (const auto& [model, modality] : all_kinds()) {
        PsfOptions options = small(model, modality);
        options.oversampling = 1;
        INFO("model " << static_cast<int>(model) << ", modality " << static_cast<int>(modality));
        CHECK(worst_difference(make_psf(options).values, direct_means(options, 1)) < 3e-7);
    }
}

TEST_CASE("interpolation over the radius is exact far from axis and focus") {
    PsfOptions options = small(PsfModel::vectorial);
    options.depth_um = 20;
    options.oversampling = 1;
    options.voxel = {2.5, 0.065, 0.065};
    options.size = {7, 1, 401};
    CHECK(worst_difference(make_psf(options).values, direct_means(options, 1)) < 3e-7);
}

TEST_CASE("steps of confocal PSFs resolve the product of both wavelengths") {
    PsfOptions options = small(PsfModel::vectorial, Modality::confocal);
    options.objective.na = 1.3;
    options.depth_um = 0;
    options.pinhole_au = 0.01;
    options.oversampling = 1;
    options.voxel = {0.2, 0.013, 0.017};
    options.size = {3, 41, 41};
    // Steps chosen for the emission alone would err by 9e-7.
    CHECK(worst_difference(make_psf(options).values, direct_means(options, 1)) < 2e-7);
}

TEST_CASE("with oversampling, voxels hold means over their volume") {
    std::vector<std::pair<PsfModel, Modality>> kinds{{PsfModel::gaussian, Modality::light_sheet},
                                                     {PsfModel::born_wolf, Modality::confocal}};
    for (const PsfModel model : models) kinds.emplace_back(model, Modality::widefield);
    for (const auto& [model, modality] : kinds) {
        PsfOptions options = small(model, modality);
        options.size = {3, 5, 5};
        const std::vector<double> expected = direct_means(options, 8);
        INFO("model " << static_cast<int>(model) << ", modality " << static_cast<int>(modality));
        // Averaging over a voxel changes values by over 5e-3. Sums over 8 points are far closer to
        // the mean.
        CHECK(worst_difference(make_psf(options).values, expected) < 1.6e-3);
        options.oversampling = 1;
        CHECK(worst_difference(make_psf(options).values, expected) > 5e-3);
    }
}

TEST_CASE("the number of threads does not change a bit") {
    for (const auto& [model, modality] : all_kinds()) {
        PsfOptions options = small(model, modality);
        options.threads = 1;
        const Psf one = make_psf(options);
        for (const int threads : {2, 3, 7}) {
            options.threads = threads;
            const Psf some = make_psf(options);
            CHECK(testing::same_bytes(one.values, some.values));
            CHECK(one.captured == some.captured);
        }
    }
}

TEST_CASE("making a PSF reports progress and ends at a stop request") {
    double last = 0;
    ExecutionContext context;
    context.progress = [&](double fraction) {
        CHECK(fraction > last);
        last = fraction;
    };
    make_psf(small(PsfModel::gibson_lanni), context);
    CHECK(last == 1);

    std::stop_source stop;
    stop.request_stop();
    context.stop = stop.get_token();
    CHECK_THROWS_AS(make_psf(small(PsfModel::gibson_lanni), context), Cancelled);
}
