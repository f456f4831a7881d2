// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forward model of recordings: how an object x becomes the images of one or several views v,
//
//     image_v = mask_v · Σ_k PSF_{v,k} ∗ (w_{v,k} · G_v x)
//
// G_v brings the object to the voxels of the view: the identity, or an affine map such as a
// rotation, a shear, or other voxels. The PSFs k of a view have weights w that vary over the field
// and add up to 1, and the mask leaves out pixels. Axes are z, y, x.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "convolume/voxel_map.hpp"

namespace convolume {

/// A PSF, and the place in the field where it holds, in voxels of the view.
struct FieldPsf {
    ConstImageView psf;
    KernelCenter center{};  ///< index of the PSF's sample that shifts nothing
    std::array<double, 3> at{};
};

/// One view: where its voxels lie in the object, and what blurs them.
struct View {
    Shape3 image;  ///< extents of the recording
    /// PSFs in voxels of the recording. One holds everywhere. Several are at places that form a
    /// grid: each pair of different z, y, x of theirs is the place of one. Between these, light is
    /// blurred by the nearest two along each axis in proportion (multilinear weights), and beyond
    /// the outermost by these alone. A point of light thus keeps its sum: its image is a mean of
    /// PSFs, not of pieces of them.
    std::vector<FieldPsf> psfs{};
    /// From voxels of the recording to those of the result (ObjectGrid).
    VoxelMap map{};
    /// Continuation of the object outside the recording. If not given, the object itself reaches as
    /// far as the PSFs do. BoundaryKind::constant is refused.
    std::optional<Boundary> boundary{};
    /// Factor of each pixel, with the shape of the image and any real type. Without data it is 1.
    ConstImageView mask{};
};

/// Extents of an object that reaches beyond the result which is wanted of it.
struct ObjectGrid {
    Shape3 shape;
    Shape3 result;
    Index3 result_at;  ///< index of the object's voxel at the first voxel of the result
};

/// Returns the grid of an object for a result of extents `result`. Around it are the voxels whose
/// light the PSFs bring to the pixels inside it. Views without such light, because of their
/// boundaries, add none. For one view without a map it has the extents of the image plus those of
/// the PSF less 1.
/// @code{.cpp}
/// Volume psf({5, 5, 5}, PixelType::float32);
/// View view{{16, 32, 32}, {{psf.view()}}};
/// assert(object_grid({16, 32, 32}, {view}).shape == (Shape3{20, 36, 36}));
/// @endcode
CONVOLUME_API ObjectGrid object_grid(const Shape3& result, const std::vector<View>& views);

/// Options of ForwardModel.
struct ForwardModelOptions {
    Precision precision = Precision::float32;
    /// Divisor of each PSF.
    KernelNormalization normalization = KernelNormalization::sum;
    /// Limit of host memory as Options::max_host_bytes.
    std::optional<index_t> max_host_bytes;
};

/// The linear map A from an object to the images of its views, and its exact adjoint Aᵀ, in
/// float32 or float64. Voxels of a view that are larger than those of the object hold the mean of
/// the object over their extents: of as many positions along each of their edges as the edge has
/// voxels of the object, rounded up. Between voxels, the object is interpolated linearly, and it is
/// 0 beyond its extents.
///
/// Objects and images have the type of the precision. Executions of one model follow one another.
/// @code{.cpp}
/// Volume psf({3, 3, 3}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 27, 1.0F);
/// std::vector<View> views(2, View{{8, 16, 16}, {{psf.view()}}});
/// views[1].map.matrix = {{{1, 0, 0}, {0, 0, 1}, {0, -1, 0}}};  // turned around z
/// views[1].map.offset = {0, 0, 15};
/// const ForwardModel model(object_grid({8, 16, 16}, views), views);
/// Volume object(model.object().shape, PixelType::float32);
/// Volume first({8, 16, 16}, PixelType::float32), second(first.shape(), PixelType::float32);
/// model.record(0, object.view(), first.view());
/// model.record(1, object.view(), second.view());
/// @endcode
class CONVOLUME_API ForwardModel {
  public:
    /// Plans, and transforms the PSFs, which are copied. Throws InvalidArgument (options, maps, or
    /// places of PSFs), BadData (a PSF is zero, complex or has a NaN), OutOfMemory, or Unavailable.
    ForwardModel(const ObjectGrid& object, const std::vector<View>& views,
                 const ForwardModelOptions& options = {}, const EngineChoice& engines = {});
    ~ForwardModel();
    ForwardModel(ForwardModel&&) noexcept;
    ForwardModel& operator=(ForwardModel&&) noexcept;

    const ObjectGrid& object() const;
    std::size_t views() const;
    /// Returns the extents of the image of a view.
    const Shape3& image(std::size_t view) const;
    /// Returns the bytes of host memory of convolutions, masks and workspaces.
    index_t host_bytes() const;
    /// Returns the names of the engines that convolve, such as "cpu:0 gpu:1".
    std::string engines() const;
    /// Returns the padded extents of the transforms, along each axis the largest of all views.
    Shape3 transforms() const;

    /// Computes the image of one view, A_v x. `object` has the extents of object().shape.
    void record(std::size_t view, const ConstImageView& object, const ImageView& image,
                const ExecutionContext& context = {}) const;
    /// Adds the adjoint of one view, A_vᵀ y, to `object`.
    void add_back(std::size_t view, const ConstImageView& image, const ImageView& object,
                  const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
