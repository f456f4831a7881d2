// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cpu/volumes/plane_passes.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/views/view_scales.hpp"
#include "forward/view_sampling.hpp"

// Sizes and memory of iterations as passes in host memory (host_passes.hpp).
namespace convolume::deconvolve {

/// Sizes of the passes of one recording, between its own grid of the object and its image.
struct RecordingLayout {
    /// Makes the layout of a recording by its problem. `sampling` brings the object to the grid.
    RecordingLayout(const DeconvolutionProblem& problem, const forward::ViewSampling& sampling,
                    int threads, bool keep_spectrum);

    cpu::HostPlanePasses::Bytes pass_bytes() const {
        return {axes, threads, keep_spectrum, psf_weights.kernels()};
    }
    index_t pixels() const { return element_count(image); }
    index_t pixel_rows() const { return image.z * image.y; }

    forward::ViewSampling sampling;
    Index3 first_tap;  ///< index of the first tap of the PSF that is used
    PairAxes axes;
    Shape3 grid, image;
    PlaneWeights psf_weights;  ///< weights of the PSFs, if the PSF varies with depth
    int threads;
    bool keep_spectrum;
    index_t tap_bytes;  ///< bytes of PSFs and of their used taps while passes are made of them
};

/// Makes passes of the PSFs of a recording's problem (DeconvolutionProblem::psf_views()).
cpu::HostPlanePasses make_plane_passes(const RecordingLayout& layout,
                                       const std::vector<ConstImageView>& psfs);

/// Sizes of the arrays and spectra of passes in host memory.
struct HostPassLayout {
    /// Makes the layout of one image, whose grid is the object.
    HostPassLayout(const DeconvolutionProblem& problem, int threads, bool keep_spectrum);
    /// Makes the layout of several recordings, whose scales are kept by reference.
    HostPassLayout(const DeconvolutionProblem& problem, std::vector<RecordingLayout> all,
                   const ViewScales* view_scales);

    const RecordingLayout& first() const { return recordings.front(); }
    index_t weight_samples() const { return equal_planes.stored(object.z) * object.y * object.x; }
    /// Whether back projections are added up in an array, since no recording has all of the sum.
    bool adds_corrections() const {
        return recordings.size() > 1 || !first().sampling.is_identity();
    }
    /// Returns the size of the largest grid whose voxels are not voxels of the object.
    index_t grid_samples() const;
    index_t array_bytes() const;
    /// Returns an upper bound of the memory that arrays and passes take.
    index_t bytes() const;

    std::vector<RecordingLayout> recordings;
    const ViewScales* scales = nullptr;  ///< those of recordings; null: the units of one image
    DeconvolveMethod method;
    Shape3 object;
    index_t pixels;  ///< number of pixels of all recordings
    int threads;
    bool has_previous, has_changes, has_held_out, has_pixel_weights;
    bool compares_all;         ///< whether no pixel is left out of comparisons
    EqualPlanes equal_planes;  ///< planes with equal weights
};

}  // namespace convolume::deconvolve
