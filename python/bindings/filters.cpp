// SPDX-License-Identifier: Apache-2.0
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/released.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::python {

namespace {

void make_options(FilterOptions* self, const std::string& mode,
                  std::optional<std::array<index_t, 2>> span, const std::string& origin,
                  const std::string& precision, const std::string& nan, const std::string& post,
                  const std::string& window, const std::string& method, index_t segment) {
    new (self) FilterOptions;
    self->mode = parse_mode(mode);
    if (span) self->range = SampleRange{(*span)[0], (*span)[1]};
    self->origin = parse_filter_origin(origin);
    self->precision = parse_precision(precision);
    self->nan = parse_nan_policy(nan);
    self->post = parse_point_post(post);
    self->window = parse_window_post(window);
    self->method = parse_filter_method(method);
    self->segment = segment;
}

}  // namespace

void bind_filters(nb::module_& module) {
    nb::class_<FilterOptions>(module, "FilterOptions")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("mode") = "same",
             nb::arg("span") = nb::none(), nb::arg("origin") = "center",
             nb::arg("precision") = "float32", nb::arg("nan") = "error", nb::arg("post") = "none",
             nb::arg("window") = "none", nb::arg("method") = "auto", nb::arg("segment") = 0);

    nb::class_<FilterBank>(module, "FilterBank")
        .def(
            "__init__",
            [](FilterBank* self, index_t signals, index_t samples,
               const std::vector<ReadArray>& filters, const FilterOptions& options,
               const EngineChoice& engines, const std::string& signal_type) {
                const std::vector<ConstImageView> bank = views(filters);
                const PixelType type = parse_pixel_type(signal_type);
                plan_released([&] {
                    new (self)
                        FilterBank(SignalShape{signals, samples}, bank, options, engines, type);
                });
            },
            nb::arg("signals"), nb::arg("samples"), nb::arg("filters"), nb::arg("options"),
            nb::arg("engines"), nb::arg("signal_type"))
        .def_prop_ro("filters", &FilterBank::filters)
        .def_prop_ro("taps", &FilterBank::taps)
        .def_prop_ro("origin", &FilterBank::origin)
        .def_prop_ro("result_samples", &FilterBank::result_samples)
        .def_prop_ro("result_type",
                     [](const FilterBank& self) { return to_string(self.result_type()); })
        .def_prop_ro("first_sample", [](const FilterBank& self) { return self.range().begin; })
        .def_prop_ro("plan",
                     [](const FilterBank& self) {
                         const FilterPlan plan = self.plan();
                         return nb::make_tuple(to_string(plan.method), plan.segment, plan.engine,
                                               plan.seconds, plan.to_string());
                     })
        .def(
            "execute",
            [](const FilterBank& self, const ReadArray& signals, const WriteArray& results,
               std::optional<nb::ndarray<index_t, nb::c_contig, nb::device::cpu>> positions,
               const nb::object& progress) {
                const ConstImageView from = view(signals);
                const ImageView to = view(results);
                index_t* const peaks = positions ? positions->data() : nullptr;
                run_released(self.plan().seconds, progress, [&](const ExecutionContext& context) {
                    self.execute(from, to, peaks, context);
                });
            },
            nb::arg("signals"), nb::arg("results"), nb::arg("positions") = nb::none(),
            nb::arg("progress") = nb::none());
}

}  // namespace convolume::python
