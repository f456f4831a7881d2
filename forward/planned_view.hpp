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

/// Throws InvalidArgument unless extents, boundary and mask of a view can be used.
void check_view(const View& view, std::size_t number);

/// The convolutions with one PSF, and the part of the view's grid that they read.
struct PsfConvolution {
    Convolver blur, back;
    Box3 part;
};

/// One view, whose grid is its recording with margins.
struct PlannedView {
    PlannedView(const View& view, const ObjectGrid& object, std::size_t number);

    /// Multiplies the voxels of the grid by the weights of PSF k.
    template <class T>
    void weigh(std::size_t k, const T* from, T* to, bool adds, int threads) const;

    Shape3 image;
    Margins margins;
    Shape3 grid;
    ViewSampling sampling;
    FieldWeights weights;
    Volume mask;
    std::vector<PsfConvolution> psfs;
};

}  // namespace convolume::forward
