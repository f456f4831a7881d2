// SPDX-License-Identifier: Apache-2.0
#include "convolume/deskew.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"

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
            "Sets the edges of a camera pixel in the specimen.", "y_um"_a, "x_um"_a);
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
}

}  // namespace convolume::python
