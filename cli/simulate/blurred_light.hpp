// SPDX-License-Identifier: Apache-2.0
#pragma once
// The specimen as the microscope images it, before the camera.

#include <vector>

#include "cli/images/channel_kernels.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Blurs one volume (a channel at a time point) of the phantom at a time.
class BlurredLight {
  public:
    /// `blurs` is how many volumes will be blurred in all, for the progress that `context` reports.
    BlurredLight(io::ImageReader& reader, const ChannelKernels<Convolver>& kernels, index_t blurs,
                 const ExecutionContext& context);

    /// Light of channel c at time t; the volume blurred last is kept.
    const Volume& of(index_t t, index_t c);

    double seconds() const { return seconds_; }
    /// Negative samples of all volumes of the phantom that were blurred, each counted once.
    index_t negative_samples() const;

  private:
    void blur(index_t t, index_t c);

    io::ImageReader& reader_;
    const ChannelKernels<Convolver>& kernels_;
    index_t blurs_;
    const ExecutionContext& context_;
    Volume input_;
    Volume blurred_;
    index_t present_ = -1;  ///< the volume in blurred_
    index_t done_ = 0;
    double seconds_ = 0;
    std::vector<index_t> negative_;  ///< samples of each volume
};

}  // namespace convolume::cli
