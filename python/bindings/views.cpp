// SPDX-License-Identifier: Apache-2.0
// The forward model of several views, and their deconvolution.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/deconvolution.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/device_forward_model.hpp"
#include "convolume/view_deconvolver.hpp"
#include "operations/views/transforms.hpp"
#include "operations/views/view_files.hpp"

namespace convolume::python {

namespace {

// Voxels that a core convolves in a second, for the decision whether Ctrl-C matters.
constexpr double voxels_per_s = 1e7;

/// A view with the arrays that it refers to.
struct OwnedView {
    View view;
    ViewLevels levels;
    std::vector<ReadArray> psfs;
    std::optional<ReadArray> mask;
};

std::vector<View> views_of(const std::vector<const OwnedView*>& owned) {
    std::vector<View> views;
    for (const OwnedView* one : owned) views.push_back(one->view);
    return views;
}
std::vector<ViewLevels> levels_of(const std::vector<const OwnedView*>& owned) {
    std::vector<ViewLevels> levels;
    for (const OwnedView* one : owned) levels.push_back(one->levels);
    return levels;
}

void bind_view(nb::module_& module) {
    using Numbers = std::array<double, 3>;
    nb::class_<OwnedView>(module, "View")
        .def(
            "__init__",
            [](OwnedView* self, const Triple& shape, const std::vector<ReadArray>& psfs,
               const std::vector<Triple>& centers, const std::vector<Numbers>& positions,
               const std::array<Numbers, 3>& matrix, const Numbers& offset,
               const std::optional<ReadArray>& mask) {
                new (self) OwnedView{{}, {}, psfs, mask};
                View& made = self->view;
                made.image = index3(shape);
                for (std::size_t k = 0; k < psfs.size(); ++k)
                    made.psfs.push_back(
                        {view(psfs[k]),
                         KernelCenter{KernelCenter::Kind::explicit_, index3(centers.at(k))},
                         positions.empty() ? Numbers{} : positions.at(k)});
                made.map = {matrix, offset};
                if (mask) made.mask = view(*mask);
            },
            "shape"_a, "psfs"_a, "centers"_a, "positions"_a, "matrix"_a, "offset"_a,
            "mask"_a.none())
        .def_prop_rw(
            "edges", [](const OwnedView&) { return nb::none(); },
            [](OwnedView& self, const std::string& edges) {
                self.view.boundary = parse_edges(edges);
            })
        .def_prop_ro("shape", [](const OwnedView& self) { return triple(self.view.image); })
        .def(
            "set_levels",
            [](OwnedView& self, std::optional<double> background, std::optional<double> offset,
               std::optional<double> gain, double light, index_t border, double full_weight) {
                self.levels = {background, offset, gain, light, border, full_weight};
            },
            "background"_a.none(), "offset"_a.none(), "gain"_a.none(), "light"_a, "border"_a,
            "full_weight"_a = 0.0);
    module.def(
        "object_grid",
        [](const Triple& result, const std::vector<const OwnedView*>& views) {
            const ObjectGrid grid = object_grid(index3(result), views_of(views));
            return nb::make_tuple(triple(grid.shape), triple(grid.result_at));
        },
        "Returns the extents of an object, and the place of the result in it.", "result"_a,
        "views"_a);
    module.def("border_factors", &border_factors,
               "Returns the factors by which the weights of pixels fall towards both borders of an "
               "axis.",
               "extent"_a, "border"_a);
    module.def(
        "between_voxels",
        [](const std::array<Numbers, 3>& matrix, const Numbers& offset, const Numbers& from,
           const Numbers& to) {
            const VoxelMap map = between_voxels({matrix, offset}, {from[0], from[1], from[2]},
                                                {to[0], to[1], to[2]});
            return nb::make_tuple(map.matrix, map.offset);
        },
        "Returns the matrix and offset of a map between voxels, from those of one in um.",
        "matrix"_a, "offset"_a, "from_spacing"_a, "to_spacing"_a);
}

/// Binds the rules of files that say what is known of views.
void bind_view_files(nb::module_& module) {
    using Numbers = std::array<double, 3>;
    module.def(
        "check_view_counts",
        [](std::size_t views, std::size_t psfs, std::size_t masks, std::size_t backgrounds,
           std::size_t lights, std::size_t transforms) {
            check_view_counts({views, psfs, masks, backgrounds, lights, transforms, "--view-mask"});
        },
        "Refuses numbers of values that do not suit a number of views.", "views"_a, "psfs"_a,
        "masks"_a, "backgrounds"_a, "lights"_a, "transforms"_a);
    module.def(
        "check_view_mask",
        [](const std::string& path, const io::ImageMetadata& mask, const Triple& view) {
            check_view_mask(path, mask, index3(view));
        },
        "Refuses a mask that is not one stack of real numbers with the extents of a view.",
        "path"_a, "mask"_a, "view"_a);
    module.def(
        "read_view_maps",
        [](const std::vector<std::string>& files, const std::string& unit,
           const std::vector<std::string>& names,
           const std::vector<const io::ImageMetadata*>& images,
           const std::array<Numbers, 3>& first_to_result) {
            ViewTransforms views{files, TransformUnit::unknown, names, {}, {first_to_result, {}}};
            if (unit == "um") views.unit = TransformUnit::um;
            if (unit == "voxel") views.unit = TransformUnit::voxel;
            for (const io::ImageMetadata* one : images) views.voxels.push_back(known_voxel(*one));
            nb::list maps;
            for (const VoxelMap& map : read_view_maps(views))
                maps.append(nb::make_tuple(map.matrix, map.offset));
            return maps;
        },
        "Returns matrix and offset of the map from each view's voxels to those of the result.",
        "files"_a, "unit"_a, "names"_a, "images"_a, "first_to_result"_a);
    module.def(
        "cube_grid",
        [](const io::ImageMetadata& image, const std::string& name, double edge_um,
           const char* option) {
            const CoveringGrid grid = cube_grid(image, name, edge_um, option);
            return nb::make_tuple(triple(grid.shape), grid.map.matrix);
        },
        "Returns the extents of a grid of cubes, and the matrix of the map to it.", "image"_a,
        "name"_a, "edge_um"_a, "option"_a);
    module.def(
        "read_field_psfs",
        [](const std::string& path, const io::ImageMetadata& image) {
            std::vector<std::pair<Numbers, std::string>> psfs;
            if (!is_field_psf_list(path)) return psfs;
            for (const PlacedPsf& one : read_field_psfs(path, image))
                psfs.emplace_back(one.at, one.path);
            return psfs;
        },
        "Returns place in voxels and path of each PSF of a list, none for one PSF.", "path"_a,
        "image"_a);
}

ForwardModelOptions model_options(bool in_double) {
    ForwardModelOptions options;
    if (in_double) options.precision = Precision::float64;
    return options;
}

void bind_device_forward_model(nb::module_& module) {
    nb::class_<DeviceForwardModel>(module, "DeviceForwardModel")
        .def(
            "__init__",
            [](DeviceForwardModel* self, const Triple& result,
               const std::vector<const OwnedView*>& views, bool in_double, int device,
               std::optional<index_t> max_gpu_bytes) {
                const std::vector<View> all = views_of(views);
                const nb::gil_scoped_release released;
                new (self) DeviceForwardModel(object_grid(index3(result), all), all,
                                              model_options(in_double), device, max_gpu_bytes);
            },
            "result"_a, "views"_a, "in_double"_a, "device"_a, "max_gpu_bytes"_a.none())
        .def("record", by_addresses(&DeviceForwardModel::record), "view"_a, "object"_a, "image"_a,
             "stream"_a)
        .def("add_back", by_addresses(&DeviceForwardModel::add_back), "view"_a, "image"_a,
             "object"_a, "stream"_a);
}

void bind_forward_model(nb::module_& module) {
    nb::class_<ForwardModel>(module, "ForwardModel")
        .def(
            "__init__",
            [](ForwardModel* self, const Triple& result, const std::vector<const OwnedView*>& views,
               bool in_double, std::optional<index_t> max_host_bytes, const EngineChoice& engines) {
                ForwardModelOptions options = model_options(in_double);
                options.max_host_bytes = max_host_bytes;
                const std::vector<View> all = views_of(views);
                plan_released([&] {
                    new (self)
                        ForwardModel(object_grid(index3(result), all), all, options, engines);
                });
            },
            "result"_a, "views"_a, "in_double"_a, "max_host_bytes"_a.none(), "engines"_a)
        .def(
            "record",
            [](const ForwardModel& self, std::size_t number, const ReadArray& object,
               const WriteArray& image) {
                const ConstImageView from = view(object);
                const ImageView to = view(image);
                run_released(static_cast<double>(element_count(from.shape)) / voxels_per_s,
                             nb::none(), [&](const ExecutionContext& context) {
                                 self.record(number, from, to, context);
                             });
            },
            "view"_a, "object"_a, "image"_a)
        .def(
            "add_back",
            [](const ForwardModel& self, std::size_t number, const ReadArray& image,
               const WriteArray& object) {
                const ConstImageView from = view(image);
                const ImageView to = view(object);
                run_released(static_cast<double>(element_count(to.shape)) / voxels_per_s,
                             nb::none(), [&](const ExecutionContext& context) {
                                 self.add_back(number, from, to, context);
                             });
            },
            "view"_a, "image"_a, "object"_a);
}

}  // namespace

void bind_views(nb::module_& module) {
    bind_view(module);
    bind_view_files(module);
    bind_forward_model(module);
    bind_device_forward_model(module);
    nb::class_<ViewDeconvolver>(module, "ViewDeconvolver")
        .def(
            "__init__",
            [](ViewDeconvolver* self, const Triple& result,
               const std::vector<const OwnedView*>& views, const DeconvolveOptions& options,
               const EngineChoice& engines) {
                plan_released([&] {
                    new (self) ViewDeconvolver(index3(result), views_of(views), options,
                                               levels_of(views), engines);
                });
            },
            "result"_a, "views"_a, "options"_a, "engines"_a)
        .def_prop_ro("plan_text",
                     [](const ViewDeconvolver& self) { return self.plan().to_string(); })
        .def_prop_ro("device_bytes",
                     [](const ViewDeconvolver& self) { return self.plan().device_bytes; })
        .def(
            "execute",
            [](const ViewDeconvolver& self, const std::vector<ReadArray>& images,
               const WriteArray& out, const std::optional<ReadArray>& start,
               const nb::object& callback, const nb::object& progress,
               const std::optional<WriteArray>& uncertainty) {
                const std::vector<ConstImageView> from = python::views(images);
                const ImageView to = view(out);
                std::optional<ViewSink> deviation;
                if (uncertainty) deviation.emplace(view(*uncertainty));
                std::vector<DeconvolveReport> reports;
                execute_deconvolution(start, callback, progress,
                                      [&](DeconvolveRun run, const ExecutionContext& context) {
                                          if (deviation) run.uncertainty = &*deviation;
                                          reports = self.execute(from, to, run, context);
                                          return reports.front();
                                      });
                nb::list facts;
                for (const DeconvolveReport& report : reports) facts.append(to_dict(report));
                return facts;
            },
            "images"_a, "out"_a, "start"_a = nb::none(), "callback"_a = nb::none(),
            "progress"_a = nb::none(), "uncertainty"_a = nb::none());
}

}  // namespace convolume::python
