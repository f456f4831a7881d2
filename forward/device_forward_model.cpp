// SPDX-License-Identifier: Apache-2.0
#include "convolume/device_forward_model.hpp"

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "forward/device_backend.hpp"
#include "forward/planned_view.hpp"

#if CONVOLUME_HAVE_CUDA
// A weak reference: null if the linker has left the CUDA part out.
extern "C" [[gnu::weak]] const convolume::forward::ForwardBackend convolume_cuda_forward;
#endif

namespace convolume {

namespace {

const forward::ForwardBackend& require_forward_backend() {
    const forward::ForwardBackend* backend = nullptr;
#if CONVOLUME_HAVE_CUDA
    backend = &convolume_cuda_forward;
#endif
    if (backend == nullptr)
        throw GpuUnavailable("this program was built without CUDA: link convolume::cuda");
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    return *backend;
}

}  // namespace

struct DeviceForwardModel::Impl {
    ObjectGrid object;
    std::vector<Shape3> images;
    std::unique_ptr<forward::ModelOnDevice> model;

    const Shape3& image(std::size_t view) const {
        forward::check_number(view, images.size());
        return images[view];
    }
    forward::ModelOnDevice& checked(std::size_t view, const void* from, const void* to) const {
        static_cast<void>(image(view));
        if (from == nullptr || to == nullptr)
            throw InvalidArgument(
                "an object or an image is null: give addresses in the GPU's "
                "memory");
        return *model;
    }
};

DeviceForwardModel::DeviceForwardModel(const ObjectGrid& object, const std::vector<View>& views,
                                       const ForwardModelOptions& options, int device,
                                       std::optional<index_t> max_gpu_bytes)
    : impl_(std::make_unique<Impl>()) {
    forward::check_model(object, views);
    impl_->object = object;
    for (const View& view : views) impl_->images.push_back(view.image);
    impl_->model =
        require_forward_backend().make_model(object, views, options, device, max_gpu_bytes);
}

const ObjectGrid& DeviceForwardModel::object() const {
    return impl_->object;
}
std::size_t DeviceForwardModel::views() const {
    return impl_->images.size();
}
const Shape3& DeviceForwardModel::image(std::size_t view) const {
    return impl_->image(view);
}
index_t DeviceForwardModel::device_bytes() const {
    return impl_->model->device_bytes();
}

void DeviceForwardModel::record(std::size_t view, const void* object, void* image,
                                DeviceStream stream) const {
    impl_->checked(view, object, image).record(view, object, image, stream);
}

void DeviceForwardModel::add_back(std::size_t view, const void* image, void* object,
                                  DeviceStream stream) const {
    impl_->checked(view, image, object).add_back(view, image, object, stream);
}

}  // namespace convolume
