// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a microscope with which a PSF model fits a measured PSF best.

#include <string_view>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/psf.hpp"

namespace convolume {

enum class PsfParameter {
    na,     ///< Objective::na
    index,  ///< Objective::ns; of gaussian and born_wolf, which have one medium, ni and ni0
    depth,  ///< PsfOptions::depth_um, of models with layers
};

/// "na", "index", "depth". The parser throws InvalidArgument that lists the choices.
CONVOLUME_API const char* to_string(PsfParameter);
CONVOLUME_API PsfParameter parse_psf_parameter(std::string_view);

struct RefineOptions {
    std::vector<PsfParameter> parameters;  ///< one or more, each once
    /// Light in a voxel that belongs to no bead, as a share of a bead's light: the noise of dim
    /// voxels, which weighs them.
    double background = 0;
};

struct RefinedParameter {
    PsfParameter parameter;
    double value;  ///< depth in µm
    /// Standard deviation, from what is left between model and measured PSF.
    double deviation;
    double low, high;  ///< where it was sought
    bool at_bound;     ///< the fit would be better still beyond `low` or `high`
};

struct RefinedPsf {
    PsfOptions model;                          ///< with the refined parameters
    std::vector<RefinedParameter> parameters;  ///< in the order of RefineOptions
    /// Root mean square of what is left, as a share of the model's, with the first and with the
    /// refined parameters.
    double first_residual, residual;
};

/// Least squares of the model, its brightness, a constant and the focus. `measured`: float32,
/// contiguous, the source in the middle voxel, as psf_from_beads() makes it; along z it may be a
/// quarter of the volume off. `model` has the voxels of `measured` and first values. NA is sought
/// from 0.6 to 1.4 times the first one, the index within 0.15, the depth from 0 to twice the first
/// one and 10 µm more, as far as the model allows. A grid of depths and indices finds the start of
/// the fit. Voxels are weighted by the noise that light makes. `model.size` and
/// `model.center_z_um` are not used. Throws InvalidArgument, BadData (the measured PSF does not
/// determine a parameter: its deviation is more than an eighth of the range, or the NA is above the
/// sample's index and the source deep) or Cancelled. Beads are taken for points.
CONVOLUME_API RefinedPsf refine_psf(const ConstImageView& measured, const PsfOptions& model,
                                    const RefineOptions& options,
                                    const ExecutionContext& context = {});

}  // namespace convolume
