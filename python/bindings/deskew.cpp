// SPDX-License-Identifier: Apache-2.0
#include "convolume/deskew.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "operations/deskew/stage_scans.hpp"

namespace convolume::python {

namespace {

// Samples that a thread makes in a second, for the decision whether Ctrl-C matters.
constexpr double samples_per_s = 1e8;

}  // namespace

void bind_deskew(nb::module_& module) {
    bind_options<DeskewOptions>(module, "DeskewOptions")
        .def(
            "set_pixels",
            [](DeskewOptions& self, double y_um, double x_um) {
                self.scan.pixel_y_um = y_um;
                self.scan.pixel_x_um = x_um;
            },
            "Sets the edges of a camera pixel in the specimen.", "y_um"_a, "x_um"_a)
        .def(
            "take_pixels",
            [](DeskewOptions& self, const io::ImageMetadata& image, const std::string& name,
               std::optional<double> pixel_um) -> std::optional<std::string> {
                const auto doubt = set_pixels(self, image, name, pixel_um);
                if (!doubt) return {};
                return doubt->with_names(keyword_of);
            },
            "Sets the edges of a pixel, or takes those of an image. Returns what is doubtful.",
            "image"_a, "name"_a, "pixel_um"_a.none())
        .def_prop_ro("pixels", [](const DeskewOptions& self) {
            return std::array{self.scan.pixel_y_um, self.scan.pixel_x_um};
        });
    module.def("check_scan_is_given", &check_scan_is_given, "has_angle"_a, "has_step"_a);
    module.def("deskew_metadata", &deskew_metadata,
               "Makes the metadata of a recording those of its result.", "image"_a, "options"_a);
    module.def(
        "deskewed_grid",
        [](const Triple& recorded, const DeskewOptions& options) {
            const DeskewedGrid grid = deskewed_grid(index3(recorded), options);
            const VoxelSize& voxel = grid.voxel;
            return nb::make_tuple(triple(grid.shape),
                                  nb::make_tuple(voxel.z_um, voxel.y_um, voxel.x_um),
                                  grid.map.matrix, grid.map.offset);
        },
        "Returns shape and voxel of a result, and matrix and offset of the map to it.",
        "recorded"_a, "options"_a);
    module.def(
        "deskew",
        [](const ReadArray& image, const DeskewOptions& options, const nb::object& progress) {
            const ConstImageView recorded = view(image);
            Volume result;
            run_released(static_cast<double>(element_count(recorded.shape)) / samples_per_s,
                         progress, [&](const ExecutionContext& context) {
                             result = deskew(recorded, options, context);
                         });
            return to_numpy(std::move(result));
        },
        "image"_a, "options"_a, "progress"_a = nb::none());
    module.def(
        "check_deskew",
        [](const Triple& recorded, PixelType samples, PixelType result,
           const DeskewOptions& options) {
            static_cast<void>(plan_deskew({index3(recorded), samples}, result, options));
        },
        "Raises an error unless a recording can be deskewed into a result of a type.", "recorded"_a,
        "samples"_a, "result"_a, "options"_a);
    module.def(
        "deskew_needs",
        [](const Triple& recorded, const Triple& begin, const Triple& end,
           const DeskewOptions& options) {
            const Box3 box = deskew_needs(index3(recorded), {index3(begin), index3(end)}, options);
            return nb::make_tuple(triple(box.begin), triple(box.end));
        },
        "Returns begin and end of the box of a recording from which a box of the result is made.",
        "recorded"_a, "begin"_a, "end"_a, "options"_a);
    module.def(
        "deskew_block",
        [](const Triple& recorded, const ReadArray& part, const Triple& part_begin,
           const Triple& begin, const WriteArray& block, const DeskewOptions& options) {
            const PlacedImage placed{view(part), index3(part_begin)};
            const ImageView made = view(block);
            const nb::gil_scoped_release released;
            const ExecutionReport report =
                deskew_block(index3(recorded), placed, index3(begin), made, options);
            return std::pair{report.clamped_low, report.clamped_high};
        },
        "Computes a block of the result; returns the numbers of clamped values.", "recorded"_a,
        "part"_a, "part_begin"_a, "begin"_a, "block"_a, "options"_a);
}

}  // namespace convolume::python
