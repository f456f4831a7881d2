// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deconvolution of several recordings (views) of one object, or of one whose PSF varies over the
// field. The forward model says how they come from the object (forward_model.hpp).

#include <optional>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/forward_model.hpp"

namespace convolume {

/// Levels and weights of the pixels of one view. Levels that are not given are found as
/// DeconvolveOptions say.
struct ViewLevels {
    /// Background, with the camera's offset. If not given, DeconvolveOptions::background.
    std::optional<double> background{};
    std::optional<double> offset{};  ///< if not given, DeconvolveOptions::offset
    std::optional<double> gain{};    ///< if not given, DeconvolveOptions::gain
    /// Light that the view records of the object, relative to the others: its exposure, or its
    /// illumination.
    double light = 1;
    /// Number of voxels at the borders of the recording over which the weights of its pixels in the
    /// likelihood rise from 0 to 1, as a squared sine. Errors of the transform then make no edge
    /// where a view ends.
    index_t border = 0;
    /// Weight of a pixel that counts as one without a mask; 0: the largest weight of all views. The
    /// largest number of all views holds. Blocks of larger recordings need the same one, as some
    /// have only small weights.
    double full_weight = 0;
};

/// Returns the factors by which weights fall towards both borders of an axis of `extent` pixels
/// (ViewLevels::border). They multiply along the axes. A single pixel has the factor 1.
/// Throws InvalidArgument for a border below 0.
CONVOLUME_API std::vector<float> border_factors(index_t extent, index_t border);

/// Returns whether several views are deconvolved by a method: rl, rl-tv, shb and map.
CONVOLUME_API bool deconvolves_views(DeconvolveMethod method);

/// Deconvolves recordings of one object in float32. Their joint likelihood is that of all photons:
///
///     Σ_v Σ_pixels −w [m − y + y log(y / m)],  m = A_v x + b_v
///
/// in photons, by the gain of each view. The iteration of Richardson and Lucy is then a mean over
/// the views:
///
///     x ← x / (Σ_v A_vᵀ w_v) · Σ_v A_vᵀ(w_v y_v / (A_v x + b_v))
///
/// Shepp and Vardi, IEEE Trans. Med. Imaging 1:113 (1982), where views are projections; Krzic,
/// PhD thesis, Heidelberg (2009). The weights w of pixels are those of View::mask and of
/// ViewLevels::border, and 0 where a pixel is outside the result.
///
/// Methods are rl, rl-tv, shb and map. Background, offset and gain are found in each view as in one
/// image alone. A number of iterations that is left open is found from one photon in eight of each
/// view (DeconvolveOptions::hold_out). For the uncertainty (DeconvolveOptions::splits and
/// DeconvolveRun::uncertainty), the photons of all views are divided in each split. Arrays are in
/// the memory of one GPU, the first of those that are chosen, if it holds them. Otherwise they are
/// in host memory, and CPU or GPUs convolve. If the caller names several GPUs and the first one
/// holds the arrays, and another object for each further GPU, the convolutions of simultaneous
/// updates are divided among them, view by view. GPUs whose memory is too full are left out.
/// @code{.cpp}
/// Volume psf({5, 5, 5}, PixelType::float32), turned_psf({5, 5, 5}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 125, 1.0F);
/// std::fill_n(turned_psf.elements<float>(), 125, 1.0F);
/// const Shape3 shape{16, 32, 32};
/// std::vector<View> views{{shape, {{psf.view()}}}, {shape, {{turned_psf.view()}}}};
/// views[1].map.offset = {0, 1.5, 0};  // lies 1.5 voxels further along y
/// Volume first(shape, PixelType::uint16), second(shape, PixelType::uint16);
/// std::fill_n(first.elements<std::uint16_t>(), element_count(shape), 100);
/// std::fill_n(second.elements<std::uint16_t>(), element_count(shape), 100);
/// Volume result(shape, PixelType::float32);
/// DeconvolveOptions options;
/// options.iterations = 5;
/// ViewDeconvolver(shape, views, options).execute({first.view(), second.view()}, result.view());
/// @endcode
class CONVOLUME_API ViewDeconvolver {
  public:
    /// Plans, and transforms the PSFs, which are copied, with negative samples set to 0 and a sum
    /// of 1. `result` has the extents (z, y, x) of the result, to whose voxels the maps of the
    /// views lead. `levels` is empty, or has an element for each view. View::boundary is replaced
    /// by DeconvolveOptions::boundary, and View::mask must be at least 0. Throws InvalidArgument
    /// (options, views), BadData (a PSF or a mask), OutOfMemory, or Unavailable.
    ViewDeconvolver(const Shape3& result, const std::vector<View>& views,
                    const DeconvolveOptions& options = {},
                    const std::vector<ViewLevels>& levels = {}, const EngineChoice& engines = {});

    DeconvolvePlan plan() const;
    /// Returns the grid of the estimate.
    const ObjectGrid& object() const;

    /// Deconvolves the images of all views into `result`, of any real type. Returns what was found
    /// in each view; numbers of iterations, and figures of the iterations, are those of all.
    /// Throws as Deconvolver::execute() does.
    std::vector<DeconvolveReport> execute(const std::vector<ConstImageView>& images,
                                          const ImageView& result, const DeconvolveRun& run = {},
                                          const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
