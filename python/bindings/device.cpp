// SPDX-License-Identifier: Apache-2.0
// Convolution and filtering of arrays in a GPU's memory. Addresses and streams are whole numbers
// here: the package takes them from the arrays' libraries (convolume/_device.py).
#include "convolume/device.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"

namespace convolume::python {

namespace {

template <class T>
T* pointer(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

void bind_filter_bank(nb::module_& module) {
    nb::class_<DeviceFilterBank>(module, "DeviceFilterBank")
        .def(
            "__init__",
            [](DeviceFilterBank* self, index_t signals, index_t samples,
               const std::vector<ReadArray>& filters, const FilterOptions& options, int device,
               const std::string& signal_type) {
                const std::vector<ConstImageView> bank = views(filters);
                const DeviceFilterOptions where{device, parse_pixel_type(signal_type)};
                const nb::gil_scoped_release released;
                new (self) DeviceFilterBank(SignalShape{signals, samples}, bank, options, where);
            },
            nb::arg("signals"), nb::arg("samples"), nb::arg("filters"), nb::arg("options"),
            nb::arg("device"), nb::arg("signal_type"))
        .def_prop_ro("origin", &DeviceFilterBank::origin)
        .def_prop_ro("result_samples", &DeviceFilterBank::result_samples)
        .def_prop_ro("sample_type",
                     [](const DeviceFilterBank& self) { return to_string(self.sample_type()); })
        .def_prop_ro("result_type",
                     [](const DeviceFilterBank& self) { return to_string(self.result_type()); })
        .def_prop_ro("device_bytes", &DeviceFilterBank::device_bytes)
        .def(
            "execute",
            [](const DeviceFilterBank& self, std::uintptr_t signals, std::uintptr_t results,
               std::uintptr_t positions, std::uintptr_t stream) {
                const nb::gil_scoped_release released;
                self.execute(pointer<const void>(signals), pointer<void>(results),
                             pointer<index_t>(positions),
                             DeviceStream(pointer<CUstream_st>(stream)));
            },
            nb::arg("signals"), nb::arg("results"), nb::arg("positions"), nb::arg("stream"));
}

}  // namespace

void bind_device(nb::module_& module) {
    bind_filter_bank(module);
    nb::class_<DeviceConvolver>(module, "DeviceConvolver")
        .def(
            "__init__",
            [](DeviceConvolver* self, const Triple& shape, const ReadArray& kernel,
               const Options& options, int device, const std::string& image_type,
               std::optional<index_t> max_gpu_bytes) {
                const ConstImageView taps = view(kernel);
                DeviceOptions where;
                where.device = device;
                where.image_type = parse_pixel_type(image_type);
                where.max_gpu_bytes = max_gpu_bytes;
                const nb::gil_scoped_release released;
                new (self) DeviceConvolver(index3(shape), taps, options, where);
            },
            nb::arg("shape"), nb::arg("kernel"), nb::arg("options"), nb::arg("device"),
            nb::arg("image_type"), nb::arg("max_gpu_bytes") = nb::none())
        .def_prop_ro("output_shape",
                     [](const DeviceConvolver& self) { return triple(self.output_shape()); })
        .def_prop_ro("output_type",
                     [](const DeviceConvolver& self) { return to_string(self.output_type()); })
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

}  // namespace convolume::python
