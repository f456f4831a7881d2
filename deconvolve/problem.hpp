// SPDX-License-Identifier: Apache-2.0
#pragma once
// The problem of a deconvolution: checked options, and a PSF without negative samples.

#include <memory>

#include "convolume/deconvolver.hpp"
#include "core/pair_axis.hpp"
#include "core/plane_weights.hpp"
#include "deconvolve/method.hpp"
#include "deconvolve/pixel_bounds.hpp"

namespace convolume::deconvolve {

inline bool fits_uint16(PixelType type) {
    return type == PixelType::uint8 || type == PixelType::uint16;
}

class DarkLevel;

/// Sets a scale of photons whose offset contains the read noise.
inline void set_photons(DeconvolveOptions& options, const PhotonScale& photons) {
    options.gain = photons.gain;
    options.offset = photons.offset;
    options.read_noise = 0;
}

struct DeconvolutionProblem {
    DeconvolveOptions options;
    MethodTraits traits;
    Shape3 image;
    Shape3 object;
    Index3 image_at;  ///< index of the object's voxel at the image's first pixel
    /// Number of pixels of all recordings, if there are several (views); `image` then has the
    /// extents of the result.
    std::optional<index_t> recorded_pixels;
    Volume psf;  ///< the PSF as float32, without negative samples, with a sum of 1
    /// Further PSFs of the same extents and center, if the PSF varies with depth, and the plane of
    /// the image, counted from 0, that each of all PSFs is of, in ascending order.
    std::vector<Volume> deeper_psfs;
    std::vector<double> psf_planes;
    Volume unmatched;    ///< taps of the unmatched back projector, if the method has one
    double psf_sum = 0;  ///< sum of the samples that the caller gave
    index_t negative_psf_samples = 0;
    bool has_light = false;  ///< whether a sample of the PSF is above 0
    /// Number of parts of the pixels that change the estimate one after the other in an iteration,
    /// such as views; 1: all pixels do at once.
    int parts = 1;
    /// Whether a search in a part of the image finds the number of iterations (HeldOutSearch).
    /// options.hold_out is then false.
    bool searches_in_part = false;
    /// Binary logarithm of the number of photons of which hold_out sets one apart, without such a
    /// search.
    int held_out_halvings = 3;
    /// Part of the caller's limit of host memory that searches and coarser images take. The options
    /// hold the rest.
    index_t reserved_host_bytes = 0;
    /// Tells the haze of the PSF, and finds the background under it. Null: neither is needed.
    std::shared_ptr<DarkLevel> dark_level;

    /// Whether saturated pixels hold bounds of their own: those of sums of pixels.
    bool encodes_bounds = false;

    /// Factor of a weight of the total variation that is chosen from the image's noise: 1, unless
    /// this is a coarser image.
    double tv_scale = 1;
    double squared_taps = 0;  ///< sum of the squared samples of the PSF, whose sum is 1

    bool draws_photons() const {
        return options.hold_out || searches_in_part || traits.draws_halves;
    }
    bool chooses_tv_weight() const { return traits.penalizes_variation() && !options.tv_weight; }
    bool chooses_roughness() const { return traits.penalizes_roughness() && !options.roughness; }
    bool needs_photons() const {
        return draws_photons() || chooses_tv_weight() || chooses_roughness() ||
               options.splits > 0 || options.read_noise > 0;
    }
    /// Whether the scale of photons comes from the image's pixels.
    bool estimates_photons() const {
        const bool has_room = !options.background || *options.background > 0;  // for an offset
        return (needs_photons() && !options.gain) ||
               (traits.counts_photons && !options.offset && has_room);
    }
    /// Whether GPUs keep the image as uint16, so that an iteration reads fewer bytes. The kept
    /// pixels must be those that were recorded.
    bool keeps_uint16() const {
        // A linear system reads its image once, and overwrites it.
        return options.image_type && fits_uint16(*options.image_type) && !options.hold_out &&
               !options.saturation && options.splits == 0 && !traits.solves_system;
    }
    /// Returns the number of pixels that iterations compare with a model.
    index_t pixels() const { return recorded_pixels.value_or(element_count(image)); }
    bool psf_varies() const { return psf_planes.size() > 1; }
    /// Returns the number of PSFs.
    index_t psf_count() const { return psf_varies() ? static_cast<index_t>(psf_planes.size()) : 1; }
    std::vector<ConstImageView> psf_views() const;
    /// Releases all taps once the convolvers hold them.
    void release_taps() {
        psf = {};
        unmatched = {};
        deeper_psfs.clear();
    }
    PixelBounds bounds() const { return {options.saturation, encodes_bounds}; }
    void set_bounds(const PixelBounds& bounds) {
        options.saturation = bounds.level;
        encodes_bounds = bounds.are_encoded;
    }
    /// Whether all pixels are compared, with equal weights.
    bool compares_all() const { return !options.saturation && !options.has_pixel_weights; }
    /// Returns the options of the convolution from object to image, or of its adjoint.
    Options blur(Operation operation) const;
};

DeconvolutionProblem resolve_problem(const Shape3& image, const ConstImageView& psf,
                                     const DeconvolveOptions& options, int threads = 0);

/// Throws InvalidArgument if an option was changed that the method does not use.
void check_unused(const DeconvolveOptions& options);

/// The same for a single image, of which ViewUpdates are refused, too.
void check_unused_of_image(const DeconvolveOptions& options);

/// Returns the traits of the options' method.
MethodTraits traits_of(const DeconvolveOptions& options);

/// Resolves the problem of a PSF that varies with depth.
DeconvolutionProblem resolve_problem(const Shape3& image, const std::vector<DepthPsf>& psfs,
                                     const DeconvolveOptions& options, int threads = 0);

/// Returns the weights of the PSFs at the planes of the object: they are interpolated linearly
/// between the planes of PSFs, and constant beyond the first and the last one.
PlaneWeights psf_weights(const DeconvolutionProblem& problem);

/// Returns the sum of the squared samples of a PSF.
double squared_taps_of(const Volume& psf);

/// Copies of taps, for runners that make passes of them at their first execution.
class TapCopies {
  public:
    explicit TapCopies(const std::vector<ConstImageView>& taps);
    std::vector<ConstImageView> views() const;
    void release() { copies_.clear(); }

  private:
    std::vector<Volume> copies_;
};

/// Whether passes over spectra can compute the convolution: the object must be 0 beyond its edges,
/// and the PSF must have light.
bool can_convolve_by_passes(const DeconvolutionProblem& problem);
/// Finds the planes of `own` whose light meets the image with all planes of the PSF. They have
/// equal weights if all pixels are compared and the PSF is the same for all planes. Results count
/// from the first plane of `own`.
EqualPlanes alike_planes(const DeconvolutionProblem& problem, const PairAxis& z,
                         const IndexRange& own);

/// Returns the mark of a pixel of at least the saturation. A saturated pixel is a lower bound, but
/// is left out if the method divides photons, since it does not tell how many it has.
float mark_of(float pixel, const DeconvolutionProblem& problem);

/// Throws if iterations cannot start from `start`. An estimate without data counts as not given,
/// and is accepted.
void check_start(const DeconvolutionProblem& problem, const ConstImageView& start);

/// Throws unless weights of pixels are given if they were planned, and fit the image.
void check_pixel_weights(const DeconvolutionProblem& problem, const ConstImageView& weights);

/// Numbers of float arrays of the object's and of the image's extents that a method needs.
struct ArrayCounts {
    int object = 0;
    int image = 0;
};
ArrayCounts array_counts(const DeconvolutionProblem& problem);
/// Throws OutOfMemory if arrays of a GPU do not leave anything of what it may hold to transforms.
void check_gpu_arrays(const char* arrays, index_t bytes, index_t limit_bytes);
index_t array_bytes(const DeconvolutionProblem& problem);

}  // namespace convolume::deconvolve
