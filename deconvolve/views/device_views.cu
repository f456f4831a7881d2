// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/device_array_memory.cuh"
#include "deconvolve/executors/gpu_runner.cuh"
#include "deconvolve/views/device_view_group.cuh"
#include "deconvolve/views/view_arrays.hpp"
#include "forward/device_model.hpp"
#include "gpu/runtime/peer_memory.hpp"

// The runner of several views whose arrays stay in the memory of one GPU. Others may share the
// convolutions.
namespace convolume::deconvolve {

namespace {

class DeviceViews : public DeviceArrayMemory {
  public:
    using Groups = std::vector<std::unique_ptr<DeviceViewGroup>>;

    /// Model, groups and scales are kept by reference. The views of the groups come first, so that
    /// other GPUs have work before this one, and the model has the others.
    DeviceViews(int device, const DeconvolutionProblem& problem,
                const forward::DeviceModel<float>& model, std::size_t in_groups,
                const Groups& groups, const ViewScales& scales, int threads)
        : DeviceArrayMemory(device, problem, threads),
          model_(model),
          in_groups_(in_groups),
          groups_(groups),
          scales_(scales),
          voxels_(element_count(problem.object)),
          scaled_(device, scales.largest() * index_t{sizeof(float)}, "the image of a view") {}

    index_t voxels() const { return voxels_; }
    void record(std::size_t view, const float* object, float* image) const {
        if (DeviceViewGroup* const group = group_of(view))
            group->record(view, object, image, scales_.count(view), stream());
        else
            model_.record(view - in_groups_, object, image, stream());
    }
    void finish_images() const {
        for (const auto& group : groups_) group->finish_images(stream());
    }
    void add_back(std::size_t view, const float* image, float factor, float* object) const {
        // A back projector behind the views has the pixels of its view.
        const index_t count = scales_.count(view % scales_.views());
        if (DeviceViewGroup* const group = group_of(view))
            return group->add_back(view, image, factor, count, stream());
        if (factor != 1) {
            for_each(count, ScaledPixels{image, scaled_.as<float>(), {factor, 0}});
            image = scaled_.as<float>();
        }
        model_.add_back(view - in_groups_, image, object, stream());
    }
    void finish_object(float* object) const {
        for (const auto& group : groups_) group->finish_object(object, stream());
    }

  private:
    DeviceViewGroup* group_of(std::size_t view) const {
        for (const auto& group : groups_)
            if (group->has(view)) return group.get();
        return nullptr;
    }

    const forward::DeviceModel<float>& model_;
    std::size_t in_groups_;
    const Groups& groups_;
    const ViewScales& scales_;
    index_t voxels_;
    gpu::DeviceMemory scaled_;
};

class ViewRunner final : public GpuRunner {
  public:
    ViewRunner(const DeconvolutionProblem& problem, const DeviceChoice& choice,
               const ObjectGrid& object, const std::vector<View>& views, const ViewScales& scales)
        : GpuRunner(problem, choice.devices.front()) {
        const gpu::DeviceScope scope(device_);
        const std::vector<int> devices = devices_for(problem, choice, views.size());
        std::vector<index_t> limits;  // before any memory is taken
        for (const int device : devices) limits.push_back(choice.limit_bytes(device));
        const index_t pixels = scales.largest();
        const auto further = static_cast<index_t>(devices.size()) - 1;
        const index_t arrays =
            checked_add(checked_add(array_bytes(problem),
                                    checked_multiply(further, DeviceViewGroup::home_bytes(object))),
                        checked_multiply(pixels, static_cast<index_t>(sizeof(float))));
        check_gpu_arrays("the arrays", arrays, limits.front());
        std::size_t in_groups = 0;
        if (further > 0) gpu::enable_peer_access(devices);
        for (std::size_t d = devices.size() - 1; d > 0; --d) {
            const std::size_t end = views.size() * (devices.size() - d) / devices.size();
            const auto at = [&](std::size_t v) {
                return views.begin() + static_cast<std::ptrdiff_t>(v);
            };
            groups_.push_back(std::make_unique<DeviceViewGroup>(
                devices[d], device_, object, std::vector<View>(at(in_groups), at(end)), in_groups,
                limits[d]));
            in_groups = end;
        }
        const std::vector<View> own(views.begin() + static_cast<std::ptrdiff_t>(in_groups),
                                    views.end());
        model_.emplace(object, own, ForwardModelOptions{}, device_, limits.front() - arrays);
        arrays_.emplace(scales, device_, problem, *model_, in_groups, groups_, scales,
                        choice.threads);
        plan_.grid = model_->transforms();
        plan_.array_bytes = array_bytes(problem);
        plan_.device_bytes = arrays + model_->device_bytes();
        index_t elsewhere = 0;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            forward::extend_to(plan_.grid, groups_[g]->transforms());
            const bool is_here = devices[devices.size() - 1 - g] == device_;
            index_t& bytes = is_here ? plan_.device_bytes : elsewhere;
            bytes = is_here ? checked_add(bytes, groups_[g]->device_bytes())
                            : std::max(bytes, groups_[g]->device_bytes());
        }
        plan_.device_bytes = std::max(plan_.device_bytes, elsewhere);
        for (std::size_t d = 1; d < devices.size(); ++d)
            plan_.engines += message(" gpu:", devices[d]);
    }
    ~ViewRunner() override {
        groups_.clear();  // waits for their work on the arrays
        free_on_device(arrays_);
        free_on_device(model_);
    }

  private:
    Executor& executor(const DeconvolutionProblem& problem) override {
        for (const auto& group : groups_) group->reset();
        return executor_.emplace(*arrays_, problem);
    }

  public:
    // Returns the devices that compute. The first one has the arrays. Updates by one view after the
    // other leave nothing to do for a further GPU.
    static std::vector<int> devices_for(const DeconvolutionProblem& problem,
                                        const DeviceChoice& choice, std::size_t views) {
        std::vector<int> devices = choice.devices;
        devices.resize(choice.named && problem.parts == 1 ? std::min(devices.size(), views) : 1);
        return devices;
    }

  private:
    DeviceViews::Groups groups_;
    std::optional<forward::DeviceModel<float>> model_;
    std::optional<ViewArrays<DeviceViews>> arrays_;
    std::optional<ArrayExecutor<ViewArrays<DeviceViews>>> executor_;
};

}  // namespace

std::unique_ptr<Runner> make_view_runner(const DeconvolutionProblem& problem, const GpuChoice& gpus,
                                         const ObjectGrid& object, const std::vector<View>& views,
                                         const ViewScales& scales) {
    DeviceChoice choice = static_cast<const DeviceChoice&>(gpus);
    // A further GPU whose memory is full does not keep the others from computing.
    for (;;) {
        try {
            return std::make_unique<ViewRunner>(problem, choice, object, views, scales);
        } catch (const OutOfMemory&) {
            choice.devices = ViewRunner::devices_for(problem, choice, views.size());
            if (choice.devices.size() == 1) throw;
            choice.devices.pop_back();
        }
    }
}

}  // namespace convolume::deconvolve
