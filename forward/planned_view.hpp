// SPDX-License-Identifier: Apache-2.0
#pragma once
// One view of a forward model, planned: how its grid comes from the object, and its image from the
// grid.

#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/forward_model.hpp"
#include "convolume/volume.hpp"
#include "forward/field_weights.hpp"
#include "forward/view_sampling.hpp"

namespace convolume::forward {

/// Returns "view 1" for view 0.
std::string name_of(std::size_t view);

/// Voxels of a view's grid before and behind the recording, whose light its PSFs bring there.
struct Margins {
    Index3 before, behind;
};
Margins margins_of(const View& view);

/// Returns the index of the sample of a PSF that shifts nothing, also of one in FFT order, as if
/// its samples were in the usual order.
Index3 center_of(const FieldPsf& psf);

/// Throws InvalidArgument unless extents, boundary and mask of a view can be used.
void check_view(const View& view, std::size_t number);
/// Throws InvalidArgument unless all extents are at least 1.
void check_extents(const char* what, const Shape3& shape);
/// Throws InvalidArgument unless an object and views can be those of a model.
void check_model(const ObjectGrid& object, const std::vector<View>& views);
/// Throws InvalidArgument unless a model of `count` views has the view.
void check_number(std::size_t view, std::size_t count);

/// The boxes of a view's grid, which a PSF reads, and of its image, which it writes.
struct PsfPart {
    std::size_t psf;
    Box3 grid, image;
};

/// A PSF as convolvers take it, and their options.
struct PsfTaps {
    PsfTaps(const View& view, std::size_t psf, const ForwardModelOptions& options);

    Volume unwrapped;  ///< samples in the usual order, if those of the caller are in FFT order
    ConstImageView psf;
    Options convolution;
};

/// The convolution with a PSF from its part of the grid to its part of the image, and the adjoint.
struct PsfConvolution {
    Convolver blur, back;
};

/// One view, whose grid is its recording with margins.
struct PlannedView {
    PlannedView(const View& view, const ObjectGrid& object, std::size_t number);

    /// Returns the weights of the PSF of a part along an axis, one for each index in the grid.
    std::vector<double> weights_along(const PsfPart& part, int axis) const;
    /// Writes the voxels of a part of the grid, times the weights of its PSF, to an array with the
    /// extents of the part, or, if `adds`, adds such an array, times the weights, to the grid.
    template <class T>
    void apply_weights(const PsfPart& part, const T* from, T* to, bool adds, int threads) const;

    Shape3 image;
    Margins margins;
    Shape3 grid;
    ViewSampling sampling;
    FieldWeights weights;
    bool has_mask;
    Volume mask;
    std::vector<PsfPart> parts;        ///< those of PSFs with a weight above 0
    std::vector<PsfConvolution> psfs;  ///< one for each part

  private:
    void add_part(std::size_t k, const View& view);
};

/// Makes extents at least as large as others along each axis.
void extend_to(Shape3& extents, const Shape3& least);

/// Extents of the workspaces that the views of a model share: the largest that any view needs.
struct Workspaces {
    Shape3 grid;              ///< the object at the voxels of a view
    Shape3 weighted;          ///< a part of it for one of several PSFs
    Shape3 image;             ///< the image of this part, or the masked image
    index_t mask_pixels = 0;  ///< pixels of all masks

    void add(const PlannedView& view);
    /// Returns the bytes of workspaces and masks, and `more`. Throws OutOfMemory if they do not fit
    /// the limit.
    index_t bytes_within(index_t limit, PixelType type, MemoryKind memory, index_t more = 0) const;
};

}  // namespace convolume::forward
