// SPDX-License-Identifier: Apache-2.0
#pragma once
// A start on coarser images: iterations on them cost a fraction, and find the broad structures,
// which take most iterations.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "deconvolve/coarse_image.hpp"
#include "deconvolve/runner.hpp"
#include "deconvolve/steps.hpp"

namespace convolume::deconvolve {

/// The deconvolution of a coarse image, which may have a coarse start of its own.
class CoarseStart {
  public:
    using MakeRunner = std::function<std::unique_ptr<Runner>(const Problem&)>;

    /// Null where none is asked for, or where no axis is to be halved. Images are coarsened
    /// `levels` times at most. Throws OutOfMemory.
    static std::unique_ptr<CoarseStart> make(const Problem& fine, const MakeRunner& make_runner,
                                             int threads, int levels = most_levels);

    /// Extents of the images, the coarsest first.
    std::vector<Shape3> images() const;
    index_t host_bytes() const;
    index_t device_bytes() const;
    /// Its share of the time of this and of so many fine iterations.
    double share_of_time(int iterations) const;

    /// Deconvolves sums of the image's pixels, and writes the estimate to begin with by
    /// Steps::write_estimate. Returns how many iterations that took. `background` is that of a fine
    /// pixel, `usual` what voxels begin with otherwise: all of them do where no coarse pixel is
    /// compared, and none begins with less than a thousandth of it.
    int begin(const ConstImageView& image, double background, const Held& held, Steps& fine,
              float usual, const ExecutionContext& context);

  private:
    static constexpr int most_levels = 2;

    CoarseStart(const Problem& fine, const Coarsening& coarsening, int threads);
    double voxel_steps() const;

    Coarsening coarsening_;
    std::optional<double> fine_saturation_;
    Shape3 fine_object_;
    Index3 fine_at_;
    Problem problem_;
    int threads_;
    std::unique_ptr<CoarseStart> coarser_;
    std::unique_ptr<Runner> runner_;
};

}  // namespace convolume::deconvolve
