// SPDX-License-Identifier: Apache-2.0
#pragma once
// Synthetic specimens with ground truth: beads, filaments, hollow shells and cells. They are drawn
// a few planes at a time, so that a phantom may be larger than memory. Lengths are in µm, and axes
// are z, y, x. The center of voxel (k, j, i) is at (k, j, i) · voxel.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// Kind of the objects in a phantom.
enum class PhantomKind {
    beads,      ///< balls of one size
    filaments,  ///< curved tubes
    shells,     ///< hollow balls
    cells,      ///< flat bodies with a nucleus, nucleoli and a smooth texture
    /// About 72 % beads, 14 % filaments, 10 % shells and 4 % cells. Beads and filaments are four
    /// times as bright as in phantoms of their kind, shells half and cells a quarter as bright.
    mixed,
};
/// Returns the name that parse_phantom_kind() takes.
CONVOLUME_API const char* to_string(PhantomKind kind);
/// Parses "beads", "filaments", "shells", "cells" or "mixed". Throws InvalidArgument, which lists
/// these, for others.
CONVOLUME_API PhantomKind parse_phantom_kind(std::string_view text);

/// Options of a Phantom.
/// @code{.cpp}
/// PhantomOptions options;
/// options.kind = parse_phantom_kind("cells");
/// options.shape = {40, 256, 256};
/// options.voxel = {0.3, 0.1, 0.1};
/// options.radius_um = 4;
/// @endcode
struct PhantomOptions {
    PhantomKind kind = PhantomKind::mixed;
    Shape3 shape{64, 256, 256};
    VoxelSize voxel{0.2, 0.1, 0.1};
    std::uint64_t seed = 1;  ///< seed of the random numbers
    /// Number of objects, up to 10⁸. If not given, it follows from the volume and the kind, and is
    /// at least 1.
    std::optional<index_t> count;
    /// Middle of the range of radii in µm; for filaments, of half their thickness. If not given:
    /// beads 0.1, filaments 0.06, shells 2, cells 5. Mixed phantoms always have these.
    std::optional<double> radius_um;
    double brightness = 1000;  ///< value of a voxel inside a bead or shell
    /// Spread s of the brightness, below 1: objects have brightness · (1 − s) to brightness · (1 +
    /// s).
    double brightness_spread = 0.3;
    double background = 0;  ///< value that is added to every voxel
};

/// One object of a phantom: the ground truth.
struct PhantomObject {
    PhantomKind kind;                 ///< kind of the object; never PhantomKind::mixed
    std::array<double, 3> center_um;  ///< center z, y, x; for filaments, their start
    double radius_um;                 ///< radius in y and x; that of cells in z is 0.6 times this
    double length_um;                 ///< length of a filament, else 0
    double brightness;                ///< value of a voxel inside the object
};

/// A volume with objects at random places, which add up if they overlap, on top of the background.
///
/// The value of an object at a voxel is its mean there. The weights are the triangle of linear
/// interpolation, which reaches to the centers of the neighbors. Edges are therefore soft. An
/// object's total is its brightness times its volume in voxels. Neither total nor center of mass
/// depends on the object's position between voxels, even if it is smaller than a voxel.
///
/// Filaments are beads along their path that together have the brightness of the tube. Cells have
/// half their brightness in the body, their brightness in the nucleus, and twice their brightness
/// in the nucleoli. A texture of mean 1 multiplies these: cubic B-splines of 0.8 µm through random
/// numbers.
/// @code{.cpp}
/// PhantomOptions options;
/// options.kind = PhantomKind::beads;
/// options.shape = {16, 64, 64};
/// const Phantom phantom(options);
/// Volume specimen(options.shape, PixelType::float32);
/// phantom.draw(0, specimen.view());
/// std::cout << phantom.objects().size() << " beads\n";
/// @endcode
class CONVOLUME_API Phantom {
  public:
    /// Places the objects. Throws InvalidArgument (options).
    explicit Phantom(const PhantomOptions& options);

    const PhantomOptions& options() const;
    /// Returns all objects, ordered by their lowest plane.
    const std::vector<PhantomObject>& objects() const;

    /// Draws planes z_begin … z_begin + planes.shape.z - 1. `planes` is float32, with the phantom's
    /// extents along y and x, and is overwritten. Voxels are the same to the last bit for any
    /// grouping and order of planes, and for any number of threads. Throws InvalidArgument.
    void draw(index_t z_begin, const ImageView& planes, int threads = 0) const;

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
