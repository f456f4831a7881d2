// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

template <class Change>
std::string refusal(Change&& change) {
    PsfOptions options;
    options.size = {1, 1, 1};
    change(options);
    return message_of<InvalidArgument>([&] { make_psf(options); });
}

}  // namespace

TEST_CASE("impossible options are refused in one sentence that names them") {
    using O = PsfOptions;
    CHECK(contains(refusal([](O& o) { o.objective.na = 1.6; }), "aperture of 1.6"));
    CHECK(contains(refusal([](O& o) { o.objective.ni = 1.33; }), "immersion medium has 1.33"));
    CHECK(contains(refusal([](O& o) { o.objective.ng = 1.3; }), "cover glass has 1.3"));
    CHECK(contains(refusal([](O& o) { o.objective.ng0 = 1.3; }), "design's cover glass has 1.3"));
    CHECK(contains(refusal([](O& o) { o.objective.ni0 = 1.3; }), "design's immersion"));
    CHECK(contains(refusal([](O& o) { o.objective.ns = 0.9; }), "index of the sample is 0.9"));
    CHECK(contains(refusal([](O& o) { o.objective.na = 0; }), "aperture is 0"));
    CHECK(contains(refusal([](O& o) { o.objective.na = std::nan(""); }), "aperture is nan"));
    CHECK(contains(refusal([](O& o) { o.wavelength_um = -0.5; }), "wavelength is -0.5 µm"));
    CHECK(contains(refusal([](O& o) { o.wavelength_um = 520; }), "wavelength is 520 µm"));
    CHECK(contains(refusal([](O& o) { o.depth_um = 2e6; }), "depth of the source is 2000000"));
    CHECK(contains(refusal([](O& o) { o.voxel.z_um = -1; }), "voxel size along z is -1"));
    CHECK(contains(refusal([](O& o) { o.depth_um = -1; }), "depth of the source is -1"));
    CHECK(contains(refusal([](O& o) { o.objective.tg_um = -1; }), "thickness of the cover glass"));
    CHECK(contains(refusal([](O& o) { o.objective.ti0_um = INFINITY; }), "immersion layer is inf"));
    CHECK(contains(refusal([](O& o) { o.voxel.y_um = 0; }), "voxel size along y"));
    CHECK(contains(refusal([](O& o) { o.size.x = 64; }), "64 voxels along x"));
    CHECK(contains(refusal([](O& o) { o.size.x = (index_t{1} << 40) + 1; }), "extent along x"));
    CHECK(contains(refusal([](O& o) { o.size.z = -3; }), "-3 voxels along z"));
    CHECK(contains(refusal([](O& o) { o.oversampling = 0; }), "oversampling of 0"));
    CHECK(contains(refusal([](O& o) { o.threads = -2; }), "-2 threads"));
    CHECK(contains(refusal([](O& o) { o.center_z_um = std::nan(""); }), "middle plane is nan"));
}

TEST_CASE("impossible spinning discs are refused in one sentence") {
    const auto refused = [](auto&& change) {
        return refusal([&](PsfOptions& o) {
            o.modality = Modality::spinning_disc;
            o.excitation_um = 0.488;
            o.disc_pinhole_um = 50;
            o.disc_spacing_um = 250;
            o.disc_magnification = 60;
            change(o);
        });
    };
    using O = PsfOptions;
    CHECK(refused([](O&) {}) == "(nothing was thrown)");
    CHECK(contains(refused([](O& o) { o.excitation_um.reset(); }), "wavelength of excitation"));
    CHECK(contains(refused([](O& o) { o.disc_pinhole_um.reset(); }), "give both"));
    CHECK(contains(refused([](O& o) { o.disc_spacing_um.reset(); }), "give both"));
    CHECK(contains(refused([](O& o) { o.disc_pinhole_um = 0; }), "disc's pinholes is 0 µm"));
    CHECK(contains(refused([](O& o) { o.disc_spacing_um = 49; }), "49 µm apart"));
    CHECK(contains(refused([](O& o) { o.disc_spacing_um = std::nan(""); }), "nan µm apart"));
    CHECK(contains(refused([](O& o) { o.disc_magnification.reset(); }), "magnification"));
    CHECK(contains(refused([](O& o) { o.disc_magnification = 0; }), "magnification"));
    CHECK(contains(refused([](O& o) { o.modality = Modality::confocal; }), "plays no part"));
}

TEST_CASE("a numerical aperture above the sample's index is accepted") {
    CHECK(refusal([](PsfOptions& o) { o.objective.ns = 1.0; }) == "(nothing was thrown)");
}

TEST_CASE("the scalar model of one medium ignores the layers") {
    CHECK(refusal([](PsfOptions& o) {
              o.model = PsfModel::born_wolf;
              o.objective.ng = 1.0;
              o.depth_um = -1;
          }) == "(nothing was thrown)");
}

TEST_CASE("radii and z must be finite lengths") {
    const PsfOptions options;
    CHECK_THROWS_AS(psf_intensity(options, 0, {0.1, -0.1}), InvalidArgument);
    CHECK_THROWS_AS(psf_intensity(options, NAN, {0.1}), InvalidArgument);
    CHECK(psf_intensity(options, 0, {}).empty());
}
