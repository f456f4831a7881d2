// SPDX-License-Identifier: Apache-2.0
#pragma once
// All channels and times of an image, each channel with its kernel.

#include "cli/images/channel_kernels.hpp"
#include "convolume/convolver.hpp"
#include "convolume/image_stream.hpp"

namespace convolume::cli {

/// Throws as Convolver::execute() does; of several kernels, BadData names the channel of the file,
/// NonfiniteSample that of `source`.
ExecutionReport convolve_channels(const ChannelKernels<Convolver>& kernels, ImageSource& source,
                                  ImageSink& sink, const ExecutionContext& context);

}  // namespace convolume::cli
