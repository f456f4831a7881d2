// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of PSFs at places in the field of a view, which add up to 1 at every voxel.

#include <array>
#include <vector>

#include "convolume/forward_model.hpp"

namespace convolume::forward {

class FieldWeights {
  public:
    /// Throws InvalidArgument unless the places of the PSFs form a grid. `what` names the view.
    FieldWeights(const std::vector<FieldPsf>& psfs, const std::string& what);

    bool vary() const { return weights_of_ > 1; }
    /// Returns the weight of PSF k along one axis, at a position of the view.
    double along(int axis, std::size_t k, double position) const;
    /// Returns the box of those voxels of `field` where PSF k has a weight.
    Box3 support(std::size_t k, const Box3& field) const;

  private:
    std::array<std::vector<double>, 3> places_;       ///< ascending, along each axis
    std::vector<std::array<std::size_t, 3>> of_psf_;  ///< number of each PSF's place on each axis
    std::size_t weights_of_ = 0;                      ///< number of PSFs
};

}  // namespace convolume::forward
