// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/functors.hpp"
#include "deconvolve/views/view_arrays.hpp"
#include "forward/device_model.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

// Some of the views of a deconvolution, whose convolutions another GPU computes.
namespace convolume::deconvolve {

/// The device with the arrays of the iteration copies its object and images to the group's device,
/// and gets images and corrections back. Both work at the same time between the first call for a
/// view and finish_images() or finish_object(). `home` is a CUDA stream of the device with the
/// arrays.
class DeviceViewGroup {
  public:
    /// The group has the views from `first` on. It takes at most `limit` bytes of its device, and
    /// `home_bytes()` of the device with the arrays.
    DeviceViewGroup(int device, int home_device, const ObjectGrid& object,
                    const std::vector<View>& views, std::size_t first, index_t limit)
        : device_(device),
          first_(first),
          count_(views.size()),
          voxels_(element_count(object.shape)),
          arrived_(home_device, home_bytes(object), purpose) {
        const gpu::DeviceScope scope(device);
        index_t pixels = 0;
        for (const View& view : views) {
            firsts_.push_back(pixels);
            pixels = checked_add(pixels, element_count(view.image));
        }
        const index_t arrays =
            checked_add(bytes_of(object.shape, PixelType::float32),
                        checked_multiply(pixels, static_cast<index_t>(sizeof(float))));
        check_gpu_arrays("copies of the object and of images", arrays, limit);
        on_device_.emplace(device, voxels_, pixels);
        on_device_->model.emplace(object, views, ForwardModelOptions{}, device, limit - arrays);
        bytes_ = arrays + on_device_->model->device_bytes();
    }
    ~DeviceViewGroup() {
        try {
            const gpu::DeviceScope scope(device_);
            on_device_.reset();
        } catch (const Error&) {  // the device is lost, so no memory is left to free
        }
    }
    DeviceViewGroup(const DeviceViewGroup&) = delete;
    DeviceViewGroup& operator=(const DeviceViewGroup&) = delete;

    static index_t home_bytes(const ObjectGrid& object) {
        return bytes_of(object.shape, PixelType::float32);
    }
    index_t device_bytes() const { return bytes_; }
    Shape3 transforms() const { return on_device_->model->transforms(); }
    bool has(std::size_t view) const { return view >= first_ && view < first_ + count_; }

    /// Makes the group begin anew, whatever an execution that failed has left.
    void reset() { on_device_->is_working = false; }

    /// Enqueues the computation of a view's image of `count` pixels.
    void record(std::size_t view, const float* object, float* image, index_t count,
                cudaStream_t home) {
        const gpu::DeviceScope scope(device_);
        OnDevice& here = *on_device_;
        if (!here.is_working) {
            begin(home);
            copy(object, here.object.as<float>(), voxels_);
        }
        float* const own = image_of(view);
        here.model->record(view - first_, here.object.as<float>(), own, stream());
        copy(own, image, count);
    }
    /// Makes later work of `home` wait for the images.
    void finish_images(cudaStream_t home) { finish(home); }

    /// Enqueues the addition of the adjoint of a view, for `factor` times an image of `count`
    /// pixels.
    void add_back(std::size_t view, const float* image, float factor, index_t count,
                  cudaStream_t home) {
        const gpu::DeviceScope scope(device_);
        OnDevice& here = *on_device_;
        if (!here.is_working) {
            begin(home);
            start_loop(voxels_, ConstantFill{here.object.as<float>(), 0}, stream());
        }
        float* const own = image_of(view);
        copy(image, own, count);
        if (factor != 1) start_loop(count, ScaledPixels{own, own, {factor, 0}}, stream());
        here.model->add_back(view - first_, own, here.object.as<float>(), stream());
    }
    /// Enqueues the addition of the group's adjoints to an object on `home`.
    void finish_object(float* object, cudaStream_t home) {
        if (!on_device_->is_working) return;
        {
            const gpu::DeviceScope scope(device_);
            copy(on_device_->object.as<float>(), arrived_.as<float>(), voxels_);
        }
        finish(home);
        start_loop(voxels_, ScaledAddition{object, arrived_.as<float>(), 1}, home);
    }

  private:
    static constexpr const char* purpose = "the views of another GPU";

    struct OnDevice {
        OnDevice(int device, index_t voxels, index_t pixels)
            : object(device, voxels * index_t{sizeof(float)}, purpose),
              images(device, pixels * index_t{sizeof(float)}, purpose) {}

        gpu::CudaStream stream;
        gpu::CudaEvent done;
        gpu::DeviceMemory object;  ///< copy of the object, or sum of the adjoints
        gpu::DeviceMemory images;
        std::optional<forward::DeviceModel<float>> model;
        bool is_working = false;  ///< whether work was enqueued that `home` has not waited for
    };

    cudaStream_t stream() const { return on_device_->stream; }
    float* image_of(std::size_t view) const {
        return on_device_->images.as<float>() + firsts_[view - first_];
    }
    void copy(const float* from, float* to, index_t count) const {
        gpu::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(float),
                                   cudaMemcpyDefault, stream()),
                   "copying between GPUs");
    }
    // Makes the group wait for the work that makes its input. An event belongs to the device of the
    // CUDA stream on which it is recorded.
    void begin(cudaStream_t home) {
        ready_.record(home);
        ready_.make_wait(stream());
        on_device_->is_working = true;
    }
    void finish(cudaStream_t home) {
        if (!on_device_->is_working) return;
        {
            const gpu::DeviceScope scope(device_);
            on_device_->done.record(stream());
        }
        on_device_->done.make_wait(home);
        on_device_->is_working = false;
    }

    int device_;
    std::size_t first_, count_;
    index_t voxels_;
    std::vector<index_t> firsts_;  ///< first pixel of each view among the group's
    gpu::DeviceMemory arrived_;    ///< the group's adjoints, on the device with the arrays
    gpu::CudaEvent ready_;         ///< of the device with the arrays, current at construction
    std::optional<OnDevice> on_device_;
    index_t bytes_ = 0;
};

}  // namespace convolume::deconvolve
