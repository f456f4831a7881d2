// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deconvolution of images that are in a GPU's memory already.

#include "convolume/deconvolver.hpp"
#include "convolume/device.hpp"

namespace convolume {

struct DeviceDeconvolveOptions {
    int device = 0;
    PixelType image_type = PixelType::float32;   ///< any real type
    PixelType output_type = PixelType::float32;  ///< any real type
    /// Of what the deconvolver holds beside the caller's images; nothing: most of what is free.
    std::optional<index_t> max_gpu_bytes;
};

/// Deconvolver for images in the memory of one GPU, where all its arrays stay.
class CONVOLUME_API DeviceDeconvolver {
  public:
    /// `psf` is in host memory and is copied. Throws as Deconvolver does, OutOfMemory where the
    /// arrays do not fit, and Unavailable when there is no such device.
    DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                      const DeconvolveOptions& options = {},
                      const DeviceDeconvolveOptions& device = {});
    ~DeviceDeconvolver();
    DeviceDeconvolver(DeviceDeconvolver&&) noexcept;
    DeviceDeconvolver& operator=(DeviceDeconvolver&&) noexcept;

    const Shape3& image_shape() const;
    DeconvolvePlan plan() const;

    /// Follows what was enqueued on `stream`, and returns when the result is there: the loop looks
    /// at sums as it goes. Image and result are contiguous, in C order, of image_shape() and the
    /// types of the options; where these are as large they may be the same memory. `run` is as for
    /// Deconvolver: an estimate to begin with is in host memory, and so is where estimates are
    /// read. With a background or photon scale that is to be estimated the image is copied to the
    /// host once. Executions follow one another. Throws BadData (NaN), Cancelled, DeviceFailure.
    DeconvolveReport execute(const void* image, void* result, DeviceStream stream = {},
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convolume
