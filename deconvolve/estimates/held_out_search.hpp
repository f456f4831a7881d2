// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search for the number of iterations, or for the weight of a roughness
// (roughness_search.hpp), on a part of the image. The photons of the part are divided at random
// into two halves, which record the same object with independent noise. One half is restored by
// many iterations: the reference. Iterations on the other half come closer to the reference while
// they restore the object, and move away from it when they restore their own noise.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/estimates/brightest_part.hpp"
#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/placement.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

class HeldOutSearch {
  public:
    using MakeRunner = std::function<std::unique_ptr<Runner>(const DeconvolutionProblem&)>;

    /// Makes the search in a part of the image of `whole`, which was resolved from `psf` and
    /// `options`. Returns null if the options request no search. Throws OutOfMemory.
    static std::unique_ptr<HeldOutSearch> make(const DeconvolutionProblem& whole,
                                               const ConstImageView& psf,
                                               const DeconvolveOptions& options, int threads,
                                               const MakeRunner& make_runner);

    const Shape3& part() const { return problem_.image; }
    index_t host_bytes() const;
    index_t device_bytes() const;
    /// Returns the fraction of the time that the search takes.
    double share_of_time() const;

    /// Adds the light of plane after plane of an image, as float32. begin_image() begins another
    /// image.
    void begin_image() { brightest_.clear(); }
    void add_plane(const float* pixels) { brightest_.add_plane(pixels); }
    /// Returns the place of the brightest part of the image.
    Box3 brightest() const { return brightest_.find(); }

    /// Numbers of iterations for all photons.
    struct Found {
        int iterations = 0;       ///< on the image itself
        std::vector<int> coarse;  ///< on coarser images, the finest first; empty: no coarse start
        int searched = 0;         ///< number of iterations on the part that the search took
        std::optional<double> roughness{};  ///< weight of the roughness, if the search is for it
    };

    /// Iterates on the halves of a part: on its coarser images, from the coarsest on, then on
    /// itself. Background and scale of photons are those of the image. `run` gives an initial
    /// estimate of the part, and gets reports of the iterations on the part itself.
    Found find(const ConstImageView& part, const LoadedImage& image, const DeconvolveRun& run,
               const ExecutionContext& context);

  private:
    struct Stage;
    struct Nearest;
    class References;

    HeldOutSearch(const DeconvolutionProblem& whole, DeconvolutionProblem&& problem, int threads);
    /// Returns the iterations on the second half after which the estimate is nearest to the
    /// reference, which has `most` iterations on the first half. Unless no longer reference may
    /// follow (`is_last`), it ends as soon as that number needs one.
    Stage compare_halves(const RestoredLevel& level, const std::array<Volume, 2>& halves, int most,
                         bool is_last, const DeconvolveRun& run, const ExecutionContext& context);
    /// Compares the halves with references of more and more iterations until one has enough of
    /// them.
    Nearest find_nearest(const RestoredLevel& level, const std::array<Volume, 2>& halves,
                         References references, const DeconvolveRun& run,
                         const ExecutionContext& context);
    /// Finds the numbers of iterations on a coarse image and on coarser ones, and makes later
    /// iterations on halves start from as many as were nearest.
    std::vector<int> search_coarsely(CoarseStart& start, const std::array<Volume, 2>& halves,
                                     const ImageLevels& levels, double gain,
                                     const ExecutionContext& context);
    /// Returns the number of iterations for all photons, at most `limit`.
    int of_all(const Nearest& nearest, int limit) const;

    Shape3 whole_object_;
    DeconvolutionProblem problem_;
    int threads_;
    int iterations_;           ///< largest number of iterations
    PixelBounds bounds_;       ///< those of the image
    bool is_plane_;            ///< whether the image has one plane
    double from_half_to_all_;  ///< factor from the number for halves to that for all
    std::unique_ptr<CoarseStart> coarse_;
    std::unique_ptr<Runner> runner_;
    BrightestPart brightest_;
};

/// The two halves of an image's photons.
struct PhotonHalves {
    std::array<Volume, 2> halves;  ///< float32, each of twice its photons
    PhotonScale photons;           ///< scale of the halves
};

/// Divides the photons of an image at random. Negative pixels are read as 0. Pixels to which the
/// bounds apply have encoded bounds in both halves, or are left out of both.
PhotonHalves divide_photons(const ConstImageView& image, const PhotonScale& photons,
                            const PixelBounds& bounds, int threads);

}  // namespace convolume::deconvolve
