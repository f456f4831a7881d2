// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string_view.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/beads.hpp"
#include "convolume/camera.hpp"
#include "convolume/phantom.hpp"
#include "convolume/psf.hpp"
#include "convolume/psf_fit.hpp"
#include "operations/kernel/voxel_sizes.hpp"
#include "operations/optics/image_optics.hpp"
#include "operations/optics/psf_layers.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::python {

namespace {

using Voxel = std::array<double, 3>;

VoxelSize voxel_size(const Voxel& voxel) {
    return {voxel[0], voxel[1], voxel[2]};
}

/// Returns parameters of a PSF as keywords and values.
nb::dict keywords_of(const MicroscopeParameters& parameters) {
    nb::dict keywords;
    for (const auto& [name, number] : microscope_numbers)
        if (parameters.*number) keywords[keyword_of(name).c_str()] = *(parameters.*number);
    if (parameters.modality) keywords["modality"] = to_string(*parameters.modality);
    return keywords;
}

MicroscopeParameters microscope_of(const nb::dict& keywords) {
    MicroscopeParameters parameters;
    for (const auto& [name, number] : microscope_numbers)
        if (const std::string keyword = keyword_of(name); keywords.contains(keyword.c_str()))
            parameters.*number = nb::cast<double>(keywords[keyword.c_str()]);
    if (keywords.contains("modality"))
        parameters.modality = parse_modality(nb::cast<std::string>(keywords["modality"]));
    return parameters;
}

/// Returns the names of the options of PSFs that have these keywords.
std::vector<std::string> names_of_keywords(const std::vector<std::string>& keywords) {
    std::vector<std::string> names;
    for_each_option<PsfOptions>([&](const auto& field) {
        if (std::count(keywords.begin(), keywords.end(), field.text.keyword()) > 0)
            names.emplace_back(field.text.name);
    });
    return names;
}

/// Binds the rules by which a PSF suits an image.
void bind_image_optics(nb::module_& module) {
    module.def(
        "image_optics",
        [](const io::ImageMetadata& image, index_t channel, const nb::dict& given) {
            const RecordedOptics optics = recorded_optics(image, channel, microscope_of(given));
            std::vector<std::string> doubts;
            for (const Sentence& one : optics.warnings)
                doubts.push_back(one.with_names(keyword_of));
            std::optional<Voxel> voxel;
            if (const auto known = psf_voxel_for(image))
                voxel = Voxel{known->z_um, known->y_um, known->x_um};
            return nb::make_tuple(keywords_of(optics.parameters), voxel, doubts);
        },
        "Returns the parameters of a PSF that metadata of an image give in addition, its voxel, "
        "and "
        "sentences on doubtful assumptions.",
        "image"_a, "channel"_a, "given"_a);
    module.def("needs_wavelength", &needs_wavelength,
               "Returns whether PSFs of a modality depend on the wavelength of emission.",
               "modality"_a);
    module.def(
        "complete_objective",
        [](PsfOptions& options, const std::vector<std::string>& keywords) {
            complete_objective(options, names_of_keywords(keywords));
        },
        "Sets values by design that the caller does not give to the actual ones.", "options"_a,
        "keywords"_a);
    module.def(
        "refuse_unused_layers",
        [](const PsfOptions& options, const std::vector<std::string>& keywords) {
            refuse_unused_layers(options.model, names_of_keywords(keywords));
        },
        "Refuses parameters of layers that the caller gives for a model without layers.",
        nb::arg("options"), nb::arg("keywords"));
    module.def(
        "automatic_psf_size",
        [](const PsfOptions& options, const std::optional<Triple>& image) {
            std::optional<Shape3> like;
            if (image) like = index3(*image);
            Shape3 size;
            run_released(1, nb::none(), [&](const ExecutionContext& context) {
                size = automatic_psf_size(options, like, {}, context);
            });
            return triple(size);
        },
        "Returns the size of a PSF that holds enough light, or suits an image of these extents.",
        "options"_a, "image"_a = nb::none());
    module.def(
        "bead_psf_size",
        [](const std::optional<Triple>& given, const std::optional<PsfOptions>& model,
           const Triple& stack) {
            const std::optional<Shape3> size = given ? std::optional(index3(*given)) : std::nullopt;
            return triple(bead_psf_size(size, model, index3(stack)));
        },
        "Returns the size of a PSF that is measured from the beads of a stack: the given one, or "
        "that which follows from a model.",
        "given"_a.none(), "model"_a.none(), "stack"_a);
    module.def("check_real", &check_real, "Raises BadData for a complex type.", "type"_a, "what"_a);
}

void bind_psf(nb::module_& module) {
    bind_options<PsfOptions>(module, "PsfOptions");
    module.def(
        "make_psf",
        [](const PsfOptions& options, const nb::object& progress) {
            Psf psf;
            run_released(1, progress, [&](const ExecutionContext& context) {
                psf = make_psf(options, context);
            });
            return to_numpy(std::move(psf.values));
        },
        "options"_a, "progress"_a = nb::none());
    module.def(
        "index_of_mountant", [](const std::string& name) { return index_of_mountant(name); },
        "Returns the index of a mounting medium.", "name"_a);
    module.def("psf_facts", [](const PsfOptions& options) {
        PsfFacts facts;
        run_released(1, nb::none(),
                     [&](const ExecutionContext& context) { facts = psf_facts(options, context); });
        nb::dict values;
        values["rayleigh_lateral"] = facts.rayleigh_lateral_um;
        values["rayleigh_axial"] = facts.rayleigh_axial_um;
        values["fwhm_lateral"] = facts.fwhm_lateral_um;
        values["fwhm_axial"] = facts.fwhm_axial_um;
        values["nyquist_lateral"] = facts.nyquist_lateral_um;
        values["nyquist_axial"] = facts.nyquist_axial_um;
        values["paraxial_focus"] = facts.paraxial_focus_um;
        values["brightest_focus"] = facts.brightest_focus_um;
        values["effective_na"] = facts.effective_na;
        values["total_reflection"] = facts.total_reflection;
        values["pinhole"] = facts.pinhole_um;
        return values;
    });
    module.def(
        "resample_kernel",
        [](const ReadArray& kernel, const Triple& center, const Voxel& from, const Voxel& to) {
            ResampledKernel result =
                resample_kernel(view(kernel), index3(center), voxel_size(from), voxel_size(to));
            return nb::make_tuple(to_numpy(std::move(result.values)), triple(result.center));
        },
        "kernel"_a, "center"_a, "from_spacing"_a, "to_spacing"_a);
    module.def(
        "differing_voxels",
        [](const KnownVoxelSize& image, const KnownVoxelSize& kernel,
           const Triple& shape) -> std::optional<std::pair<Voxel, Voxel>> {
            const DifferingVoxels sizes = differing_voxels(image, kernel, index3(shape));
            if (!sizes.differ()) return {};
            const auto triple_of = [](const VoxelSize& size) {
                return Voxel{size.z_um, size.y_um, size.x_um};
            };
            return std::pair{triple_of(sizes.kernel), triple_of(sizes.image)};
        },
        "Returns voxel sizes of kernel and image that differ, 1 along other axes; None if none do.",
        "image"_a, "kernel"_a, "shape"_a);
    module.def("voxel_difference", &voxel_difference,
               "Returns the words of a sentence on voxel sizes that differ.", "image"_a, "kernel"_a,
               "kernel_name"_a);
    module.def(
        "check_resampling",
        [](const Triple& shape, const Triple& center, const Voxel& from, const Voxel& to,
           const std::string& difference) -> std::optional<std::string> {
            const Shape3 before = index3(shape);
            const auto doubt = check_resampling(
                before, resampled_shape(before, index3(center), voxel_size(from), voxel_size(to)),
                difference);
            if (!doubt) return {};
            return doubt->with_names(keyword_of);
        },
        "Returns a sentence if resampling a kernel changes it doubtfully much; raises if it makes "
        "no sense.",
        "shape"_a, "center"_a, "from_spacing"_a, "to_spacing"_a, "difference"_a);
}

nb::dict bead_psf_facts(const BeadPsf& psf) {
    nb::list centers, fluxes;
    for (const Bead& bead : psf.beads) {
        centers.append(nb::make_tuple(bead.at[0], bead.at[1], bead.at[2]));
        fluxes.append(bead.flux);
    }
    nb::dict facts;
    facts["centers"] = centers;
    facts["fluxes"] = fluxes;
    facts["found"] = psf.found;
    facts["crowded"] = psf.crowded;
    facts["saturated"] = psf.saturated;
    facts["at_border"] = psf.at_border;
    facts["unusual"] = psf.unusual;
    facts["background"] = psf.background;
    facts["flux"] = psf.flux;
    facts["fwhm"] = nb::make_tuple(psf.fwhm[0], psf.fwhm[1], psf.fwhm[2]);
    return facts;
}

nb::tuple fitted_psf(const ReadArray& image, const PsfOptions& model,
                     std::optional<double> saturation, const EngineChoice& engines,
                     const nb::object& progress) {
    const ConstImageView pixels = view(image);
    FittedPsf fitted;
    Psf psf;
    run_released(1, progress, [&](const ExecutionContext& context) {
        ViewSource source(pixels);
        PsfFitOptions options;
        options.saturation = saturation;
        fitted = fit_psf(source, model, options, engines, context);
        psf = make_psf(fitted.model, {.stop = context.stop});
    });
    const Objective& lens = fitted.model.objective;
    nb::dict optics;
    optics["na"] = lens.na;
    if (has_layers(fitted.model.model)) {
        optics["ns"] = lens.ns;
        optics["depth"] = fitted.model.depth_um;
        optics["tg"] = lens.tg_um;
        optics["tg0"] = lens.tg0_um;
    }
    return nb::make_tuple(to_numpy(std::move(psf.values)), optics, fitted.changes,
                          fitted.first_error, fitted.error);
}

nb::dict refined_psf_facts(const RefinedPsf& refined) {
    nb::dict parameters;
    for (const RefinedParameter& p : refined.parameters)
        parameters[to_string(p.parameter)] =
            nb::make_tuple(p.value, p.deviation, p.low, p.high, p.at_bound);
    const Objective& lens = refined.model.objective;
    nb::dict optics;
    optics["na"] = lens.na;
    optics["ni"] = lens.ni;
    if (has_layers(refined.model.model)) {
        optics["ns"] = lens.ns;
        optics["depth"] = refined.model.depth_um;
    }
    nb::dict facts;
    facts["parameters"] = parameters;
    facts["optics"] = optics;
    facts["first_residual"] = refined.first_residual;
    facts["residual"] = refined.residual;
    return facts;
}

void bind_beads(nb::module_& module) {
    module.def(
        "psf_from_beads",
        [](const ReadArray& stack, const Triple& shape, std::optional<double> saturation,
           std::optional<PixelType> recorded, const std::optional<PsfOptions>& optics,
           const nb::object& progress) {
            const ConstImageView from = view(stack);
            if (recorded) saturation = bead_saturation(from, *recorded);
            BeadPsf psf;
            std::optional<double> residual;
            run_released(1, progress, [&](const ExecutionContext& context) {
                psf = psf_from_beads(from, {index3(shape), saturation}, context);
                if (optics) residual = subtract_background(psf, *optics, {.stop = context.stop});
            });
            nb::dict facts = bead_psf_facts(psf);
            facts["residual"] = residual;
            return nb::make_tuple(to_numpy(std::move(psf.values)), facts);
        },
        "stack"_a, "shape"_a, "saturation"_a.none(), "recorded"_a.none(), "optics"_a.none(),
        "progress"_a = nb::none());
    module.def(
        "psfs_from_beads",
        [](const ReadArray& stack, const Triple& regions, const Triple& shape,
           std::optional<double> saturation, std::optional<PixelType> recorded,
           const std::optional<PsfOptions>& optics, const nb::object& progress) {
            const ConstImageView from = view(stack);
            if (recorded) saturation = bead_saturation(from, *recorded);
            std::vector<RegionPsf> psfs;
            std::vector<std::optional<double>> residuals;
            run_released(1, progress, [&](const ExecutionContext& context) {
                psfs = psfs_from_beads(from, index3(regions), {index3(shape), saturation}, context);
                for (RegionPsf& one : psfs)
                    residuals.push_back(optics ? std::optional(subtract_background(
                                                     one.psf, *optics, {.stop = context.stop}))
                                               : std::nullopt);
            });
            nb::list found;
            for (std::size_t k = 0; k < psfs.size(); ++k) {
                nb::dict facts = bead_psf_facts(psfs[k].psf);
                facts["residual"] = residuals[k];
                facts["at"] = nb::make_tuple(psfs[k].at[0], psfs[k].at[1], psfs[k].at[2]);
                found.append(nb::make_tuple(to_numpy(std::move(psfs[k].psf.values)), facts));
            }
            return found;
        },
        "stack"_a, "regions"_a, "shape"_a, "saturation"_a.none(), "recorded"_a.none(),
        "optics"_a.none(), "progress"_a = nb::none());
    module.def("fit_psf", &fitted_psf, "Fits a PSF model to an image.", "image"_a, "model"_a,
               "saturation"_a.none(), "engines"_a, "progress"_a = nb::none());
    module.def(
        "refine_psf",
        [](const ReadArray& measured, const PsfOptions& model,
           const std::vector<std::string>& parameters, double background,
           const nb::object& progress) {
            const ConstImageView from = view(measured);
            RefineOptions options;
            for (const std::string& name : parameters)
                options.parameters.push_back(parse_psf_parameter(name));
            options.background = background;
            RefinedPsf refined;
            run_released(1, progress, [&](const ExecutionContext& context) {
                refined = refine_psf(from, model, options, context);
            });
            return refined_psf_facts(refined);
        },
        "measured"_a, "model"_a, "parameters"_a, "background"_a, "progress"_a = nb::none());
}

void bind_phantom(nb::module_& module) {
    bind_options<PhantomOptions>(module, "PhantomOptions");
    nb::class_<Phantom>(module, "Phantom")
        .def(nb::init<const PhantomOptions&>(), "options"_a)
        .def("draw",
             [](const Phantom& self, index_t begin, const WriteArray& planes, int threads) {
                 const ImageView target = view(planes);
                 const nb::gil_scoped_release released;
                 self.draw(begin, target, threads);
             })
        .def_prop_ro("objects", [](const Phantom& self) {
            nb::list objects;
            for (const PhantomObject& object : self.objects()) {
                nb::dict one;
                one["kind"] = to_string(object.kind);
                one["center"] =
                    nb::make_tuple(object.center_um[0], object.center_um[1], object.center_um[2]);
                one["radius"] = object.radius_um;
                one["length"] = object.length_um;
                one["brightness"] = object.brightness;
                objects.append(one);
            }
            return objects;
        });
}

void bind_camera(nb::module_& module) {
    bind_options<Camera>(module, "Camera")
        .def("check", &Camera::check)
        .def("expose", [](const Camera& self, const ReadArray& photons, index_t first_plane,
                          const WriteArray& adu, int threads) {
            const ConstImageView from = view(photons);
            const ImageView to = view(adu);
            const CameraReport report =
                without_lock([&] { return expose(self, from, first_plane, to, threads); });
            nb::dict facts;
            facts["pixels"] = report.pixels;
            facts["saturated"] = report.saturated;
            facts["below_zero"] = report.below_zero;
            facts["peak_photons"] = report.peak_photons;
            facts["signal_to_noise_db"] = report.signal_to_noise_db();
            return facts;
        });
}

}  // namespace

void bind_optics(nb::module_& module) {
    bind_psf(module);
    bind_image_optics(module);
    bind_beads(module);
    bind_phantom(module);
    bind_camera(module);
}

}  // namespace convolume::python
