// SPDX-License-Identifier: Apache-2.0
#include "convolume/rate_converter.hpp"

#include <mutex>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/released.hpp"

namespace convolume::python {

namespace {

// Results that a thread computes in a second, for the decision whether Ctrl-C matters.
constexpr double results_per_s = 5e6;

/// Ratios of samples: empty, or one for each.
using Ratios = nb::ndarray<nb::ro, const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
std::span<const double> span_of(const Ratios& ratios) {
    return {ratios.data(), ratios.size()};
}

/// A converter that threads of Python share, one after the other.
struct OwnConverter {
    OwnConverter(const RateOptions& options, PixelType signal_type, index_t signals)
        : converter(options, signal_type, signals) {}

    RateConverter converter;
    std::mutex mutex;
};

}  // namespace

void bind_rate_conversion(nb::module_& module) {
    nb::class_<RateOptions>(module, "RateOptions")
        .def(
            "__init__",
            [](RateOptions* self, double ratio, double lowest_ratio, double attenuation_db,
               double pass_band, const std::string& precision, int threads) {
                new (self) RateOptions{.ratio = ratio,
                                       .lowest_ratio = lowest_ratio,
                                       .attenuation_db = attenuation_db,
                                       .pass_band = pass_band,
                                       .precision = parse_precision(precision),
                                       .threads = threads};
            },
            "ratio"_a, "lowest_ratio"_a, "attenuation_db"_a, "pass_band"_a, "precision"_a,
            "threads"_a);
    nb::class_<OwnConverter>(module, "RateConverter")
        .def(
            "__init__",
            [](OwnConverter* self, const RateOptions& options, PixelType signal_type,
               index_t signals) {
                const nb::gil_scoped_release released;
                new (self) OwnConverter(options, signal_type, signals);
            },
            "options"_a, "signal_type"_a, "signals"_a)
        .def_prop_ro("result_type",
                     [](const OwnConverter& self) { return self.converter.result_type(); })
        .def_prop_ro("taps", [](const OwnConverter& self) { return self.converter.taps(); })
        .def_prop_rw(
            "ratio", [](const OwnConverter& self) { return self.converter.ratio(); },
            [](OwnConverter& self, double ratio) {
                const nb::gil_scoped_release released;
                const std::lock_guard lock(self.mutex);
                self.converter.set_ratio(ratio);
            })
        .def(
            "push",
            [](OwnConverter& self, const ReadArray& samples, const Ratios& ratios) {
                const ConstImageView block = view(samples);
                return to_numpy_by_one_thread(
                    self.mutex, [&] { return self.converter.push(block, span_of(ratios)); });
            },
            "samples"_a, "ratios"_a)
        .def("finish", [](OwnConverter& self) {
            return to_numpy_by_one_thread(self.mutex, [&] { return self.converter.finish(); });
        });
    module.def(
        "convert_rate",
        [](const ReadArray& signals, const RateOptions& options, const Ratios& ratios) {
            const ConstImageView samples = view(signals);
            const double results =
                static_cast<double>(element_count(samples.shape)) * std::max(1.0, options.ratio);
            Volume made;
            run_released(results / results_per_s, nb::none(), [&](const ExecutionContext& context) {
                made = convert_rate(samples, options, span_of(ratios), context);
            });
            return to_numpy(std::move(made));
        },
        "signals"_a, "options"_a, "ratios"_a);
}

}  // namespace convolume::python
