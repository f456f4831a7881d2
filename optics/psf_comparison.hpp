// SPDX-License-Identifier: Apache-2.0
#pragma once
// A measured PSF beside models of it: how bright they are and what is left.

#include <vector>

#include "convolume/beads.hpp"

namespace convolume::optics {

/// A point x of the fit is the z of the middle plane, from where paraxial rays meet, and then the
/// values of RefineOptions::parameters.
class PsfComparison {
  public:
    using Values = std::vector<double>;

    /// `options` must outlive the object.
    PsfComparison(const ConstImageView& measured, const PsfOptions& model,
                  const RefineOptions& options, const ExecutionContext& context);

    PsfOptions model_at(const Values& x) const;
    /// The point of these parameters whose brightest plane is in the middle.
    Values start_at(const Values& parameters) const;

    /// What is left, voxel by voxel, after the best brightness, which is not below zero, and
    /// constant are taken away.
    Values residuals(const Values& x) const;
    double sum_of_squares(const Values& x) const;
    /// The root mean square of it as a share of the model's, all voxels alike.
    double relative_residual(const Values& x) const;

    /// Voxels count by the noise of the light that is expected in them at x: at first all alike.
    /// Throws BadData where the best brightness is zero.
    void weigh_by(const Values& x);

  private:
    struct Fitted {
        Values values;  ///< of the model, sum 1
        double brightness, constant;
    };

    Fitted fit(const Values& x, const Values& weights) const;

    PsfOptions model_;
    const RefineOptions& options_;
    ExecutionContext context_;
    Values measured_;
    Values weights_;  ///< of squares
};

}  // namespace convolume::optics
