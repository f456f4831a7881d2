// SPDX-License-Identifier: Apache-2.0
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/device.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::python {

namespace {

void bind_device_filter_bank(nb::module_& module) {
    nb::class_<DeviceFilterBank>(module, "DeviceFilterBank")
        .def(
            "__init__",
            [](DeviceFilterBank* self, index_t signals, index_t samples,
               const std::vector<ReadArray>& filters, const FilterOptions& options, int device,
               PixelType signal_type) {
                const std::vector<ConstImageView> bank = views(filters);
                const DeviceFilterOptions where{device, signal_type};
                const nb::gil_scoped_release released;
                new (self) DeviceFilterBank(SignalShape{signals, samples}, bank, options, where);
            },
            "signals"_a, "samples"_a, "filters"_a, "options"_a, "device"_a, "signal_type"_a)
        .def_prop_ro("origin", &DeviceFilterBank::origin)
        .def_prop_ro("result_samples", &DeviceFilterBank::result_samples)
        .def_prop_ro("sample_type", [](const DeviceFilterBank& self) { return self.sample_type(); })
        .def_prop_ro("result_type", [](const DeviceFilterBank& self) { return self.result_type(); })
        .def(
            "clamped",
            [](const DeviceFilterBank& self, std::uintptr_t stream) {
                const ClampCount count = without_lock(
                    [&] { return self.clamped(DeviceStream(pointer<CUstream_st>(stream))); });
                return nb::make_tuple(count.low, count.high);
            },
            "stream"_a)
        .def("execute", by_addresses(&DeviceFilterBank::execute), "signals"_a, "results"_a,
             "positions"_a, "stream"_a);
}

}  // namespace

void bind_filters(nb::module_& module) {
    bind_options<FilterOptions>(module, "FilterOptions");

    nb::class_<FilterBank>(module, "FilterBank")
        .def(
            "__init__",
            [](FilterBank* self, index_t signals, index_t samples,
               const std::vector<ReadArray>& filters, const FilterOptions& options,
               const EngineChoice& engines, PixelType signal_type) {
                const std::vector<ConstImageView> bank = views(filters);
                plan_released([&] {
                    new (self) FilterBank(SignalShape{signals, samples}, bank, options, engines,
                                          signal_type);
                });
            },
            "signals"_a, "samples"_a, "filters"_a, "options"_a, "engines"_a, "signal_type"_a)
        .def_prop_ro("origin", &FilterBank::origin)
        .def_prop_ro("result_samples", &FilterBank::result_samples)
        .def_prop_ro("result_type", [](const FilterBank& self) { return self.result_type(); })
        .def_prop_ro("first_sample", &FilterBank::first_sample)
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
                ExecutionReport done;
                run_released(self.plan().seconds, progress, [&](const ExecutionContext& context) {
                    done = self.execute(from, to, peaks, context);
                });
                return nb::make_tuple(done.clamped_low, done.clamped_high, done.nonfinite_inputs);
            },
            "signals"_a, "results"_a, "positions"_a = nb::none(), "progress"_a = nb::none());
    bind_device_filter_bank(module);
}

}  // namespace convolume::python
