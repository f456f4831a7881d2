// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/cache.hpp"
#include "convolume/device.hpp"

namespace convolume::python {

namespace {

/// A convolver with the predicted seconds of one execution.
struct PlannedConvolver {
    std::shared_ptr<Convolver> own;  ///< null for one of the cache
    std::shared_ptr<const Convolver> shared;
    double seconds;

    explicit PlannedConvolver(std::shared_ptr<const Convolver> made)
        : shared(std::move(made)), seconds(shared->plan().chosen.seconds) {}
    explicit PlannedConvolver(std::shared_ptr<Convolver> made)
        : PlannedConvolver(std::shared_ptr<const Convolver>(made)) {
        own = std::move(made);
    }
    const Convolver& convolver() const { return *shared; }
};

void make_convolver(PlannedConvolver* self, const Triple& shape, const ReadArray& kernel,
                    const Options& options, const EngineChoice& engines, PixelType image_type,
                    PixelType output_type) {
    const ConstImageView taps = view(kernel);
    plan_released([&] {
        new (self) PlannedConvolver(std::make_shared<Convolver>(index3(shape), taps, options,
                                                                engines, image_type, output_type));
    });
}

void replace_kernel(const PlannedConvolver& planned, const ReadArray& kernel) {
    if (!planned.own) throw InternalError("a kernel of the cache of plans is not replaced");
    const ConstImageView taps = view(kernel);
    const nb::gil_scoped_release released;
    planned.own->replace_kernel(taps);
}

ExecutionReport execute(const PlannedConvolver& planned, const ReadArray& image,
                        const WriteArray& out, const nb::object& progress) {
    const ConstImageView from = view(image);
    const ImageView to = view(out);
    ExecutionReport report;
    run_released(planned.seconds, progress, [&](const ExecutionContext& context) {
        report = planned.convolver().execute(from, to, context);
    });
    return report;
}

/// Convolutions with equal shapes, types and options. Their plans come from the cache.
struct CachedConvolution {
    Shape3 shape;
    Options options;
    EngineChoice engines;
    PixelType image_type, output_type;

    PlannedConvolver convolver(const ReadArray& kernel) const {
        const ConstImageView taps = view(kernel);
        std::shared_ptr<const Convolver> found;
        const auto find = [&] {
            found = cached_convolver(shape, taps, options, engines, image_type, output_type);
        };
        // Only kernels of many taps take so long to plan that Ctrl-C has to stop it.
        constexpr index_t many_taps = 1 << 16;
        if (element_count(taps.shape) >= many_taps) {
            plan_released(find);
        } else {
            const nb::gil_scoped_release released;
            find();
        }
        return PlannedConvolver(std::move(found));
    }
};

void bind_cached_convolution(nb::module_& module) {
    nb::class_<CachedConvolution>(module, "CachedConvolution",
                                  "Convolutions with equal shapes, types and options.")
        .def(
            "__init__",
            [](CachedConvolution* self, const Triple& shape, const Options& options,
               const EngineChoice& engines, PixelType image_type, PixelType output_type) {
                new (self)
                    CachedConvolution{index3(shape), options, engines, image_type, output_type};
            },
            "shape"_a, "options"_a, "engines"_a, "image_type"_a, "output_type"_a)
        .def("convolver", &CachedConvolution::convolver,
             "Returns a Convolver from the cache of plans.", "kernel"_a)
        .def(
            "execute",
            [](const CachedConvolution& self, const ReadArray& image, const ReadArray& kernel,
               const WriteArray& out) {
                return execute(self.convolver(kernel), image, out, nb::none());
            },
            "Convolves an image by a plan of the cache.", "image"_a, "kernel"_a, "out"_a);
}

DeviceOptions device_options(int device, PixelType image_type,
                             std::optional<index_t> max_gpu_bytes) {
    DeviceOptions where;
    where.device = device;
    where.image_type = image_type;
    where.max_gpu_bytes = max_gpu_bytes;
    return where;
}

/// Addresses as Python has them, or numbers of planes.
using Addresses = std::vector<std::uintptr_t>;

void execute_slabs(const DeviceConvolver& self, const Addresses& images, const Addresses& outs,
                   const Addresses& streams) {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<DeviceStream> on;
    for (const std::uintptr_t image : images) inputs.push_back(pointer<const void>(image));
    for (const std::uintptr_t out : outs) outputs.push_back(pointer<void>(out));
    for (const std::uintptr_t stream : streams) on.emplace_back(pointer<CUstream_st>(stream));
    const nb::gil_scoped_release released;
    self.execute(inputs, outputs, on);
}

void bind_slab_convolver(nb::module_& module) {
    module.def(
        "slab_convolver",
        [](const Triple& shape, const ReadArray& kernel, const Options& options,
           const std::vector<int>& devices, const std::vector<index_t>& input_planes,
           const std::vector<index_t>& output_planes, PixelType image_type,
           std::optional<index_t> max_gpu_bytes, bool from_cache) {
            const ConstImageView taps = view(kernel);
            const nb::gil_scoped_release released;
            DeviceOptions where = device_options(0, image_type, max_gpu_bytes);
            where.devices = devices;
            where.input_planes = input_planes;
            where.output_planes = output_planes;
            const std::shared_ptr<const DeviceConvolver> made =
                from_cache
                    ? cached_device_convolver(index3(shape), taps, options, where)
                    : std::make_shared<const DeviceConvolver>(index3(shape), taps, options, where);
            return std::const_pointer_cast<DeviceConvolver>(made);
        },
        "Returns a DeviceConvolver of slabs in the memory of several GPUs.", "shape"_a, "kernel"_a,
        "options"_a, "devices"_a, "input_planes"_a, "output_planes"_a, "image_type"_a,
        "max_gpu_bytes"_a, "from_cache"_a);
}

void bind_device_convolver(nb::module_& module) {
    nb::class_<DeviceConvolver>(module, "DeviceConvolver")
        .def(
            "__init__",
            [](DeviceConvolver* self, const Triple& shape, const ReadArray& kernel,
               const Options& options, int device, PixelType image_type,
               std::optional<index_t> max_gpu_bytes, const std::string& image_storage,
               const std::string& output_storage) {
                const ConstImageView taps = view(kernel);
                DeviceOptions where = device_options(device, image_type, max_gpu_bytes);
                where.image_storage = parse_sample_storage(image_storage);
                where.output_storage = parse_sample_storage(output_storage);
                const nb::gil_scoped_release released;
                new (self) DeviceConvolver(index3(shape), taps, options, where);
            },
            "shape"_a, "kernel"_a, "options"_a, "device"_a, "image_type"_a,
            "max_gpu_bytes"_a = nb::none(), "image_storage"_a = "plain",
            "output_storage"_a = "plain")
        .def_prop_ro("output_shape",
                     [](const DeviceConvolver& self) { return triple(self.output_shape()); })
        .def_prop_ro("output_type", [](const DeviceConvolver& self) { return self.output_type(); })
        .def(
            "execute",
            [](const DeviceConvolver& self, std::uintptr_t image, std::uintptr_t out,
               std::uintptr_t stream, std::uintptr_t kernel, index_t images) {
                const nb::gil_scoped_release released;
                const DeviceStream on(pointer<CUstream_st>(stream));
                if (kernel == 0)
                    self.execute(pointer<const void>(image), pointer<void>(out), on, images);
                else
                    self.execute_with_kernel(pointer<const void>(image),
                                             pointer<const void>(kernel), pointer<void>(out), on,
                                             images);
            },
            "image"_a, "out"_a, "stream"_a, "kernel"_a = 0, "images"_a = 1)
        .def_prop_ro("output_planes",
                     [](const DeviceConvolver& self) {
                         std::vector<index_t> planes;
                         for (const DeviceSlab& slab : self.slabs())
                             planes.push_back(slab.output_planes);
                         return planes;
                     })
        .def("execute_slabs", &execute_slabs, "images"_a, "outs"_a, "streams"_a);
    module.def(
        "cached_device_convolver_without_kernel",
        [](const Triple& shape, const Triple& kernel_shape, PixelType kernel_type,
           const Options& options, int device, PixelType image_type,
           std::optional<index_t> max_gpu_bytes) {
            const nb::gil_scoped_release released;
            DeviceOptions where = device_options(device, image_type, max_gpu_bytes);
            where.kernel_on_device = true;
            const ImageView taps{nullptr, kernel_type, index3(kernel_shape),
                                 contiguous_strides(index3(kernel_shape))};
            return std::const_pointer_cast<DeviceConvolver>(
                cached_device_convolver(index3(shape), taps, options, where));
        },
        "Returns a DeviceConvolver from the cache of plans that gets its kernel with each call.",
        "shape"_a, "kernel_shape"_a, "kernel_type"_a, "options"_a, "device"_a, "image_type"_a,
        "max_gpu_bytes"_a = nb::none());
    module.def(
        "cached_device_convolver",
        [](const Triple& shape, const ReadArray& kernel, const Options& options, int device,
           PixelType image_type, std::optional<index_t> max_gpu_bytes) {
            const ConstImageView taps = view(kernel);
            const nb::gil_scoped_release released;
            return std::const_pointer_cast<DeviceConvolver>(cached_device_convolver(
                index3(shape), taps, options, device_options(device, image_type, max_gpu_bytes)));
        },
        "Returns a DeviceConvolver from the cache of plans.", "shape"_a, "kernel"_a, "options"_a,
        "device"_a, "image_type"_a, "max_gpu_bytes"_a = nb::none());
}

}  // namespace

void bind_convolver(nb::module_& module) {
    bind_options<Options>(module, "Options");

    nb::class_<ExecutionReport>(module, "ExecutionReport")
        .def_ro("clamped_low", &ExecutionReport::clamped_low)
        .def_ro("clamped_high", &ExecutionReport::clamped_high)
        .def_ro("nonfinite_inputs", &ExecutionReport::nonfinite_inputs);

    nb::class_<PlannedConvolver>(module, "Convolver")
        .def("__init__", &make_convolver, "shape"_a, "kernel"_a, "options"_a, "engines"_a,
             "image_type"_a, "output_type"_a)
        .def_prop_ro(
            "input_shape",
            [](const PlannedConvolver& self) { return triple(self.convolver().input_shape()); })
        .def_prop_ro(
            "output_shape",
            [](const PlannedConvolver& self) { return triple(self.convolver().output_shape()); })
        .def_prop_ro(
            "natural_type",
            [](const PlannedConvolver& self) { return self.convolver().natural_output_type(); })
        .def_prop_ro(
            "plan_text",
            [](const PlannedConvolver& self) { return self.convolver().plan().to_string(); })
        .def_prop_ro("plan_json",
                     [](const PlannedConvolver& self) { return self.convolver().plan().to_json(); })
        .def("execute", &execute, "image"_a, "out"_a, "progress"_a = nb::none())
        .def("replace_kernel", &replace_kernel, "kernel"_a);
    bind_cached_convolution(module);

    module.attr("most_small_products") = most_small_products;
    module.def(
        "convolve_small",
        [](const ReadArray& image, const ReadArray& kernel, const Options& options,
           const WriteArray& out) {
            return convolve_small(view(image), view(kernel), options, view(out)).has_value();
        },
        "Convolves a small image without a plan. Returns False if it is too large for that.",
        "image"_a, "kernel"_a, "options"_a, "out"_a);
    module.def(
        "center_index",
        [](const Options& options, const ReadArray& kernel) {
            return triple(center_index(options.center, view(kernel)));
        },
        "Returns the sample of a kernel that stands for no shift, by the origin of the options.",
        "options"_a, "kernel"_a);
    bind_device_convolver(module);
    bind_slab_convolver(module);
}

}  // namespace convolume::python
