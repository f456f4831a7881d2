// SPDX-License-Identifier: Apache-2.0
#pragma once
// The light of a specimen as the microscope images it, between convolution and camera.

#include <functional>
#include <string>

#include "cli/images/channel_kernels.hpp"
#include "convolume/camera.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/scratch_image.hpp"

namespace convolume::cli {

/// Plan for the light between convolution and camera: format and place of the light of all channels
/// and times, and whether the camera's steps overlap.
struct LightPlan {
    StackFormat format;
    ScratchImage::Place place = ScratchImage::Place::file;
    /// While one plane is recorded, the next one's light is read and the last one is written.
    bool overlapped = true;
};

/// The specimen as the microscope images it, before the camera.
class BlurredLight {
  public:
    /// If the plan needs a file, it is made in `directory`.
    BlurredLight(const LightPlan& plan, const std::string& directory)
        : plan_(plan), light_(plan.format, plan.place, directory) {}

    /// Blurs all channels and times of the phantom.
    ExecutionReport blur(io::ImageReader& phantom, const ChannelKernels<Convolver>& kernels,
                         const ExecutionContext& context);
    /// Returns the number of negative samples of the phantom.
    index_t negative_samples() const { return negative_samples_; }

    /// A plane that the camera records. `photons` (float64) holds the light of its pixels.
    struct CameraPlane {
        index_t t, c, z;
        index_t slot;  ///< slot of the plane's buffers; alternates if steps overlap
        Volume& photons;
    };
    /// Calls `compute` for every plane of the camera, in order, and then `write` (may be empty)
    /// while the next plane is computed. `write` must not read the photons.
    void for_each_plane(const CameraGrid& grid, int threads, const ExecutionContext& context,
                        const std::function<void(const CameraPlane&)>& compute,
                        const std::function<void(const CameraPlane&)>& write);

  private:
    LightPlan plan_;
    ScratchImage light_;
    index_t negative_samples_ = 0;
};

}  // namespace convolume::cli
