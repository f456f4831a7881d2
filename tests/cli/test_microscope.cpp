// SPDX-License-Identifier: Apache-2.0
// Runs phantom, PSF, camera and deconvolution one after another: the beads are recovered.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

constexpr double quantum_efficiency = 0.7, gain = 0.4, offset = 150, background_photons = 12;
constexpr double dark_e_per_s = 20, exposure_s = 0.2;
// The background in counts, by the formula in docs/commands/simulate.md.
constexpr double background =
    offset + (quantum_efficiency * background_photons + dark_e_per_s * exposure_s) / gain;

struct Bead {
    std::array<double, 3> at;  // z, y, x in voxels
    double light;              // in counts of the camera
};

/// A recorded specimen of beads; the truth is in counts of the camera, too.
struct BeadRecording : TemporaryFolder {
    Array truth;
    std::vector<Bead> isolated;

    BeadRecording() {
        const std::string seed = std::to_string(test_seed("beads through a microscope"));
        succeed({"phantom", "-o", "specimen.tif", "--kind", "beads", "--size", "32,72,80",
                 "--voxel", "200,100,100nm", "--count", "14", "--radius", "120nm", "--seed", seed,
                 "--objects", "specimen.json"},
                *this);
        succeed({"psf", "-o", "psf.tif", "--na", "1.1", "--ni", "1.33", "--depth", "1um",
                 "--wavelength", "520nm", "--voxel", "200,100,100nm", "--size", "21,29,29"},
                *this);
        const auto number = [](double value) { return std::to_string(value); };
        const CommandResult recorded = succeed({"simulate",
                                                "specimen.tif",
                                                "psf.tif",
                                                "-o",
                                                "image.tif",
                                                "--photons",
                                                "1000",
                                                "--background",
                                                number(background_photons),
                                                "--qe",
                                                number(quantum_efficiency),
                                                "--gain",
                                                number(gain),
                                                "--offset",
                                                number(offset),
                                                "--dark",
                                                number(dark_e_per_s),
                                                "--exposure",
                                                number(exposure_s),
                                                "--seed",
                                                seed,
                                                "--json",
                                                "-q"},
                                               *this);
        const double counts =
            json::parse(recorded.out)["recorded"]["photons_per_unit"].get<double>() *
            quantum_efficiency / gain;
        truth = scaled(read_image(*this / "specimen.tif").only(), counts);
        find_isolated(counts);
    }

    Array image() const {
        Array image = read_image(*this / "image.tif").only();
        for (Complex& value : image.values) value -= background;
        return image;
    }
    CommandResult deconvolve(const char* psf, const char* center, Arguments more) const {
        more.insert(more.begin(),
                    {"deconvolve", "image.tif", psf, "-o", "restored.tif", "--overwrite",
                     "--threads", "1", "--kernel-center", center, "--background",
                     std::to_string(background), "--offset", std::to_string(offset)});
        return succeed(more, *this);
    }
    /// Writes the PSF's file without the first or the last plane, row and column.
    void crop_psf(const char* name, index_t from) const {
        const ImageFile psf = read_image(*this / "psf.tif");
        Array cropped({20, 28, 28});
        for (index_t z = 0; z < 20; ++z)
            for (index_t y = 0; y < 28; ++y)
                for (index_t x = 0; x < 28; ++x)
                    cropped(z, y, x) = psf.only()(z + from, y + from, x + from);
        write_image(*this / name, std::vector<Array>{cropped}, psf.metadata);
    }

  private:
    // Keeps the beads that are far from all others and from the borders.
    void find_isolated(double counts) {
        const json list = json::parse(read_text(*this / "specimen.json"));
        for (const json& object : list["objects"]) {
            const auto at = object["center_voxels"].get<std::array<double, 3>>();
            bool alone = true;
            for (const json& other : list["objects"]) {
                const auto other_at = other["center_voxels"].get<std::array<double, 3>>();
                double apart = 0;
                for (std::size_t axis = 0; axis < 3; ++axis)
                    apart = std::max(apart, std::abs(at[axis] - other_at[axis]));
                alone = alone && (other == object || apart > 9);
            }
            for (int axis = 0; axis < 3; ++axis) {
                const double here = at[static_cast<std::size_t>(axis)];
                alone = alone && here > 4 && here < static_cast<double>(truth.shape[axis]) - 5;
            }
            const double volume = 4 * 3.14159265358979 / 3 *
                                  std::pow(object["radius_um"].get<double>(), 3) /
                                  (0.2 * 0.1 * 0.1);
            if (alone)
                isolated.push_back({at, counts * volume * object["brightness"].get<double>()});
        }
        REQUIRE(isolated.size() >= 2);
    }
};

double peak_signal_to_noise_db(const Array& truth, const Array& found) {
    double peak = 0, square = 0;
    for (std::size_t i = 0; i < truth.values.size(); ++i) {
        peak = std::max(peak, truth.values[i].real());
        square += std::norm(truth.values[i] - found.values[i]);
    }
    return 10 * std::log10(peak * peak * static_cast<double>(truth.count()) / square);
}

struct Moments {
    double sum = 0;
    std::array<double, 3> centroid{};
};

Moments moments_around(const Array& image, const std::array<double, 3>& at) {
    constexpr index_t reach = 3;
    Moments moments;
    const Index3 middle{std::lround(at[0]), std::lround(at[1]), std::lround(at[2])};
    for (index_t z = middle.z - reach; z <= middle.z + reach; ++z)
        for (index_t y = middle.y - reach; y <= middle.y + reach; ++y)
            for (index_t x = middle.x - reach; x <= middle.x + reach; ++x) {
                const double value = image(z, y, x).real();
                moments.sum += value;
                const index_t place[] = {z, y, x};
                for (std::size_t axis = 0; axis < 3; ++axis)
                    moments.centroid[axis] += value * static_cast<double>(place[axis]);
            }
    for (double& coordinate : moments.centroid) coordinate /= moments.sum;
    return moments;
}

}  // namespace

TEST_CASE("recorded beads are recovered with their positions and brightness") {
    const BeadRecording recording;
    recording.crop_psf("first_kept.tif", 0);  // the center is at k/2
    recording.crop_psf("last_kept.tif", 1);   // the center is at (k-1)/2
    const double before = peak_signal_to_noise_db(recording.truth, recording.image());
    for (const auto& [psf, center] : {std::pair{"psf.tif", "middle"},
                                      {"first_kept.tif", "middle"},
                                      {"last_kept.tif", "scipy"}}) {
        recording.deconvolve(psf, center, {"-q", "--iterations", "40"});
        const Array restored = read_image(recording / "restored.tif").only();
        const double after = peak_signal_to_noise_db(recording.truth, restored);
        INFO(psf << ": " << before << " dB, then " << after);
        CHECK(after > before + 6);
        const double apart = std::string(psf) == "psf.tif" ? 0.1 : 0.2;  // of a cropped PSF
        for (const Bead& bead : recording.isolated) {
            const Moments found = moments_around(restored, bead.at);
            // A cropped PSF has less light than the microscope's.
            CHECK(found.sum == Approx(bead.light).epsilon(0.15));
            for (std::size_t axis = 0; axis < 3; ++axis)
                CHECK(std::abs(found.centroid[axis] - bead.at[axis]) < apart);
        }
    }
}

TEST_CASE("the reported likelihood of plain iterations never falls") {
    const BeadRecording recording;
    const std::string progress =
        recording
            .deconvolve("psf.tif", "middle", {"-v", "--iterations", "25", "--acceleration", "none"})
            .err;
    std::istringstream lines(progress);
    double last = -1e30;
    int count = 0;
    const std::string word = "log-likelihood ";
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(word);
        if (line.rfind("iteration ", 0) != 0 || at == std::string::npos) continue;
        const double likelihood = std::stod(line.substr(at + word.size()));
        CHECK(likelihood >= last);
        last = likelihood;
        ++count;
    }
    CHECK(count == 25);
    CHECK(last < 0);
}
