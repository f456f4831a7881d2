// SPDX-License-Identifier: Apache-2.0
#pragma once
// Synthetic specimens with ground truth: beads, filaments, hollow shells and cells, drawn a few
// planes at a time, so that a phantom may be larger than memory. Lengths are in µm, axes z, y, x.
// The center of voxel (0, 0, 0) is the origin, and the center of voxel (k, j, i) is at (k, j, i) ·
// voxel.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/shape.hpp"

namespace convolume {

enum class PhantomKind {
    beads,      ///< balls of one size
    filaments,  ///< curved tubes
    shells,     ///< hollow balls
    cells,      ///< flat bodies with a nucleus, nucleoli and a smooth texture
    /// Of 100 objects some 72 beads, 14 filaments, 10 shells and 4 cells: the first two four times,
    /// the others half and a quarter as bright as by themselves.
    mixed,
};
CONVOLUME_API const char* to_string(PhantomKind kind);
/// Throws InvalidArgument that lists the choices.
CONVOLUME_API PhantomKind parse_phantom_kind(std::string_view text);

struct PhantomOptions {
    PhantomKind kind = PhantomKind::mixed;
    Shape3 shape{64, 256, 256};
    VoxelSize voxel{0.2, 0.1, 0.1};
    std::uint64_t seed = 1;
    /// Of objects, up to 10⁸; where not given, a number per volume that suits the kind, 1 at least.
    std::optional<index_t> count;
    /// The middle of all radii (of filaments: half their thickness); where not given beads 0.1,
    /// filaments 0.06, shells 2, cells 5 µm. Mixed phantoms keep these.
    std::optional<double> radius_um;
    double brightness = 1000;        ///< of a voxel inside a bead or shell
    double brightness_spread = 0.3;  ///< objects have brightness · (1 ± up to this), below 1
    double background = 0;           ///< of every voxel
};

struct PhantomObject {
    PhantomKind kind;                 ///< never mixed
    std::array<double, 3> center_um;  ///< z, y, x; of filaments, where they begin
    double radius_um;                 ///< in y and x; cells are 0.6 times as high
    double length_um;                 ///< of filaments, else 0
    double brightness;
};

/// Objects add up where they overlap, on top of the background. What an object is at a voxel is its
/// mean there, weighted by the triangle of linear interpolation, which reaches to the neighbors'
/// centers: edges are soft, and an object's total (its brightness times its volume in voxels) and
/// its center of mass do not depend on where between the voxels it lies, be it smaller than one.
/// Filaments are beads along their path that together have the brightness of the tube. Cells have
/// half their brightness in the body, half more in the nucleus and one more in the nucleoli, times
/// a texture of mean 1: cubic B-splines of 0.8 µm through random numbers.
class CONVOLUME_API Phantom {
  public:
    /// Places the objects; throws InvalidArgument.
    explicit Phantom(const PhantomOptions& options);
    ~Phantom();
    Phantom(Phantom&&) noexcept;
    Phantom& operator=(Phantom&&) noexcept;

    const PhantomOptions& options() const;
    /// By their lowest plane, ascending.
    const std::vector<PhantomObject>& objects() const;

    /// Draws planes z_begin … z_begin + planes.shape.z - 1 over what `planes` (float32, the
    /// phantom's y and x) held. Any part, in any order and by any number of threads, has the same
    /// voxels to the last bit.
    void draw(index_t z_begin, const ImageView& planes, int threads = 0) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
