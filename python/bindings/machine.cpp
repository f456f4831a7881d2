// SPDX-License-Identifier: Apache-2.0
// Binds the choice of devices, and the GPUs of this machine.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "convolume/cache.hpp"
#include "convolume/engines.hpp"

namespace convolume::python {

nb::object to_numpy(Volume volume) {
    auto* const kept = new Volume(std::move(volume));
    const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<Volume*>(data); });
    const ImageView pixels = kept->view();
    const std::size_t shape[3] = {static_cast<std::size_t>(pixels.shape.z),
                                  static_cast<std::size_t>(pixels.shape.y),
                                  static_cast<std::size_t>(pixels.shape.x)};
    return visit_pixel_type(pixels.type, [&](auto tag) -> nb::object {
        using Sample = typename decltype(tag)::type;
        return nb::cast(nb::ndarray<nb::numpy, Sample>(pixels.data, 3, shape, owner));
    });
}

void bind_plan_cache(nb::module_& module) {
    module.def(
        "plan_cache_info",
        [] {
            const PlanCacheInfo info = plan_cache_info();
            nb::dict facts;
            facts["plans"] = info.plans;
            facts["host_bytes"] = info.host_bytes;
            facts["gpu_bytes"] = info.gpu_bytes;
            facts["max_host_mem"] = info.limits.host_bytes;
            facts["max_gpu_mem"] = info.limits.gpu_bytes;
            facts["hits"] = info.hits;
            facts["misses"] = info.misses;
            return facts;
        },
        "Returns the content of the cache of plans.");
    module.def(
        "limit_plan_cache",
        [](std::optional<index_t> host, std::optional<index_t> gpu) {
            const nb::gil_scoped_release released;
            limit_plan_cache(host, gpu);
        },
        "Sets the limits of the cache of plans; None leaves one as it is.",
        "max_host_mem"_a = nb::none(), "max_gpu_mem"_a = nb::none());
    module.def(
        "clear_plan_cache",
        [] {
            const nb::gil_scoped_release released;
            clear_plan_cache();
        },
        "Drops all plans of the cache.");
}

void bind_machine(nb::module_& module) {
    bind_plan_cache(module);
    bind_options<EngineChoice>(module, "Engines");

    nb::class_<GpuDevice>(module, "GpuDevice", "A GPU of this machine.")
        .def_ro("number", &GpuDevice::number)
        .def_ro("name", &GpuDevice::name)
        .def_ro("usable", &GpuDevice::usable)
        .def_ro("memory_bytes", &GpuDevice::memory_bytes)
        .def_ro("free_bytes", &GpuDevice::free_bytes);
    module.def(
        "parse_devices",
        [](const std::string& text) {
            EngineChoice engines;
            set_devices(engines, text);
            return nb::make_tuple(to_string(engines.device), engines.gpus);
        },
        "Returns \"auto\", \"cpu\" or \"gpu\", and the numbers of the GPUs that the text names.");
    module.def("gpu_devices", &gpu_devices, "Returns the GPUs of this machine.");
    module.def("gpu_unavailable", &gpu_unavailable,
               "Returns why no GPU can be used, in one sentence; empty if one can.");
    module.def(
        "convert",
        [](const ReadArray& from, const WriteArray& to) {
            const ClampCount clamped = convert_pixels(view(from), view(to));
            return nb::make_tuple(clamped.low, clamped.high);
        },
        "Copies an array into one of another type: integers are rounded and clamped. Returns the "
        "numbers of values below and above the type's range; NaN, which becomes 0, is below.",
        "source"_a, "target"_a);
    module.def("host_limit_bytes", &host_limit_bytes,
               "Returns a limit of host memory: the one that was chosen, or three quarters of what "
               "this process may still take.",
               "chosen"_a.none());
    module.def("parse_byte_size", [](const std::string& text) { return parse_byte_size(text); });
}

}  // namespace convolume::python
