// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measured point spread functions (PSFs). A PSF is the mean of many beads in one stack. A PSF model
// is then fitted to that mean, which gives parameters of the microscope. Axes are z, y, x.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/psf.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Options of psf_from_beads().
struct BeadOptions {
    Shape3 size;                       ///< extents of the PSF in voxels, odd on every axis
    std::optional<double> saturation;  ///< beads with several samples at this value are left out
};

/// A bead that contributes to the mean.
struct Bead {
    std::array<double, 3> at;  ///< position z, y, x in voxels
    double flux;               ///< sum of the bead's box, without background
};

/// The mean of beads, and figures about the beads.
struct BeadPsf {
    Volume values;            ///< the PSF: float32, sum 1, brightest point in the middle voxel
    std::vector<Bead> beads;  ///< the beads that were averaged
    index_t found = 0;        ///< number of beads found, including those that were left out
    index_t crowded = 0;      ///< number of beads left out since another bead is in the box
    index_t saturated = 0;    ///< number of beads left out by BeadOptions::saturation
    index_t at_border = 0;    ///< number of beads left out since the box leaves the stack
    index_t unusual = 0;    ///< number of beads left out with < 0.4 or > 2.5 times the median flux
    double background = 0;  ///< mean of the samples outside all boxes
    double flux = 0;        ///< mean flux of the averaged beads
    std::array<double, 3> fwhm{};  ///< full widths at half maximum along z, y, x in voxels
};

/// Finds beads in `stack` (float32, contiguous), aligns them to a fraction of a voxel by least
/// squares against their mean, and averages them. Values between samples are interpolated by a
/// windowed sinc, which keeps widths. Throws InvalidArgument (sizes, no usable bead) or Cancelled.
/// @code{.cpp}
/// // A stack of one Gaussian bead, in place of a recorded one.
/// Volume stack({31, 48, 48}, PixelType::float32);
/// for (index_t z = 0; z < 31; ++z)
///     for (index_t y = 0; y < 48; ++y)
///         for (index_t x = 0; x < 48; ++x)
///             *static_cast<float*>(stack.view().at(z, y, x)) =
///                 1000 * std::exp(-0.1F * static_cast<float>((z - 15) * (z - 15) +
///                                                            (y - 20) * (y - 20) +
///                                                            (x - 25) * (x - 25)));
/// BeadOptions options;
/// options.size = {15, 15, 15};
/// const BeadPsf psf = psf_from_beads(stack.view(), options);
/// std::cout << psf.beads.size() << " beads, " << psf.fwhm[1] << " voxels wide in y\n";
/// @endcode
CONVOLUME_API BeadPsf psf_from_beads(const ConstImageView& stack, const BeadOptions& options,
                                     const ExecutionContext& context = {});

/// The PSF of one region of the field of view.
struct RegionPsf {
    /// Place z, y, x in voxels of the stack. Along each axis it is the mean position of the beads
    /// that are used in this row of regions, so that the places form a grid, as FieldPsf needs.
    std::array<double, 3> at{};
    BeadPsf psf;  ///< counts of beads that are left out, and the background, are of all regions
};

/// Divides `stack` into equal regions, `regions` along z, y and x, and measures the PSF of each by
/// the beads in it, as psf_from_beads() does. The regions are in the order of their indices, x
/// fastest. Throws as psf_from_beads() does, and InvalidArgument for a region without a usable
/// bead.
/// @code{.cpp}
/// // Two beads, of which the second one is wider.
/// Volume stack({15, 32, 80}, PixelType::float32);
/// for (index_t z = 0; z < 15; ++z)
///     for (index_t y = 0; y < 32; ++y)
///         for (index_t x = 0; x < 80; ++x) {
///             const bool is_second = x >= 40;
///             const auto dx = static_cast<float>(x - (is_second ? 60 : 20));
///             const auto squared = static_cast<float>((z - 7) * (z - 7) + (y - 16) * (y - 16));
///             *static_cast<float*>(stack.view().at(z, y, x)) =
///                 1000 * std::exp((is_second ? -0.1F : -0.2F) * (squared + dx * dx));
///         }
/// BeadOptions options;
/// options.size = {9, 15, 15};
/// const std::vector<RegionPsf> psfs = psfs_from_beads(stack.view(), {1, 1, 2}, options);
/// assert(psfs[1].psf.fwhm[1] > 1.2 * psfs[0].psf.fwhm[1]);
/// assert(std::abs(psfs[1].at[2] - 60) < 0.1);
/// @endcode
CONVOLUME_API std::vector<RegionPsf> psfs_from_beads(const ConstImageView& stack,
                                                     const Shape3& regions,
                                                     const BeadOptions& options,
                                                     const ExecutionContext& context = {});

/// Subtracts the constant background that a PSF of beads still has. It is light of other beads, or
/// light of the averaged beads outside their boxes, which was counted as background. Least squares
/// fit the brightness of `model` and a constant. The constant is subtracted, the PSF is scaled to
/// the sum 1 again, and `background`, `flux` and the fluxes of the beads are corrected.
///
/// Returns the root mean square of the residual, as a share of the model's. If it is more than 0.2,
/// the model does not determine the background, and the PSF is not changed. `model` has the voxels
/// of the PSF; its size is not used. Throws InvalidArgument or Cancelled.
/// @code{.cpp}
/// PsfOptions model;
/// model.size = {9, 15, 15};
/// BeadPsf beads;
/// beads.values = make_psf(model).values;  // in place of psf_from_beads()
/// const double residual = subtract_background(beads, model);
/// assert(residual < 0.2);
/// @endcode
CONVOLUME_API double subtract_background(BeadPsf& psf, const PsfOptions& model,
                                         const ExecutionContext& context = {});

/// A parameter of a PSF model that refine_psf() fits.
enum class PsfParameter {
    na,     ///< numerical aperture, Objective::na
    index,  ///< refractive index, Objective::ns; ni and ni0 for gaussian and born_wolf
    depth,  ///< depth of the source, PsfOptions::depth_um, for models with layers
};

/// Returns "na", "index" or "depth".
CONVOLUME_API const char* to_string(PsfParameter);
/// Parses "na", "index" or "depth". Throws InvalidArgument, which lists these, for others.
CONVOLUME_API PsfParameter parse_psf_parameter(std::string_view);

/// Options of refine_psf().
struct RefineOptions {
    std::vector<PsfParameter> parameters;  ///< parameters to fit: one or more, each once
    /// Background light in a voxel, as a share of a bead's light. It gives the noise of dim voxels,
    /// and so their weight.
    double background = 0;
};

/// A fitted parameter of a PSF model.
struct RefinedParameter {
    PsfParameter parameter;  ///< the parameter that was fitted
    double value;            ///< fitted value; a depth is in µm
    double deviation;  ///< standard deviation, from the residual between model and measured PSF
    double low, high;  ///< bounds of the search
    bool at_bound;     ///< whether the fit would improve beyond `low` or `high`
};

/// A PSF model whose parameters were fitted.
struct RefinedPsf {
    PsfOptions model;                          ///< the model with the fitted parameters
    std::vector<RefinedParameter> parameters;  ///< parameters in the order of RefineOptions
    /// Root mean squares of the residual, as a share of the model's: with the initial parameters,
    /// and with the fitted ones.
    double first_residual, residual;
};

/// Fits parameters of a PSF model, its brightness, a constant and the focus to a measured PSF, by
/// least squares. Voxels are weighted by their photon noise, and beads are assumed to be points.
///
/// `measured` is float32 and contiguous. Its source is in the middle voxel, as in results of
/// psf_from_beads(); along z it may be off by a quarter of the volume. `model` has the voxels of
/// `measured` and the initial values; its size and center_z_um are not used. The search is bounded
/// within the limits of the model:
///
///     NA      0.6 to 1.4 times the initial value
///     index   the initial value ± 0.15
///     depth   0 to twice the initial value + 10 µm
///
/// A grid of depths and indices gives the start of the fit. Throws InvalidArgument or Cancelled.
/// Throws BadData if the measured PSF does not determine a parameter. The deviation is then more
/// than an eighth of the range, or the NA exceeds the sample's index and the source is deep.
/// @code{.cpp}
/// PsfOptions model;
/// model.model = PsfModel::gaussian;
/// model.size = {15, 15, 15};
/// model.objective.na = 1.2;
/// const Psf measured = make_psf(model);  // in place of psf_from_beads()
/// model.objective.na = 1.1;              // the initial value
/// RefineOptions options;
/// options.parameters = {PsfParameter::na};
/// const RefinedPsf refined = refine_psf(measured.values.view(), model, options);
/// assert(std::abs(refined.parameters[0].value - 1.2) < 0.01);
/// @endcode
CONVOLUME_API RefinedPsf refine_psf(const ConstImageView& measured, const PsfOptions& model,
                                    const RefineOptions& options,
                                    const ExecutionContext& context = {});

}  // namespace convolume
