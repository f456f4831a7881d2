// SPDX-License-Identifier: Apache-2.0

#include <optional>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/device_array_memory.cuh"
#include "deconvolve/executors/gpu_runner.cuh"
#include "deconvolve/views/view_arrays.hpp"
#include "forward/device_model.hpp"

// The runner of several views whose arrays stay in the memory of one GPU.
namespace convolume::deconvolve {

namespace {

class DeviceViews : public DeviceArrayMemory {
  public:
    /// The model is kept by reference. Images have at most `pixels` pixels.
    DeviceViews(int device, const DeconvolutionProblem& problem,
                const forward::DeviceModel<float>& model, index_t pixels, int threads)
        : DeviceArrayMemory(device, problem, threads),
          model_(model),
          voxels_(element_count(problem.object)),
          scaled_(device, pixels * index_t{sizeof(float)}, "the image of a view") {}

    index_t voxels() const { return voxels_; }
    float* scaled_image() const { return scaled_.as<float>(); }
    void record(std::size_t view, const float* object, float* image) const {
        model_.record(view, object, image, stream());
    }
    void add_back(std::size_t view, const float* image, float* object) const {
        model_.add_back(view, image, object, stream());
    }

  private:
    const forward::DeviceModel<float>& model_;
    index_t voxels_;
    gpu::DeviceMemory scaled_;
};

class ViewRunner final : public GpuRunner {
  public:
    ViewRunner(const DeconvolutionProblem& problem, const DeviceChoice& choice,
               const ObjectGrid& object, const std::vector<View>& views, const ViewScales& scales)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        const index_t limit = choice.limit_bytes(device_);
        const index_t pixels = scales.largest();
        const index_t arrays = checked_add(
            array_bytes(problem), checked_multiply(pixels, static_cast<index_t>(sizeof(float))));
        check_gpu_arrays("the arrays", arrays, limit);
        model_.emplace(object, views, ForwardModelOptions{}, device_, limit - arrays);
        arrays_.emplace(scales, device_, problem, *model_, pixels, choice.threads);
        plan_.grid = model_->transforms();
        plan_.array_bytes = array_bytes(problem);
        plan_.device_bytes = arrays + model_->device_bytes();
    }
    ~ViewRunner() override {
        free_on_device(arrays_);
        free_on_device(model_);
    }

  private:
    Executor& executor(const DeconvolutionProblem& problem) override {
        return executor_.emplace(*arrays_, problem);
    }

    std::optional<forward::DeviceModel<float>> model_;
    std::optional<ViewArrays<DeviceViews>> arrays_;
    std::optional<ArrayExecutor<ViewArrays<DeviceViews>>> executor_;
};

}  // namespace

std::unique_ptr<Runner> make_view_runner(const DeconvolutionProblem& problem, const GpuChoice& gpus,
                                         const ObjectGrid& object, const std::vector<View>& views,
                                         const ViewScales& scales) {
    return std::make_unique<ViewRunner>(problem, static_cast<const DeviceChoice&>(gpus), object,
                                        views, scales);
}

}  // namespace convolume::deconvolve
