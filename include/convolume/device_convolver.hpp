// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution of images that are already in the memory of GPUs. After construction, it never waits
// for the device.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "convolume/device_stream.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"
#include "convolume/sample_storage.hpp"

namespace convolume {

class DeviceConvolver;
class DeviceDeconvolver;
class DeviceWorkspace;  // device memory that executions overwrite

/// The workspace that a convolver or deconvolver shares with another one on the same device.
/// Without one, it gets a workspace of its own. A workspace takes most of a convolver's memory. Its
/// size is the largest that a sharer needs. If the largest sharer is made after others, the
/// workspace grows; old and new memory then exist at once if there is room.
///
/// Sharers may be used from any CUDA stream and thread, also in callbacks of a deconvolution, and
/// may be destroyed in any order. On the device their executions follow one another. Other
/// executions may run between the iterations of a deconvolution, which then computes again the data
/// that they overwrote.
/// @code{.cpp}
/// Volume psf({5, 5, 5}, PixelType::float32);
/// std::fill_n(psf.elements<float>(), 125, 1.0F);
/// const DeviceDeconvolver deconvolver({16, 64, 64}, psf.view());
/// DeviceOptions options;
/// options.workspace_of = &deconvolver;
/// const DeviceConvolver blur({16, 64, 64}, psf.view(), {}, options);
/// assert(blur.device_bytes() < deconvolver.plan().device_bytes);
/// @endcode
class CONVOLUME_API WorkspaceOf {
  public:
    WorkspaceOf() = default;
    WorkspaceOf(const DeviceConvolver* convolver);      ///< if null, a new workspace is used
    WorkspaceOf(const DeviceDeconvolver* deconvolver);  ///< if null, a new workspace is used
    explicit WorkspaceOf(std::shared_ptr<DeviceWorkspace> workspace)
        : workspace_(std::move(workspace)) {}
    const std::shared_ptr<DeviceWorkspace>& get() const { return workspace_; }

  private:
    std::shared_ptr<DeviceWorkspace> workspace_;
};

/// The planes of an image and of its result that one GPU holds. A slab's arrays are contiguous, in
/// C order, of the shapes (input_planes, y, x) and (output_planes, y, x).
struct DeviceSlab {
    int device = 0;  ///< CUDA's device number
    index_t input_begin = 0, input_planes = 0;
    index_t output_begin = 0, output_planes = 0;
    index_t device_bytes = 0;  ///< bytes that the convolver holds on the GPU for this slab
};

/// Options of DeviceConvolver beside those of the convolution.
struct DeviceOptions {
    int device = 0;  ///< CUDA's device number
    /// Several GPUs, at best connected by NVLink. Image and result are slabs along z, one for each
    /// GPU in this order. Each GPU needs memory for its part, and for as many neighboring planes as
    /// the kernel reaches; without the memory for these, the work is divided in a slower way. The
    /// constructor lets the GPUs access each other's memory (cudaDeviceEnablePeerAccess), for the
    /// whole process. A GPU that is named n times has n slabs. If empty, `device` is the only GPU.
    std::vector<int> devices{};
    /// The number of planes of the input, and of the result, in each slab. They may be 0. If not
    /// given, planes are divided evenly. Slabs near that division are fastest.
    std::vector<index_t> input_planes{}, output_planes{};
    PixelType image_type = PixelType::float32;
    /// Type of results. If not given, the natural type, see Convolver::natural_output_type().
    std::optional<PixelType> output_type;
    /// Images and results that are floats of 16 bits, float16 or bfloat16; their types are float32
    /// then. Only on one GPU, and results only of real data, and not of an adjoint with a boundary
    /// that continues the image.
    SampleStorage image_storage = SampleStorage::plain, output_storage = SampleStorage::plain;
    /// Keeps the whole spectrum of the kernel where executions are predicted to be faster with it,
    /// and memory allows it. Otherwise, and if false, only the spectra of the kernel's own planes
    /// are kept, and executions transform them along z: with half the memory, they take from a
    /// tenth less to a fifth longer.
    bool keep_kernel_spectrum = true;
    /// The kernel comes with each execution, in the device's memory, and is transformed there. The
    /// constructor takes a view of its shape and type without samples. The kernel is not searched
    /// for NaN, which propagate. Options that need the samples are refused: normalization, the
    /// centers peak, centroid and corner, a constant boundary other than 0, and the conjugation of
    /// a complex kernel.
    bool kernel_on_device = false;
    /// Bytes of each GPU's memory that the convolver may take, beside the caller's images. If not
    /// given, most of the free memory.
    std::optional<index_t> max_gpu_bytes;
    WorkspaceOf workspace_of{};  ///< only on one GPU
};

/// Convolves images of one shape with one kernel on one GPU, or on several that share the image and
/// the work. If a loop also needs the adjoint, make a second convolver with Operation::adjoint.
/// Both may use one CUDA stream, and share a workspace (DeviceOptions::workspace_of).
/// @code{.cpp}
/// const Shape3 shape{16, 64, 64};
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// std::fill_n(kernel.elements<float>(), 27, 1 / 27.0F);
/// const DeviceConvolver blur(shape, kernel.view());
/// float* image = nullptr;
/// cudaMalloc(&image, element_count(shape) * sizeof(float));
/// cudaMemset(image, 0, element_count(shape) * sizeof(float));
/// blur.execute(image, image);
/// blur.execute(image, image);  // follows the first one on the device
/// cudaDeviceSynchronize();
/// cudaFree(image);
/// @endcode
class CONVOLUME_API DeviceConvolver {
  public:
    /// Plans, allocates, and transforms the kernel. `image_shape` is the shape (z, y, x) of the
    /// image that Operation::convolve takes, for all operations. `kernel` is in host memory and is
    /// copied. Only the constructor waits for the device. Options::method is not used. Under
    /// NanPolicy::error images are not searched for NaN, which propagate. Throws as Convolver does,
    /// InvalidArgument if the workspace is on another device, and Unavailable if there is no such
    /// device. With several GPUs, throws Unavailable if the grid is longer than 4096 along y or
    /// than 8192 along x, or if a slab and the planes that it depends on are more than 4096 (in
    /// double precision, half of that). GPUs that do not reach each other's memory exchange planes
    /// through the host. They throw Unavailable if results depend on all planes, or if they are
    /// folded: the adjoint with a boundary that continues the image.
    DeviceConvolver(const Shape3& image_shape, const ConstImageView& kernel,
                    const Options& options = {}, const DeviceOptions& device = {});

    const Shape3& input_shape() const;   ///< returns the shape that execute() takes
    const Shape3& output_shape() const;  ///< returns the shape that execute() gives
    PixelType output_type() const;
    /// Returns the bytes of device memory that the convolver holds, beside the caller's images; of
    /// several GPUs, on the one that holds most. They include the bytes by which a shared workspace
    /// has grown for this convolver.
    index_t device_bytes() const;
    /// Returns the slabs of image and result, one for each GPU; on one GPU, all planes.
    const std::vector<DeviceSlab>& slabs() const;
    /// Returns the padded size of the transforms. With several GPUs those along z may be shorter:
    /// of a GPU's planes and the ones beside them. There are none along z on one GPU if the kernel
    /// has one plane.
    const Shape3& grid() const;

    /// Enqueues one convolution on the CUDA stream `stream` and returns: no synchronization, no
    /// allocation. Both images are in the device's memory, contiguous and in C order. `input` has
    /// input_shape() and the image type, `output` has output_shape() and output_type(), each in its
    /// storage. They may be the same memory if their sizes in bytes are equal. Executions follow
    /// one another on the device, also those from other CUDA streams and threads. Integer outputs
    /// are rounded and clamped. `images` images follow one another in memory, and so do their
    /// results; small planes of many images are convolved at once. Throws DeviceFailure.
    void execute(const void* input, void* output, DeviceStream stream = {},
                 index_t images = 1) const;
    /// As execute(), with a kernel in the device's memory, contiguous and in C order. Only for
    /// convolvers with DeviceOptions::kernel_on_device, which have no other executions.
    void execute_with_kernel(const void* input, const void* kernel, void* output,
                             DeviceStream stream = {}, index_t images = 1) const;

    /// As execute(), for several GPUs: `inputs`, `outputs` and `streams` have an element for each
    /// of slabs(), in the memory of its GPU. Slabs without planes may be null. Without streams,
    /// each GPU's default stream is used. A GPU reads and writes only its own slabs of the caller,
    /// after the earlier work on its stream. Every stream goes on when all GPUs are done, so that
    /// waiting for one stream is enough. If a GPU fails, the streams report CUDA's error.
    /// @code{.cpp}
    /// int gpus = 0;
    /// cudaGetDeviceCount(&gpus);
    /// DeviceOptions spread;
    /// if (gpus > 1) spread.devices = {0, 1};
    /// Volume mean({3, 3, 3}, PixelType::float32);
    /// std::fill_n(mean.elements<float>(), 27, 1 / 27.0F);
    /// const DeviceConvolver blur({16, 64, 64}, mean.view(), {}, spread);
    /// std::vector<const void*> inputs;
    /// std::vector<void*> outputs;
    /// for (const DeviceSlab& slab : blur.slabs()) {
    ///     void* image = nullptr;
    ///     cudaSetDevice(slab.device);
    ///     cudaMalloc(&image, slab.input_planes * 64 * 64 * sizeof(float));
    ///     cudaMemset(image, 0, slab.input_planes * 64 * 64 * sizeof(float));
    ///     inputs.push_back(image);
    ///     outputs.push_back(image);
    /// }
    /// blur.execute(inputs, outputs);
    /// cudaDeviceSynchronize();
    /// for (void* image : outputs) cudaFree(image);
    /// cudaSetDevice(0);
    /// @endcode
    void execute(std::span<const void* const> inputs, std::span<void* const> outputs,
                 std::span<const DeviceStream> streams = {}) const;
    /// As execute() for several GPUs, with a kernel in the memory of the first one.
    void execute_with_kernel(std::span<const void* const> inputs, const void* kernel,
                             std::span<void* const> outputs,
                             std::span<const DeviceStream> streams = {}) const;

  private:
    friend class WorkspaceOf;
    struct Impl;
    Hidden<Impl> impl_;
};

/// As cached_convolver(), for images in the memory of a GPU. DeviceOptions::workspace_of must be
/// empty.
CONVOLUME_API std::shared_ptr<const DeviceConvolver> cached_device_convolver(
    const Shape3& image_shape, const ConstImageView& kernel, const Options& options = {},
    const DeviceOptions& device = {});

}  // namespace convolume
