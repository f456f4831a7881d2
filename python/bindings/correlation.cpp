// SPDX-License-Identifier: Apache-2.0
#include "convolume/correlation.hpp"

#include <nanobind/stl/pair.h>

#include <cstring>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "signals/option_table.hpp"

namespace convolume::python {

namespace {

/// A source whose sections a Python function returns: read(signal, begin, count).
class FunctionSource : public SignalSource {
  public:
    FunctionSource(PixelType type, const nb::callable& read) : type_(type), read_(read) {}
    PixelType type() const override { return type_; }
    void read(index_t signal, index_t begin, index_t count, void* to) override {
        const nb::gil_scoped_acquire lock;
        const auto samples = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(
            read_(signal, begin, count));
        std::memcpy(to, samples.data(), static_cast<std::size_t>(count) * size_of(type_));
    }

  private:
    PixelType type_;
    const nb::callable& read_;
};

/// Returns peaks as an array of rows (signal, template, position, snr, phase).
nb::object peak_rows(const std::vector<CorrelationPeak>& peaks) {
    Volume rows({1, static_cast<index_t>(peaks.size()), 5}, PixelType::float64);
    double* to = rows.elements<double>();
    for (const CorrelationPeak& peak : peaks)
        for (const double value :
             {static_cast<double>(peak.signal), static_cast<double>(peak.template_index),
              peak.position, peak.snr, peak.phase})
            *to++ = value;
    return to_numpy(std::move(rows));
}

nb::tuple chirp_parts(ChirpBank bank) {
    Volume chirps({1, static_cast<index_t>(bank.chirps.size()), 2}, PixelType::float64);
    double* to = chirps.elements<double>();
    for (const Chirp& chirp : bank.chirps) {
        *to++ = chirp.frequency_hz;
        *to++ = chirp.drift_hz_per_s;
    }
    return nb::make_tuple(to_numpy(std::move(bank.templates)), to_numpy(std::move(chirps)));
}

void bind_chirps(nb::module_& module) {
    module.def(
        "chirp_bank",
        [](index_t samples, double rate_hz, std::pair<double, double> frequency_hz,
           std::pair<double, double> drift_hz_per_s, double mismatch, index_t most_chirps) {
            return chirp_parts(convolume::chirp_bank(
                {samples, rate_hz, frequency_hz, drift_hz_per_s, mismatch, most_chirps}));
        },
        "samples"_a, "rate_hz"_a, "frequency_hz"_a, "drift_hz_per_s"_a, "mismatch"_a,
        "most_chirps"_a);
    module.def(
        "spectral_chirp_bank",
        [](double max_drift, double mismatch) {
            return chirp_parts(convolume::spectral_chirp_bank(max_drift, mismatch));
        },
        "max_drift"_a, "mismatch"_a);
}

}  // namespace

void bind_correlation(nb::module_& module) {
    bind_options<CorrelationOptions>(module, "CorrelationOptions");
    nb::class_<CorrelationBank>(module, "CorrelationBank")
        .def(
            "__init__",
            [](CorrelationBank* self, index_t signals, index_t samples,
               const std::vector<ReadArray>& templates, const FilterOptions& filters,
               const CorrelationOptions& options, const EngineChoice& engines,
               PixelType signal_type) {
                const std::vector<ConstImageView> bank = views(templates);
                CorrelationOptions chosen = options;
                chosen.filters = filters;
                plan_released([&] {
                    new (self) CorrelationBank(SignalShape{signals, samples}, bank, chosen, engines,
                                               signal_type);
                });
            },
            "signals"_a, "samples"_a, "templates"_a, "filters"_a, "options"_a, "engines"_a,
            "signal_type"_a)
        .def_prop_ro("window", &CorrelationBank::window)
        .def(
            "peaks",
            [](const CorrelationBank& self, const ReadArray& signals, const nb::object& progress) {
                const ConstImageView from = view(signals);
                std::vector<CorrelationPeak> found;
                run_released(
                    self.filter_bank().plan().seconds, progress,
                    [&](const ExecutionContext& context) { found = self.peaks(from, context); });
                return peak_rows(found);
            },
            "signals"_a, "progress"_a = nb::none())
        .def(
            "peaks_of_maxima",
            [](const CorrelationBank& self, const ReadArray& powers,
               const nb::ndarray<const index_t, nb::c_contig, nb::device::cpu>& positions,
               PixelType type, const nb::callable& read) {
                const ConstImageView maxima = view(powers);
                FunctionSource source(type, read);
                return peak_rows(without_lock(
                    [&] { return self.peaks_of_maxima(maxima, positions.data(), source); }));
            },
            "powers"_a, "positions"_a, "type"_a, "read"_a);
    module.def(
        "matched_filters",
        [](const std::vector<ReadArray>& templates, double noise) {
            nb::list taps;
            for (Volume& one : convolume::matched_filters(views(templates), noise))
                taps.append(to_numpy(std::move(one)));
            return taps;
        },
        "templates"_a, "noise"_a);
    module.def(
        "divide_by_noise",
        [](const ReadArray& signals, index_t block, const std::string& precision) {
            const ConstImageView from = view(signals);
            return to_numpy(without_lock([&] {
                return convolume::divide_by_noise(from, block, parse_precision(precision));
            }));
        },
        "signals"_a, "block"_a, "precision"_a);
    bind_chirps(module);
}

}  // namespace convolume::python
