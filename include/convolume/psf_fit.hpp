// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fits the model of a PSF to a recording of a specimen that nobody knows.

#include <optional>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/image_stream.hpp"
#include "convolume/psf.hpp"

namespace convolume {

/// Search of fit_psf().
struct PsfFitOptions {
    /// Pixels of at least this value are left out, as DeconvolveOptions::saturation.
    std::optional<double> saturation;
    /// Largest number of PSFs that are compared with the image.
    int most_comparisons = 48;
};

/// A PSF model that was fitted to an image.
struct FittedPsf {
    PsfOptions model;  ///< the model with its fitted parameters, and the size of the given one
    /// Errors of predicting half of the photons by the model of the other half: the mean square, as
    /// a multiple of that of noise alone. With the given model, and with the fitted one.
    double first_error = 0, error = 0;
    int comparisons = 0;  ///< number of PSFs that were compared with the image
    /// What was changed, such as "NA 1.45 → 1.28, index of the sample 1.33 → 1.46". Empty if no
    /// change predicts the image better.
    std::string changes;
};

/// Finds the parameters of a PSF model with which a deconvolution predicts the image best. The
/// photons of the image's brightest part are divided at random into halves. One half is restored
/// with a PSF, and the blurred estimate is compared with the other half, whose noise it does not
/// know: a PSF that is too small restores noise, and one that is too large or has another cone
/// misses structure. The NA, and for models with layers the indices of the sample, the depth and
/// the thickness of the cover glass (spherical aberration) are changed in turn by steps, which
/// become smaller where they do not help. Fine images are compared after summing pixels in pairs.
///
/// NA and voxel size are hardly told apart: a smaller NA may stand for a larger voxel.
///
/// Throws BadData if the noise of the image does not tell its photons, InvalidArgument for an image
/// of less than three planes or a model that make_psf() refuses, or Cancelled.
/// @code{.cpp}
/// PsfOptions model;
/// model.voxel = {0.3, 0.13, 0.13};
/// model.size = {21, 31, 31};
/// Volume image({11, 48, 48}, PixelType::float32);
/// for (index_t i = 0; i < 11 * 48 * 48; ++i)
///     image.elements<float>()[i] = static_cast<float>(100 + (i * i) % 37 + 50 * (i % 48 > 24));
/// ViewSource source(image.view());
/// try {
///     const FittedPsf fitted = fit_psf(source, model, {.most_comparisons = 2});
///     std::cout << fitted.changes << ": " << fitted.first_error << " to " << fitted.error << '\n';
/// } catch (const BadData&) {
///     std::cout << "the noise does not tell the photons\n";
/// }
/// @endcode
CONVOLUME_API FittedPsf fit_psf(ImageSource& image, const PsfOptions& model,
                                const PsfFitOptions& options = {}, const EngineChoice& engines = {},
                                const ExecutionContext& context = {});

}  // namespace convolume
