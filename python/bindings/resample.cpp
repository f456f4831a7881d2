// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/complex.h>

#include <mutex>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/released.hpp"
#include "convolume/device.hpp"

namespace convolume::python {

namespace {

// Sums of products that a thread computes in a second, for the decision whether Ctrl-C matters.
constexpr double products_per_s = 2e9;

/// A stream of blocks with the resampler that it needs. Threads of Python may share it, one after
/// the other.
struct OwnResampleStream {
    Resampler resampler;
    ResampleStream stream;
    std::mutex mutex;
    OwnResampleStream(const ConstImageView& taps, const ResampleOptions& options,
                      PixelType signal_type, index_t signals)
        : resampler(taps, options, signal_type), stream(resampler, signals) {}
};

void bind_device_resampler(nb::module_& module) {
    nb::class_<DeviceResampler>(module, "DeviceResampler")
        .def(
            "__init__",
            [](DeviceResampler* self, const ReadArray& taps, const ResampleOptions& options,
               int device, PixelType signal_type) {
                const ConstImageView filter = view(taps);
                const nb::gil_scoped_release released;
                new (self) DeviceResampler(filter, options, {device, signal_type});
            },
            "taps"_a, "options"_a, "device"_a, "signal_type"_a)
        .def("full_results", &DeviceResampler::full_results, "samples"_a)
        .def("same_results", &DeviceResampler::same_results, "samples"_a)
        .def(
            "execute",
            [](const DeviceResampler& self, index_t signals, index_t samples, std::uintptr_t from,
               index_t count, std::uintptr_t to, std::uintptr_t stream) {
                const nb::gil_scoped_release released;
                self.execute({signals, samples}, pointer<const void>(from), count,
                             pointer<void>(to), DeviceStream(pointer<CUstream_st>(stream)));
            },
            "signals"_a, "samples"_a, "source"_a, "count"_a, "target"_a, "stream"_a);
}

}  // namespace

void bind_resampling(nb::module_& module) {
    nb::class_<ResampleOptions>(module, "ResampleOptions")
        .def(
            "__init__",
            [](ResampleOptions* self, index_t up, index_t down, index_t origin,
               const std::string& extension, std::complex<double> value,
               const std::string& precision, int threads) {
                new (self) ResampleOptions{.up = up,
                                           .down = down,
                                           .origin = origin,
                                           .extension = parse_signal_extension(extension),
                                           .value = value,
                                           .precision = parse_precision(precision),
                                           .threads = threads};
            },
            "up"_a, "down"_a, "origin"_a, "extension"_a, "value"_a, "precision"_a, "threads"_a);
    nb::class_<Resampler>(module, "Resampler")
        .def(
            "__init__",
            [](Resampler* self, const ReadArray& taps, const ResampleOptions& options,
               PixelType signal_type) { new (self) Resampler(view(taps), options, signal_type); },
            "taps"_a, "options"_a, "signal_type"_a)
        .def("full_results", &Resampler::full_results, "samples"_a)
        .def("same_results", &Resampler::same_results, "samples"_a)
        .def(
            "execute",
            [](const Resampler& self, const ReadArray& signals, const WriteArray& results) {
                const ConstImageView from = view(signals);
                const ImageView to = view(results);
                const double products = static_cast<double>(element_count(to.shape)) *
                                        static_cast<double>(self.taps()) /
                                        static_cast<double>(self.options().up);
                run_released(
                    products / products_per_s, nb::none(),
                    [&](const ExecutionContext& context) { self.execute(from, to, context); });
            },
            "signals"_a, "results"_a);
    nb::class_<OwnResampleStream>(module, "ResampleStream")
        .def(
            "__init__",
            [](OwnResampleStream* self, const ReadArray& taps, const ResampleOptions& options,
               PixelType signal_type, index_t signals) {
                new (self) OwnResampleStream(view(taps), options, signal_type, signals);
            },
            "taps"_a, "options"_a, "signal_type"_a, "signals"_a)
        .def_prop_ro("result_type",
                     [](const OwnResampleStream& self) { return self.resampler.result_type(); })
        .def(
            "push",
            [](OwnResampleStream& self, const ReadArray& samples) {
                const ConstImageView block = view(samples);
                return to_numpy_by_one_thread(self.mutex, [&] { return self.stream.push(block); });
            },
            "samples"_a)
        .def("finish", [](OwnResampleStream& self) {
            return to_numpy_by_one_thread(self.mutex, [&] { return self.stream.finish(); });
        });
    bind_device_resampler(module);
    module.def("resample_taps", &resample_taps, "up"_a, "down"_a, "zero_crossings"_a, "kaiser"_a);
}

}  // namespace convolume::python
