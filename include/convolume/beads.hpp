// SPDX-License-Identifier: Apache-2.0
#pragma once
// A measured point spread function: the mean of many beads in one stack; and the parameters of a
// microscope with which a PSF model fits it best.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/psf.hpp"
#include "convolume/volume.hpp"

namespace convolume {

struct BeadOptions {
    Shape3 size;                       ///< of the PSF in voxels, odd on every axis
    std::optional<double> saturation;  ///< beads with several samples at this value are left out
};

struct Bead {
    std::array<double, 3> at;  ///< z, y, x in voxels
    double flux;               ///< of its box, without background
};

struct BeadPsf {
    Volume values;  ///< float32, sum 1, its brightest point in the middle voxel
    std::vector<Bead> beads;
    index_t found = 0;  ///< of all kinds
    // Left out:
    index_t crowded = 0;           ///< another bead is in the box
    index_t saturated = 0;         ///< see BeadOptions
    index_t at_border = 0;         ///< the box leaves the stack
    index_t unusual = 0;           ///< less than 0.4 or more than 2.5 times the median flux
    double background = 0;         ///< mean of the samples outside of all boxes
    double flux = 0;               ///< mean of the beads
    std::array<double, 3> fwhm{};  ///< full widths at half maximum along z, y, x in voxels
};

/// Finds beads, aligns them to a fraction of a voxel by least squares against their mean, and
/// averages. Between samples, values are interpolated by a windowed sinc, which keeps widths.
/// `stack`: float32, contiguous. Throws InvalidArgument (sizes, no bead that can be used) or
/// Cancelled.
CONVOLUME_API BeadPsf psf_from_beads(const ConstImageView& stack, const BeadOptions& options,
                                     const ExecutionContext& context = {});

/// Takes the light away that is left in a PSF of beads, alike in all voxels: that of other beads,
/// and light of these beads beyond the box that was taken for background. Least squares of a
/// brightness of the model and a constant find it; then the PSF is scaled to the sum 1 again.
/// `background`, `flux` and the beads' follow. Returns the root mean square of what is left, as a
/// share of the model's. Where that is more than 0.2, the model says nothing of the background, and
/// the PSF stays as it was. `model` has the voxels of the PSF; its size is not used. Throws
/// InvalidArgument or Cancelled.
CONVOLUME_API double subtract_background(BeadPsf& psf, const PsfOptions& model,
                                         const ExecutionContext& context = {});

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
