// SPDX-License-Identifier: Apache-2.0
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/device.hpp"

namespace convolume::python {

namespace {

// Seconds for each number that is read or written, from which runs that Ctrl-C can stop are told.
constexpr double seconds_per_number = 2e-9;

double expected_s(const ConstImageView& from, const ImageView& to) {
    return seconds_per_number *
           static_cast<double>(element_count(from.shape) + element_count(to.shape));
}

/// Binds a method that computes from one array to another.
template <auto method, class Class>
void bind_run(nb::class_<Class>& bound, const char* name) {
    bound.def(
        name,
        [](Class& self, const ReadArray& from, const WriteArray& to, const nb::object& progress) {
            const ConstImageView source = view(from);
            const ImageView target = view(to);
            index_t nonfinite = 0;
            run_released(expected_s(source, target), progress,
                         [&](const ExecutionContext& context) {
                             nonfinite = (self.*method)(source, target, context).nonfinite_inputs;
                         });
            return nonfinite;
        },
        "source"_a, "target"_a, "progress"_a = nb::none());
}

template <class Class>
void bind_plan(nb::class_<Class>& bound) {
    bound.def_prop_ro("channels", [](const Class& self) { return self.plan().stored_channels; })
        .def_prop_ro("signal_type", [](const Class& self) { return self.plan().signal_type; })
        .def_prop_ro("frame_type", [](const Class& self) { return self.plan().frame_type; })
        .def_prop_ro("step", [](const Class& self) { return self.plan().step; })
        .def_prop_ro("first_middle", [](const Class& self) { return self.plan().first_middle; })
        .def_prop_ro("center_frequencies",
                     [](const Class& self) {
                         std::vector<double> frequencies;
                         for (index_t m = 0; m < self.plan().stored_channels; ++m)
                             frequencies.push_back(self.plan().center_frequency(m));
                         return frequencies;
                     })
        .def_prop_ro("plan", [](const Class& self) { return self.plan().to_string(); });
}

void bind_analysis_on_gpu(nb::module_& module) {
    nb::class_<DeviceChannelizer>(module, "DeviceChannelizer")
        .def(
            "__init__",
            [](DeviceChannelizer* self, const ChannelizerOptions& chosen, index_t samples,
               int device, PixelType signal_type, index_t signals, bool tail) {
                const DeviceChannelizerOptions where{device, signal_type, signals, tail};
                const nb::gil_scoped_release released;
                new (self) DeviceChannelizer(chosen, samples, where);
            },
            "options"_a, "samples"_a, "device"_a, "signal_type"_a, "signals"_a, "tail"_a)
        .def_prop_ro("frames", &DeviceChannelizer::frames)
        .def("execute", by_addresses(&DeviceChannelizer::execute), "signals"_a, "frames"_a,
             "stream"_a);
}

void bind_synthesis_on_gpu(nb::module_& module) {
    nb::class_<DeviceSynthesizer>(module, "DeviceSynthesizer")
        .def(
            "__init__",
            [](DeviceSynthesizer* self, const ChannelizerOptions& chosen, const Synthesizer& host,
               index_t frames, int device, index_t signals, index_t samples) {
                const DeviceSynthesizerOptions where{device, host.plan().signal_type, signals,
                                                     samples, host.synthesis_taps()};
                const nb::gil_scoped_release released;
                new (self) DeviceSynthesizer(chosen, frames, where);
            },
            "options"_a, "synthesizer"_a, "frames"_a, "device"_a, "signals"_a, "samples"_a)
        .def("execute", by_addresses(&DeviceSynthesizer::execute), "frames"_a, "signals"_a,
             "stream"_a);
}

}  // namespace

void bind_channelizers(nb::module_& module) {
    auto options = bind_options<ChannelizerOptions>(module, "ChannelizerOptions");
    options.def_rw("channels", &ChannelizerOptions::channels)
        .def_rw("prototype", &ChannelizerOptions::prototype);

    module.def(
        "prototype_filter",
        [](index_t channels, index_t taps_per_channel, const std::string& window) {
            return prototype_filter(channels, taps_per_channel, parse_prototype_window(window));
        },
        "channels"_a, "taps_per_channel"_a, "window"_a);
    module.def(
        "dual_prototype",
        [](const std::vector<double>& taps, index_t channels, index_t step) {
            DualPrototype dual;
            plan_released([&] { dual = dual_prototype(taps, channels, step); });
            return nb::make_tuple(dual.taps, dual.error);
        },
        "taps"_a, "channels"_a, "step"_a);

    nb::class_<Channelizer> channelizer(module, "Channelizer");
    channelizer
        .def(nb::init<const ChannelizerOptions&, PixelType, const EngineChoice&>(), "options"_a,
             "signal_type"_a, "engines"_a)
        .def("frames", &Channelizer::frames, "samples"_a, "tail"_a = false);
    bind_plan(channelizer);
    bind_run<&Channelizer::execute>(channelizer, "execute");

    nb::class_<ChannelizerStream> divided(module, "ChannelizerStream");
    divided.def(nb::init<const Channelizer&, index_t>(), "channelizer"_a, "signals"_a)
        .def("frames", &ChannelizerStream::frames, "samples"_a);
    bind_run<&ChannelizerStream::push>(divided, "push");

    nb::class_<Synthesizer> synthesizer(module, "Synthesizer");
    synthesizer
        .def(
            "__init__",
            [](Synthesizer* self, const ChannelizerOptions& chosen, PixelType signal_type,
               const EngineChoice& engines, const std::vector<double>& taps) {
                plan_released([&] { new (self) Synthesizer(chosen, signal_type, engines, taps); });
            },
            "options"_a, "signal_type"_a, "engines"_a, "taps"_a)
        .def_prop_ro("error", &Synthesizer::error)
        .def("samples", &Synthesizer::samples, "frames"_a);
    bind_plan(synthesizer);
    bind_run<&Synthesizer::execute>(synthesizer, "execute");

    nb::class_<SynthesizerStream> joined(module, "SynthesizerStream");
    joined.def(nb::init<const Synthesizer&, index_t>(), "synthesizer"_a, "signals"_a)
        .def("samples", &SynthesizerStream::samples, "frames"_a);
    bind_run<&SynthesizerStream::push>(joined, "push");

    bind_analysis_on_gpu(module);
    bind_synthesis_on_gpu(module);
}

}  // namespace convolume::python
