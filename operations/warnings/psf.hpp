// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings of PSFs that do not suit an image. The sentences name options, which become those of the
// command or the keywords of Python (Sentence::with_names).

#include <optional>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "convolume/psf.hpp"
#include "operations/number_text.hpp"

namespace convolume {

/// A PSF on the voxels of an image, and what is known of it.
struct PsfUse {
    ConstImageView taps;
    Index3 center;
    bool center_is_given = false;      ///< the user named the center, so that a shift is meant
    bool is_in_fft_order = false;      ///< the taps are used in FFT order
    std::string name = "the PSF";      ///< such as: the PSF "psf.tif"
    const PsfOptions* made = nullptr;  ///< options of a computed PSF
};

/// Returns what is doubtful about a PSF for images of this shape.
std::vector<Sentence> psf_warnings(const PsfUse& psf, const Shape3& image);

/// Returns the warning of a PSF with samples below 0, which deconvolution and simulation set to 0.
std::string negative_samples_warning(index_t samples);

/// Sentences that tell a caller what to do if only one of image and PSF knows its voxel size.
struct VoxelCures {
    Sentence image = sentence("give them by ", OptionName{"voxel"});
    Sentence psf = "save it with its voxel size";
};

/// Returns a sentence if only one of image and PSF knows its voxel size along an axis on which both
/// have several samples: the PSF cannot be resampled then.
std::optional<Sentence> voxel_warning(const KnownVoxelSize& image, const Shape3& image_shape,
                                      const KnownVoxelSize& psf, const Shape3& psf_shape,
                                      const std::string& psf_name, const VoxelCures& cures = {});

}  // namespace convolume
