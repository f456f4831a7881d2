// SPDX-License-Identifier: Apache-2.0
// Files of signals: their readers, their writers, and their times and frequencies.

#include <nanobind/stl/map.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "convolume/signal_file.hpp"
#include "convolume/version.hpp"

namespace convolume::python {

namespace {

using Coordinates = io::SignalCoordinates;

struct OpenSignal {
    std::unique_ptr<io::SignalReader> file;
};
/// An open file of signals that is written.
struct NewSignal {
    std::unique_ptr<io::SignalWriter> file;
};

/// Returns what `parse` makes of a text, if there is one.
template <class Parse>
auto parsed(const std::optional<std::string>& text, const Parse& parse) {
    return text ? std::optional(parse(*text)) : std::nullopt;
}

void bind_coordinates(nb::module_& module) {
    nb::class_<Coordinates>(module, "SignalCoordinates")
        .def(
            "__init__",
            [](Coordinates* self, std::optional<double> sampling_rate, double start,
               std::vector<double> center_frequencies) {
                new (self) Coordinates{sampling_rate, start, std::move(center_frequencies)};
            },
            "sampling_rate"_a = nb::none(), "start"_a = 0.0,
            "center_frequencies"_a = std::vector<double>())
        .def_ro("sampling_rate", &Coordinates::sampling_rate_hz)
        .def_ro("start", &Coordinates::start_s)
        .def_ro("center_frequencies", &Coordinates::center_frequencies_hz);
}

void bind_reader(nb::module_& module) {
    nb::class_<OpenSignal>(module, "SignalReader")
        .def(
            "__init__",
            [](OpenSignal* self, const std::string& path, const std::optional<std::string>& dtype,
               std::optional<index_t> signals, const std::optional<std::string>& layout,
               std::optional<index_t> header, const std::optional<std::string>& byte_order) {
                io::OpenSignalOptions options;
                options.raw_type = parsed(dtype, io::parse_stored_type);
                options.raw_signals = signals;
                options.raw_layout = parsed(layout, io::parse_signal_layout);
                options.raw_header = header;
                options.raw_byte_order = parsed(byte_order, io::parse_byte_order);
                const nb::gil_scoped_release released;
                new (self) OpenSignal{io::open_signal(path, options)};
            },
            "path"_a, "dtype"_a = nb::none(), "signals"_a = nb::none(), "layout"_a = nb::none(),
            "header"_a = nb::none(), "byte_order"_a = nb::none())
        .def_prop_ro("dims", [](const OpenSignal& self) { return self.file->info().dims; })
        .def_prop_ro("type", [](const OpenSignal& self) { return self.file->info().type; })
        .def_prop_ro("format", [](const OpenSignal& self) { return self.file->info().format; })
        .def_prop_ro("stored", [](const OpenSignal& self) { return self.file->info().stored; })
        .def_prop_ro("coordinates",
                     [](const OpenSignal& self) { return self.file->info().coordinates; })
        .def(
            "read",
            [](const OpenSignal& self, index_t signal, index_t begin, const WriteArray& target) {
                const ImageView to = view(target);
                const nb::gil_scoped_release released;
                if (to.type != self.file->info().type || to.shape.y != 1 || to.strides.x != 1)
                    throw InvalidArgument("samples are read to a row of their own type");
                self.file->read(signal, begin, to.shape.x, to.data);
            },
            "Reads samples of one signal from `begin` on to a contiguous row.", "signal"_a,
            "begin"_a, "target"_a);
}

void bind_writer(nb::module_& module) {
    nb::class_<NewSignal>(module, "SignalWriter")
        .def(
            "__init__",
            [](NewSignal* self, const std::string& path, const std::vector<index_t>& dims,
               PixelType type, const Coordinates& coordinates,
               const std::optional<std::string>& dtype, bool overwrite) {
                io::CreateSignalOptions options;
                options.overwrite = overwrite;
                options.software = message("convolume ", version());
                options.stored = parsed(dtype, io::parse_stored_type);
                options.coordinates = coordinates;
                const nb::gil_scoped_release released;
                new (self)
                    NewSignal{io::create_signal(path, dims, io::sample_type_of(type), options)};
            },
            "path"_a, "dims"_a, "type"_a, "coordinates"_a, "dtype"_a = nb::none(),
            "overwrite"_a = false)
        .def(
            "write",
            [](const NewSignal& self, index_t row, index_t begin, const ReadArray& source) {
                const ConstImageView from = view(source);
                const nb::gil_scoped_release released;
                if (from.shape.y != 1 || from.strides.x != 1)
                    throw InvalidArgument("samples are written from a contiguous row");
                self.file->write(row, begin, from.shape.x, from.data);
            },
            "Writes samples of one signal from `begin` on, which have the type of the writer.",
            "row"_a, "begin"_a, "source"_a)
        .def("commit",
             [](const NewSignal& self) {
                 const nb::gil_scoped_release released;
                 self.file->commit();
             })
        .def_prop_ro("clamped", [](const NewSignal& self) {
            const ClampCount clamped = self.file->clamped();
            return nb::make_tuple(clamped.low, clamped.high);
        });
}

}  // namespace

void bind_signals(nb::module_& module) {
    bind_coordinates(module);
    bind_reader(module);
    bind_writer(module);
}

}  // namespace convolume::python
