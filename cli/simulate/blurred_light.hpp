// SPDX-License-Identifier: Apache-2.0
#pragma once
// The specimen as the microscope images it, before the camera.

#include <functional>

#include "cli/images/channel_kernels.hpp"
#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

/// Where the light of all channels and times lies between the convolution and the camera, and how
/// much of it the camera takes at a time.
struct LightPlan {
    StackFormat format;
    ScratchImage::Place place = ScratchImage::Place::file;
    /// The planes of the next pixel plane are read, and the last one is written, while one is
    /// recorded.
    bool overlapped = true;
};

class BlurredLight {
  public:
    /// A file is made in `directory`.
    BlurredLight(const LightPlan& plan, const std::string& directory)
        : plan_(plan), light_(plan.format, plan.place, directory) {}

    /// Blurs all channels and times of the phantom.
    ExecutionReport blur(io::ImageReader& phantom, const ChannelKernels<Convolver>& kernels,
                         const ExecutionContext& context);
    /// Negative samples of the phantom that was blurred.
    index_t negative_samples() const { return negative_samples_; }

    /// A plane of the camera. `photons` (float64) holds the light of its pixels.
    struct Plane {
        index_t t, c, z;
        index_t slot;  ///< of what is computed and written; alternates where steps overlap
        Volume& photons;
    };
    /// Calls `compute` for every plane that the camera takes, in order, and `write` (may be empty)
    /// after it, beside the computation of the next plane. `write` has no photons to read.
    void for_each_plane(const CameraGrid& grid, int threads, const ExecutionContext& context,
                        const std::function<void(const Plane&)>& compute,
                        const std::function<void(const Plane&)>& write);

  private:
    LightPlan plan_;
    ScratchImage light_;
    index_t negative_samples_ = 0;
};

}  // namespace convolume::cli
