// SPDX-License-Identifier: Apache-2.0
#pragma once
// A deconvolution with its options checked and the PSF made ready.

#include "convolume/deconvolver.hpp"
#include "core/pair_axis.hpp"
#include "deconvolve/methods/method.hpp"

namespace convolume::deconvolve {

inline bool fits_uint16(PixelType type) {
    return type == PixelType::uint8 || type == PixelType::uint16;
}

struct DeconvolutionProblem {
    DeconvolveOptions options;
    MethodTraits traits;
    Shape3 image;
    Shape3 object;
    Index3 image_at;   ///< the object's sample that stands at the image's first
    Volume psf;        ///< float64, not negative
    Volume unmatched;  ///< taps of the other back projector, where there is one
    double psf_sum = 0;
    index_t negative_psf_samples = 0;

    bool draws_photons() const { return options.hold_out || traits.draws_halves; }
    /// Whether the image is kept as uint16 on GPUs, for an iteration to read fewer bytes: where
    /// what is kept is what was recorded.
    bool keeps_uint16() const {
        // A linear system reads its image once, and overwrites it.
        return options.image_type && fits_uint16(*options.image_type) && !options.hold_out &&
               !options.saturation && !traits.solves_system;
    }
    bool compares_all() const { return !options.saturation; }  ///< no pixel is left out
    /// The weight of the total variation; 0: the method has none.
    float tv_weight() const {
        return traits.uses_neighbors ? static_cast<float>(options.tv_weight) : 0;
    }
    /// Options of the convolution from object to image, and of its adjoint.
    Options blur(Operation operation) const;
};

DeconvolutionProblem resolve_problem(const Shape3& image, const ConstImageView& psf,
                                     const DeconvolveOptions& options, int threads = 0);

double sum_of_taps(const Volume& psf);
/// An object that ends in darkness, and a PSF that has light: passes over spectra convolve these.
bool can_convolve_by_passes(const DeconvolutionProblem& problem);
/// Of the object planes `own`, from the first of them on: those whose light meets the image with
/// all planes of the PSF, which are alike in their weights if all pixels are compared.
AlikePlanes alike_planes(const DeconvolutionProblem& problem, const PairAxis& z,
                         const IndexRange& own);

/// Throws where an estimate cannot be begun with; one without data can.
void check_start(const DeconvolutionProblem& problem, const ConstImageView& start);

/// How many float arrays a method holds in each of the two spaces.
struct ArrayCounts {
    int object = 0;
    int image = 0;
};
ArrayCounts array_counts(const DeconvolutionProblem& problem);
index_t array_bytes(const DeconvolutionProblem& problem);

}  // namespace convolume::deconvolve
