// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deskewing: brings stage scans of light-sheet microscopes (stage_scan.hpp) to axes at right
// angles, those of the camera or those of the cover glass. Axes are z, y, x.

#include <array>
#include <optional>
#include <string_view>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/stage_scan.hpp"
#include "convolume/volume.hpp"
#include "convolume/voxel_map.hpp"

namespace convolume {

/// Weight of a sample at the distance t, in samples. Where the result's grid is coarser than that
/// of the recording by a factor f, the weight is that at t/f, which suppresses what the coarser
/// grid cannot hold.
enum class Interpolation {
    linear,   ///< 1 − |t| for |t| < 1
    lanczos,  ///< sinc(t) sinc(t/3) for |t| < 3, with sinc(t) = sin(πt)/(πt)
};

/// Returns "linear" or "lanczos".
CONVOLUME_API const char* to_string(Interpolation);
/// Parses a name of an Interpolation. Throws InvalidArgument, which lists the names, for others.
CONVOLUME_API Interpolation parse_interpolation(std::string_view);

/// Options of deskewing.
/// @code{.cpp}
/// DeskewOptions options;
/// options.scan.angle_deg = 31.5;
/// options.scan.step_um = 0.5;
/// options.rotate = true;
/// options.output_voxel_um = {0.2, 0.2, 0.2};
/// @endcode
struct DeskewOptions {
    StageScan scan;
    Interpolation interpolation = Interpolation::linear;
    /// Whether planes of the result are parallel to the cover glass. Otherwise, they are those that
    /// were recorded, each shifted along the sheared axis.
    bool rotate = false;
    /// Whether to go the other way: the image is in the frame of the camera, with planes at
    /// StageScan::plane_distance_um(), and the result has the voxels that the scan records. The
    /// middle plane stays in the middle, so that a PSF keeps its center. Not with `rotate`.
    bool inverse = false;
    /// Voxel of a result that is rotated. If not given, all edges are the pixel's along the sheared
    /// axis. Other results have the pixels of the camera, and planes at
    /// StageScan::plane_distance_um(), or StageScan::step_um with `inverse`.
    std::optional<VoxelSize> output_voxel_um;
    double fill = 0;  ///< value outside the recorded volume; integers are rounded and clamped
    /// Limit of host memory for the planes of image and result. If not given, host_limit_bytes().
    std::optional<index_t> max_host_bytes;
    int threads = 0;  ///< number of threads, as EngineChoice::threads
};

/// Extents, voxel and place of a result.
struct DeskewedGrid {
    Shape3 shape;
    VoxelSize voxel;
    VoxelMap map;  ///< from voxels of the recording to those of the result
};

/// Returns the grid of the result for a recording of shape `recorded`. It holds all recorded
/// voxels, and begins less than a voxel before the first of them on every axis. A rotated result
/// has the stage's direction along the sheared axis and the normal of the cover glass along z; it
/// is turned, not mirrored. A scan in the opposite direction gives the mirror image of the mirrored
/// recording's result. Throws InvalidArgument.
/// @code{.cpp}
/// DeskewOptions options;
/// const DeskewedGrid grid = deskewed_grid({101, 64, 32}, options);
/// assert(grid.shape == (Shape3{101, 64 + 347, 32}));  // 100 · 3.464 pixels
/// @endcode
CONVOLUME_API DeskewedGrid deskewed_grid(const Shape3& recorded, const DeskewOptions& options);

/// Memory and division of a run.
/// @code{.cpp}
/// DeskewOptions options;
/// options.max_host_bytes = index_t{64} << 20;
/// const StackFormat recorded{{200, 512, 512}, PixelType::uint16};
/// const DeskewPlan plan = plan_deskew(recorded, recorded.type, options);
/// assert(plan.host_bytes <= *options.max_host_bytes);
/// @endcode
struct DeskewPlan {
    Shape3 block;            ///< extents of the result that are computed at a time
    index_t blocks = 1;      ///< number of blocks of one volume
    index_t host_bytes = 0;  ///< bytes of all buffers
    bool overlapped = true;  ///< whether blocks are read and written beside the computation
    double read_share = 1;   ///< samples that are read, as a multiple of those of the image
};

/// Returns how deskew() divides an image of this format into blocks. `result` is the type of the
/// result. Throws InvalidArgument, or OutOfMemory if one row of the result does not fit the limit.
CONVOLUME_API DeskewPlan plan_deskew(const StackFormat& recorded, PixelType result,
                                     const DeskewOptions& options);

/// Deskews every channel and time of `source`. `sink` has the extents of deskewed_grid(), the
/// channels and times of the source, and any real type. Samples are weighted means
///
///     Σ_k w(k − z') / Σw · Σ_j w(j − y_k) / Σw · recorded[k, j],   y_k = y' + (z' − k) · shear
///
/// of the recording, with the position (z', y') of the result's voxel in recorded planes and rows:
/// interpolation is along the optical axis and within the planes of the camera, not along the
/// stage. Rows outside the recording do not count. Voxels without rows, and those of which rows
/// with more than half of the weight are outside, get the fill. Integers are rounded half to even
/// and clamped. Sums are in float32, and in float64 for 32-bit integers and float64.
///
/// Throws InvalidArgument, BadData (complex samples), OutOfMemory or Cancelled.
CONVOLUME_API ExecutionReport deskew(ImageSource& source, ImageSink& sink,
                                     const DeskewOptions& options,
                                     const ExecutionContext& context = {});

/// Deskews an image in memory. The result has the image's type.
/// @code{.cpp}
/// const Volume recorded({20, 32, 24}, PixelType::uint16);
/// DeskewOptions options;
/// const Volume straight = deskew(recorded.view(), options);
/// assert(straight.shape() == deskewed_grid(recorded.shape(), options).shape);
/// @endcode
CONVOLUME_API Volume deskew(const ConstImageView& image, const DeskewOptions& options = {},
                            const ExecutionContext& context = {});

/// Returns the box of the recording from which deskew_block() computes a box of the result. It is
/// empty if the block lies outside the recorded volume.
/// @code{.cpp}
/// const DeskewOptions options;
/// const Shape3 recorded{101, 64, 32};
/// const Box3 last{{90, 0, 0}, {100, deskewed_grid(recorded, options).shape.y, 32}};
/// assert(deskew_needs(recorded, last, options).begin.z == 90);
/// @endcode
CONVOLUME_API Box3 deskew_needs(const Shape3& recorded, const Box3& block,
                                const DeskewOptions& options);

/// Part of an image: its samples, and where they begin in the whole.
struct PlacedImage {
    ConstImageView view;
    Index3 begin;
};

/// Computes the block of the result that begins at `begin` and has the shape of `block`, and any
/// real type. `part` has deskew_needs() at least. Callers that keep recording and result in stores
/// of their own compute one block after another, or several side by side. Its sums are those of
/// deskew(). Throws InvalidArgument or BadData.
CONVOLUME_API ExecutionReport deskew_block(const Shape3& recorded, const PlacedImage& part,
                                           const Index3& begin, const ImageView& block,
                                           const DeskewOptions& options);

}  // namespace convolume
