// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <numeric>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "convolume/image_file.hpp"
#include "convolume/version.hpp"
#include "io/units.hpp"

namespace convolume::python {

namespace {

using io::ImageMetadata;
using io::ImageReader;
using io::ImageWriter;

/// An open image file that is read.
struct Reader {
    std::unique_ptr<ImageReader> file;
};
/// An open image file that is written.
struct Writer {
    std::unique_ptr<ImageWriter> file;
};

Box3 box_of(const std::array<index_t, 6>& ends) {
    return {{ends[0], ends[2], ends[4]}, {ends[1], ends[3], ends[5]}};
}

std::array<std::optional<double>, 3> voxel_of(const ImageMetadata& metadata) {
    return metadata.voxel_size_um;
}

// Metadata of a microscope in the form in which they are pickled.
using ChannelState =
    std::tuple<std::optional<double>, std::optional<double>, std::optional<double>, std::string>;
auto microscope_state(const io::MicroscopeMetadata& m) {
    std::vector<ChannelState> channels;
    for (const auto& one : m.channels)
        channels.emplace_back(one.emission_um, one.excitation_um, one.pinhole_um,
                              one.acquisition_mode);
    return std::make_tuple(m.na, m.refractive_index, m.magnification, m.immersion,
                           m.significant_bits, channels);
}

// All metadata of an image in the form in which they are pickled.
auto state_of(const ImageMetadata& m) {
    using Scaling = std::optional<std::pair<double, double>>;
    return std::make_tuple(
        std::make_tuple(m.format, m.frames, m.channels, triple(m.shape), m.type, m.axes),
        std::make_tuple(m.voxel_size_um, m.unit, m.frame_interval_s, m.images, m.image,
                        m.image_name),
        std::make_tuple(m.channel_names, m.channel_colors,
                        m.scaling ? Scaling({m.scaling->scale, m.scaling->offset}) : Scaling(),
                        m.notes),
        std::make_tuple(m.ome_xml, m.imagej_description, m.imagej_metadata,
                        m.imagej_metadata_counts, m.text),
        microscope_state(m.microscope));
}

ImageMetadata metadata_of(const decltype(state_of({}))& state) {
    ImageMetadata m;
    const auto& [pixels, places, channels, format, microscope] = state;
    Triple shape;
    std::tie(m.format, m.frames, m.channels, shape, m.type, m.axes) = pixels;
    m.shape = index3(shape);
    std::tie(m.voxel_size_um, m.unit, m.frame_interval_s, m.images, m.image, m.image_name) = places;
    std::optional<std::pair<double, double>> scaling;
    std::tie(m.channel_names, m.channel_colors, scaling, m.notes) = channels;
    if (scaling) m.scaling = {scaling->first, scaling->second};
    std::tie(m.ome_xml, m.imagej_description, m.imagej_metadata, m.imagej_metadata_counts, m.text) =
        format;
    std::vector<ChannelState> of_channels;
    std::tie(m.microscope.na, m.microscope.refractive_index, m.microscope.magnification,
             m.microscope.immersion, m.microscope.significant_bits, of_channels) = microscope;
    for (const auto& [emission_um, excitation_um, pinhole_um, mode] : of_channels)
        m.microscope.channels.push_back({emission_um, excitation_um, pinhole_um, mode});
    return m;
}

void bind_metadata(nb::module_& module) {
    nb::class_<ImageMetadata>(module, "ImageMetadata")
        .def(nb::init<>())
        .def("__getstate__", &state_of)
        .def("__setstate__",
             [](ImageMetadata& self, const decltype(state_of({}))& state) {
                 new (&self) ImageMetadata(metadata_of(state));
             })
        .def("copy", [](const ImageMetadata& self) { return ImageMetadata(self); })
        .def_rw("format", &ImageMetadata::format)
        .def_rw("frames", &ImageMetadata::frames)
        .def_rw("channels", &ImageMetadata::channels)
        .def_prop_rw(
            "shape", [](const ImageMetadata& self) { return triple(self.shape); },
            [](ImageMetadata& self, const Triple& shape) { self.shape = index3(shape); })
        .def_prop_rw(
            "type", [](const ImageMetadata& self) { return self.type; },
            [](ImageMetadata& self, PixelType type) { self.type = type; })
        .def_rw("axes", &ImageMetadata::axes)
        .def_prop_rw("spacing", &voxel_of,
                     [](ImageMetadata& self, const std::array<std::optional<double>, 3>& voxel) {
                         self.voxel_size_um = voxel;
                     })
        .def_rw("unit", &ImageMetadata::unit)
        .def_rw("frame_interval", &ImageMetadata::frame_interval_s)
        .def_rw("channel_names", &ImageMetadata::channel_names)
        .def_rw("channel_colors", &ImageMetadata::channel_colors)
        .def_prop_ro("camera_maximum",
                     [](const io::ImageMetadata& self) { return self.microscope.camera_maximum(); })
        .def_prop_ro("scaling",
                     [](const ImageMetadata& self) -> nb::object {
                         if (!self.scaling) return nb::none();
                         return nb::make_tuple(self.scaling->scale, self.scaling->offset);
                     })
        .def_rw("images", &ImageMetadata::images)
        .def_rw("image", &ImageMetadata::image)
        .def_rw("image_name", &ImageMetadata::image_name)
        .def_rw("notes", &ImageMetadata::notes)
        .def_rw("text", &ImageMetadata::text)
        .def(
            "drop_imagej_labels",
            [](ImageMetadata& self) {
                std::vector<index_t> channels(static_cast<std::size_t>(self.channels));
                std::iota(channels.begin(), channels.end(), index_t{0});
                io::keep_lookup_tables(self, channels);
            },
            "Removes the labels of planes in ImageJ's metadata, which hold channel names.")
        .def(
            "forget_planes",
            [](ImageMetadata& self) {
                self.ome_xml.clear();
                self.imagej_description.clear();
                self.imagej_metadata.clear();
                self.imagej_metadata_counts.clear();
                self.text.clear();
            },
            "Removes what the format of a file says of its planes, for a part of the image.");
}

}  // namespace

void bind_files(nb::module_& module) {
    bind_metadata(module);
    module.def("micrometers_per", &io::micrometers_per,
               "Returns the µm in one unit of length of that name; None for other words.",
               "unit"_a);
    nb::class_<Reader>(module, "Reader")
        .def(
            "__init__",
            [](Reader* self, const std::string& path, const std::string& axes,
               const std::string& image, const std::string& stack) {
                io::OpenOptions options;
                options.axes = axes;
                options.image = image;
                options.stack = stack;
                const nb::gil_scoped_release released;
                new (self) Reader{io::open_image(path, options)};
            },
            "path"_a, "axes"_a = "", "image"_a = "", "stack"_a = "")
        .def_prop_ro("metadata",
                     [](const Reader& self) { return ImageMetadata(self.file->metadata()); })
        .def(
            "read_box",
            [](const Reader& self, index_t t, index_t c, const std::array<index_t, 6>& ends,
               const WriteArray& target) {
                const ImageView to = view(target);
                const nb::gil_scoped_release released;
                self.file->read_box(t, c, box_of(ends), to);
            },
            "t"_a, "c"_a, "box"_a, "target"_a);
    nb::class_<Writer>(module, "Writer")
        .def(
            "__init__",
            [](Writer* self, const std::string& path, const ImageMetadata& metadata, bool overwrite,
               const std::string& compression) {
                io::CreateOptions options;
                options.overwrite = overwrite;
                options.compression = io::parse_compression(compression);
                options.software = message("convolume ", version());
                const nb::gil_scoped_release released;
                new (self) Writer{io::create_image(path, metadata, options)};
            },
            "path"_a, "metadata"_a, "overwrite"_a = false, "compression"_a = "none")
        .def(
            "write_box",
            [](const Writer& self, index_t t, index_t c, const std::array<index_t, 6>& ends,
               const ReadArray& source) {
                const ConstImageView from = view(source);
                const nb::gil_scoped_release released;
                self.file->write_box(t, c, box_of(ends), from);
            },
            "t"_a, "c"_a, "box"_a, "source"_a)
        .def("commit", [](const Writer& self) {
            const nb::gil_scoped_release released;
            self.file->commit();
        });
}

}  // namespace convolume::python
