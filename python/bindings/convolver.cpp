// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/released.hpp"

namespace convolume::python {

namespace {

void make_options(Options* self, const std::string& mode, const std::string& boundary,
                  const std::string& operation, const std::string& center,
                  const std::string& normalization, const std::string& precision,
                  const std::string& nan, const std::string& method, int parts,
                  std::optional<index_t> max_host_bytes, std::optional<index_t> executions) {
    new (self) Options;
    self->mode = parse_mode(mode);
    self->boundary = parse_boundary(boundary);
    self->operation = parse_operation(operation);
    self->center = parse_kernel_center(center);
    self->normalization = parse_kernel_normalization(normalization);
    self->precision = parse_precision(precision);
    self->nan = parse_nan_policy(nan);
    self->method = parse_method(method);
    self->parts = parts;
    self->max_host_bytes = max_host_bytes;
    self->expected_executions = executions;
}

/// A convolver, and what it was predicted to take.
struct PlannedConvolver {
    Convolver convolver;
    double seconds;
};

void make_convolver(PlannedConvolver* self, const Triple& shape, const ReadArray& kernel,
                    const Options& options, const EngineChoice& engines,
                    const std::string& image_type, const std::string& output_type) {
    const ConstImageView taps = view(kernel);
    const PixelType in = parse_pixel_type(image_type), out = parse_pixel_type(output_type);
    plan_released([&] {
        Convolver convolver(index3(shape), taps, options, engines, in, out);
        const double seconds = convolver.plan().chosen.seconds;
        new (self) PlannedConvolver{std::move(convolver), seconds};
    });
}

}  // namespace

void bind_convolver(nb::module_& module) {
    nb::class_<Options>(module, "Options")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("mode") = "same",
             nb::arg("boundary") = "zero", nb::arg("operation") = "convolve",
             nb::arg("center") = "middle", nb::arg("normalization") = "none",
             nb::arg("precision") = "float32", nb::arg("nan") = "error", nb::arg("method") = "auto",
             nb::arg("parts") = 0, nb::arg("max_host_bytes") = nb::none(),
             nb::arg("executions") = nb::none());

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
        .def_prop_ro("natural_type",
                     [](const PlannedConvolver& self) {
                         return to_string(self.convolver.natural_output_type());
                     })
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
        "kernel_peak", [](const ReadArray& kernel) { return triple(kernel_peak(view(kernel))); },
        nb::arg("kernel"));
}

}  // namespace convolume::python
