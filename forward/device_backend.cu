// SPDX-License-Identifier: Apache-2.0
#include "forward/device_backend.hpp"
#include "forward/device_model.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::forward {

namespace {

template <class T>
class OrderedModel final : public ModelOnDevice {
  public:
    OrderedModel(const ObjectGrid& object, const std::vector<View>& views,
                 const ForwardModelOptions& options, int device, index_t limit)
        : device_(device), model_(object, views, options, device, limit) {}

    index_t device_bytes() const override { return model_.device_bytes(); }
    void record(std::size_t view, const void* object, void* image, DeviceStream stream) override {
        const gpu::DeviceScope scope(device_);
        order_.run(stream.get(), [&] {
            model_.record(view, static_cast<const T*>(object), static_cast<T*>(image), stream);
        });
    }
    void add_back(std::size_t view, const void* image, void* object, DeviceStream stream) override {
        const gpu::DeviceScope scope(device_);
        order_.run(stream.get(), [&] {
            model_.add_back(view, static_cast<const T*>(image), static_cast<T*>(object), stream);
        });
    }

  private:
    int device_;
    DeviceModel<T> model_;
    gpu::StreamOrder order_;
};

std::unique_ptr<ModelOnDevice> make_model(const ObjectGrid& object, const std::vector<View>& views,
                                          const ForwardModelOptions& options, int device,
                                          std::optional<index_t> max_bytes) {
    gpu::require_device(device);
    const gpu::DeviceScope scope(device);
    const index_t limit = max_bytes.value_or(gpu::usable_device_bytes(device));
    if (options.precision == Precision::float32)
        return std::make_unique<OrderedModel<float>>(object, views, options, device, limit);
    return std::make_unique<OrderedModel<double>>(object, views, options, device, limit);
}

}  // namespace

}  // namespace convolume::forward

extern "C" constexpr convolume::forward::ForwardBackend convolume_cuda_forward = {
    .make_model = convolume::forward::make_model,
};
