// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deconvolution of images that are already in the memory of GPUs.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/device_convolver.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Options of DeviceDeconvolver beside those of the deconvolution.
struct DeviceDeconvolveOptions {
    int device = 0;                              ///< CUDA's device number
    PixelType image_type = PixelType::float32;   ///< type of the image, any real one
    PixelType output_type = PixelType::float32;  ///< type of the result, any real one
    /// Bytes of device memory that the deconvolver may take, beside the caller's images. If not
    /// given, most of the free memory.
    std::optional<index_t> max_gpu_bytes;
    /// Workspace to share. Arrays of the deconvolution and spectra of the PSF are never shared.
    WorkspaceOf workspace_of{};
};

/// Deconvolves images in the memory of one GPU, in which all its arrays stay.
/// @code{.cpp}
/// const Shape3 shape{16, 64, 64};
/// Volume psf({5, 5, 5}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 125, 1.0F);
/// const std::vector<float> recorded(element_count(shape), 100.0F);
/// float* image = nullptr;
/// cudaMalloc(&image, recorded.size() * sizeof(float));
/// cudaMemcpy(image, recorded.data(), recorded.size() * sizeof(float), cudaMemcpyDefault);
/// const DeviceDeconvolver deconvolver(shape, psf.view());
/// const DeconvolveReport report = deconvolver.execute(image, image);
/// std::cout << report.iterations << " iterations\n";
/// cudaFree(image);
/// @endcode
class CONVOLUME_API DeviceDeconvolver {
  public:
    /// Plans, allocates, and transforms the PSF. `image_shape` and the shape of `psf` are z, y, x.
    /// `psf` is in host memory and is copied. Throws as Deconvolver does, and OutOfMemory if the
    /// arrays do not fit. Throws InvalidArgument if the workspace is on another device, and
    /// Unavailable if there is no such device.
    DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                      const DeconvolveOptions& options = {},
                      const DeviceDeconvolveOptions& device = {});

    const Shape3& image_shape() const;
    /// Returns the plan. Its device_bytes include the bytes by which a shared workspace has grown
    /// for this deconvolver.
    DeconvolvePlan plan() const;

    /// Deconvolves one image after the work that was enqueued on the CUDA stream `stream`. Returns
    /// when the result is written, since iterations read sums from the device. `image` and `result`
    /// are in the device's memory, contiguous and in C order, of image_shape() and the types of the
    /// options. They may be the same memory if their types have equal size. `run` is as for
    /// Deconvolver; its initial estimate, and views into which estimates are read, are in host
    /// memory. To estimate a background or photon scale, the image is copied to the host once.
    /// Executions follow one another. Throws BadData (NaN), Cancelled, or DeviceFailure.
    DeconvolveReport execute(const void* image, void* result, DeviceStream stream = {},
                             const DeconvolveRun& run = {},
                             const ExecutionContext& context = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    Hidden<Impl> impl_;
};

/// As cached_deconvolver(), for images in the memory of a GPU.
/// DeviceDeconvolveOptions::workspace_of must be empty.
CONVOLUME_API std::shared_ptr<const DeviceDeconvolver> cached_device_deconvolver(
    const Shape3& image_shape, const ConstImageView& psf, const DeconvolveOptions& options = {},
    const DeviceDeconvolveOptions& device = {});

}  // namespace convolume
