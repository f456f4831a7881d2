// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/device.hpp"

namespace convolume::python {

namespace {

/// A convolver with the predicted seconds of one execution.
struct PlannedConvolver {
    Convolver convolver;
    double seconds;
};

void make_convolver(PlannedConvolver* self, const Triple& shape, const ReadArray& kernel,
                    const Options& options, const EngineChoice& engines, PixelType image_type,
                    PixelType output_type) {
    const ConstImageView taps = view(kernel);
    plan_released([&] {
        Convolver convolver(index3(shape), taps, options, engines, image_type, output_type);
        const double seconds = convolver.plan().chosen.seconds;
        new (self) PlannedConvolver{std::move(convolver), seconds};
    });
}

void bind_device_convolver(nb::module_& module) {
    nb::class_<DeviceConvolver>(module, "DeviceConvolver")
        .def(
            "__init__",
            [](DeviceConvolver* self, const Triple& shape, const ReadArray& kernel,
               const Options& options, int device, PixelType image_type,
               std::optional<index_t> max_gpu_bytes) {
                const ConstImageView taps = view(kernel);
                DeviceOptions where;
                where.device = device;
                where.image_type = image_type;
                where.max_gpu_bytes = max_gpu_bytes;
                const nb::gil_scoped_release released;
                new (self) DeviceConvolver(index3(shape), taps, options, where);
            },
            nb::arg("shape"), nb::arg("kernel"), nb::arg("options"), nb::arg("device"),
            nb::arg("image_type"), nb::arg("max_gpu_bytes") = nb::none())
        .def_prop_ro("output_shape",
                     [](const DeviceConvolver& self) { return triple(self.output_shape()); })
        .def_prop_ro("output_type", [](const DeviceConvolver& self) { return self.output_type(); })
        .def_prop_ro("device_bytes", &DeviceConvolver::device_bytes)
        .def(
            "execute",
            [](const DeviceConvolver& self, std::uintptr_t image, std::uintptr_t out,
               std::uintptr_t stream) {
                const nb::gil_scoped_release released;
                self.execute(pointer<const void>(image), pointer<void>(out),
                             DeviceStream(pointer<CUstream_st>(stream)));
            },
            nb::arg("image"), nb::arg("out"), nb::arg("stream"));
}

}  // namespace

void bind_convolver(nb::module_& module) {
    bind_options<Options>(module, "Options");

    nb::class_<ExecutionReport>(module, "ExecutionReport")
        .def_ro("clamped_low", &ExecutionReport::clamped_low)
        .def_ro("clamped_high", &ExecutionReport::clamped_high)
        .def_ro("nonfinite_inputs", &ExecutionReport::nonfinite_inputs);

    nb::class_<PlannedConvolver>(module, "Convolver")
        .def("__init__", &make_convolver, nb::arg("shape"), nb::arg("kernel"), nb::arg("options"),
             nb::arg("engines"), nb::arg("image_type"), nb::arg("output_type"))
        .def_prop_ro(
            "input_shape",
            [](const PlannedConvolver& self) { return triple(self.convolver.input_shape()); })
        .def_prop_ro(
            "output_shape",
            [](const PlannedConvolver& self) { return triple(self.convolver.output_shape()); })
        .def_prop_ro(
            "natural_type",
            [](const PlannedConvolver& self) { return self.convolver.natural_output_type(); })
        .def_prop_ro("kernel_sum",
                     [](const PlannedConvolver& self) { return self.convolver.kernel_sum(); })
        .def_prop_ro("plan_text",
                     [](const PlannedConvolver& self) { return self.convolver.plan().to_string(); })
        .def_prop_ro("plan_json",
                     [](const PlannedConvolver& self) { return self.convolver.plan().to_json(); })
        .def(
            "execute",
            [](const PlannedConvolver& self, const ReadArray& image, const WriteArray& out,
               const nb::object& progress) {
                const ConstImageView from = view(image);
                const ImageView to = view(out);
                ExecutionReport report;
                run_released(self.seconds, progress, [&](const ExecutionContext& context) {
                    report = self.convolver.execute(from, to, context);
                });
                return report;
            },
            nb::arg("image"), nb::arg("out"), nb::arg("progress") = nb::none());

    module.def(
        "convolve_small",
        [](const ReadArray& image, const ReadArray& kernel, const Options& options,
           const WriteArray& out) {
            return convolve_small(view(image), view(kernel), options, view(out)).has_value();
        },
        "Convolves a small image without a plan. Returns False if it is too large for that.",
        nb::arg("image"), nb::arg("kernel"), nb::arg("options"), nb::arg("out"));
    module.def(
        "kernel_peak", [](const ReadArray& kernel) { return triple(kernel_peak(view(kernel))); },
        nb::arg("kernel"));
    module.def(
        "center_index",
        [](const Options& options, const ReadArray& kernel) {
            return triple(center_index(options.center, view(kernel)));
        },
        "Returns the sample of a kernel that stands for no shift, by the origin of the options.",
        nb::arg("options"), nb::arg("kernel"));
    bind_device_convolver(module);
}

}  // namespace convolume::python
