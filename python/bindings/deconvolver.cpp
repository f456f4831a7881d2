// SPDX-License-Identifier: Apache-2.0
#include "convolume/deconvolver.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/deconvolution.hpp"
#include "bindings/options.hpp"
#include "bindings/released.hpp"
#include "convolume/bleaching.hpp"
#include "convolume/cache.hpp"
#include "convolume/device.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/threads.hpp"
#include "deconvolve/report_table.hpp"
#include "operations/kernel/fft_order.hpp"
#include "operations/warnings/psf.hpp"
#include "operations/warnings/restoration.hpp"

namespace convolume::python {

nb::dict to_dict(const DeconvolveReport& report) {
    nb::dict facts;
    for_each_fact(report, [&](const char* name, const auto& value, const char*, const char*) {
        facts[name] = value;
    });
    facts["of_library"] = report;
    return facts;
}

namespace {

/// Throws InvalidArgument if a keyword is given that asks for something, and that the method of
/// `options` does not use.
template <class Struct>
void require_used_keywords(const DeconvolveOptions& options, const nb::dict& given) {
    require_used<Struct>(options, [&](const auto& field) -> std::optional<std::string> {
        const std::string keyword(field.text.keyword());
        if (keyword.empty() || !given.contains(keyword.c_str())) return {};
        const nb::object value = given[keyword.c_str()];
        double number = 0;
        if (value.is_none()) return "";
        if (nb::try_cast(value, number)) return option_value_text(number);
        return nb::str(value).c_str();
    });
}

/// Returns name, unit and meaning of each fact.
nb::list describe_facts() {
    nb::list all;
    for_each_fact(DeconvolveReport(),
                  [&](const char* name, const auto&, const char* unit, const char* meaning) {
                      nb::dict one;
                      one["name"] = name;
                      one["unit"] = unit;
                      one["meaning"] = meaning;
                      all.append(one);
                  });
    return all;
}

nb::dict to_dict(const Iteration& iteration) {
    nb::dict facts;
    facts["number"] = iteration.number;
    facts["of"] = iteration.of;
    facts["likelihood"] = iteration.likelihood;
    facts["residual"] = iteration.residual;
    facts["searching"] = iteration.searching;
    facts["held_out"] = iteration.held_out;
    facts["consenting"] = iteration.consenting;
    return facts;
}

nb::dict to_dict(const DeconvolvePlan& plan) {
    nb::dict facts;
    facts["on_device"] = plan.on_device;
    facts["by_walks"] = plan.by_walks;
    facts["object"] = triple(plan.object);
    facts["device_bytes"] = plan.device_bytes;
    return facts;
}

}  // namespace

nb::dict execute_deconvolution(const std::optional<ReadArray>& start, const nb::object& callback,
                               const nb::object& progress, const ExecuteDeconvolution& deconvolve) {
    DeconvolveReport report;
    // Iterations may take any time, so they never run in the caller's thread, which must see
    // Ctrl-C.
    run_released(1, progress, [&](const ExecutionContext& context) {
        std::stop_source stop;
        const std::stop_callback passed_on(context.stop, [&] { stop.request_stop(); });
        ExecutionContext own = context;
        own.stop = stop.get_token();
        PythonCalls calls(stop);
        DeconvolveRun run;
        if (start) run.start = view(*start);
        if (!callback.is_none())
            run.on_iteration = [&](const Iteration& done, const EstimateReader& read) {
                if (done.split > 0) return;
                calls.call([&] {
                    // Python may keep the reader beyond the callback, when its references are no
                    // longer valid.
                    const auto valid = std::make_shared<bool>(true);
                    const nb::object reader =
                        nb::cpp_function([&read, valid](const WriteArray& target) {
                            if (!*valid)
                                throw InvalidArgument(
                                    "the estimate is there only while the callback runs");
                            read(view(target));
                        });
                    try {
                        callback(to_dict(done), reader);
                    } catch (...) {
                        *valid = false;
                        throw;
                    }
                    *valid = false;
                });
            };
        try {
            report = deconvolve(run, own);
        } catch (const Cancelled&) {
            if (!calls.raised()) throw;
        }
        if (calls.raised()) std::rethrow_exception(calls.raised());
    });
    return to_dict(report);
}

namespace {

void bind_device_deconvolver(nb::module_& module) {
    nb::class_<DeviceDeconvolver>(module, "DeviceDeconvolver")
        .def(
            "execute",
            [](const DeviceDeconvolver& self, std::uintptr_t image, std::uintptr_t out,
               std::uintptr_t stream, const std::optional<ReadArray>& start,
               const nb::object& callback, const nb::object& progress) {
                return execute_deconvolution(
                    start, callback, progress,
                    [&](const DeconvolveRun& run, const ExecutionContext& context) {
                        return self.execute(pointer<const void>(image), pointer<void>(out),
                                            DeviceStream(pointer<CUstream_st>(stream)), run,
                                            context);
                    });
            },
            "image"_a, "out"_a, "stream"_a, "start"_a = nb::none(), "callback"_a = nb::none(),
            "progress"_a = nb::none());
    module.def(
        "device_deconvolver",
        [](const Triple& shape, const ReadArray& psf, const DeconvolveOptions& options, int device,
           PixelType image_type, PixelType output_type, std::optional<index_t> max_gpu_bytes,
           bool from_cache) {
            const ConstImageView taps = view(psf);
            DeviceDeconvolveOptions where;
            where.device = device;
            where.image_type = image_type;
            where.output_type = output_type;
            where.max_gpu_bytes = max_gpu_bytes;
            const nb::gil_scoped_release released;
            return from_cache
                       ? std::const_pointer_cast<DeviceDeconvolver>(
                             cached_device_deconvolver(index3(shape), taps, options, where))
                       : std::make_shared<DeviceDeconvolver>(index3(shape), taps, options, where);
        },
        "Returns a new DeviceDeconvolver, or one from the cache of plans.", "shape"_a, "psf"_a,
        "options"_a, "device"_a, "image_type"_a, "output_type"_a, "max_gpu_bytes"_a.none(),
        "from_cache"_a);
}

void bind_missing_pixels(nb::module_& module) {
    module.attr("missing_pixel") = static_cast<double>(missing_pixel);
    nb::class_<MissingPixels>(module, "MissingPixels")
        .def_prop_ro("count", &MissingPixels::count)
        .def_ro("findings", &MissingPixels::findings)
        .def_prop_ro("saturation",
                     [](const MissingPixels& self) -> std::optional<double> {
                         if (!self.saturated) return std::nullopt;
                         return self.saturated->value;
                     })
        .def_prop_ro("saturated",
                     [](const MissingPixels& self) {
                         return self.saturated ? self.saturated->finding : std::string();
                     })
        .def(
            "mark",
            [](const MissingPixels& self, const ReadArray& image, const WriteArray& target) {
                ViewSource source(view(image));
                const ImageView to = view(target);
                MarkedSource(source, self).read_box(0, 0, {{0, 0, 0}, to.shape}, to);
            },
            "Copies an image to a float32 array, and marks what is missing.", "image"_a,
            "target"_a);
    module.def(
        "find_missing_pixels",
        [](const ReadArray& image, const std::vector<ReadArray>& psfs, const std::string& method,
           const MissingPixelOptions& options, const std::optional<ReadArray>& mask,
           std::optional<int> threads) {
            ViewSource source(view(image));
            const MissingPixelOptions search =
                searched_by(parse_deconvolve_method(method), options);
            const nb::gil_scoped_release released;
            std::optional<PsfSharpness> sharpness;
            for (const ReadArray& psf : psfs) {
                if (!search.find_hot_pixels) break;
                const PsfSharpness one = sharpness_of(view(psf));
                if (!sharpness) sharpness = one;
                sharpness->include(one);
            }
            MissingPixels found = find_missing_pixels(
                source, 0, 0, sharpness.value_or(PsfSharpness()), search, threads.value_or(0));
            if (mask) found.add_mask(view(*mask), "the mask");
            return found;
        },
        "Returns the pixels of an image that a deconvolution leaves out.", "image"_a, "psfs"_a,
        "method"_a, "options"_a, "mask"_a.none(), "threads"_a.none());
    bind_options<MissingPixelOptions>(module, "MissingPixelOptions")
        .def_rw("find_saturated", &MissingPixelOptions::find_saturated)
        .def_rw("camera_maximum", &MissingPixelOptions::camera_maximum);
}

void bind_bleaching(nb::module_& module) {
    module.def(
        "correct_bleaching",
        [](const ReadArray& exposures, double offset, const WriteArray& target) {
            const ImageView to = view(target);
            ViewSource source(view(exposures));
            const nb::gil_scoped_release released;
            const Bleaching found = find_bleaching(source, 0, true, offset, thread_count(0));
            UnbleachedVolume(source, found, 0).read_box(0, 0, {{0, 0, 0}, to.shape}, to);
        },
        "Scales the light of the planes of an image back to that of the brightest one.",
        "exposures"_a, "offset"_a, "target"_a);
}

std::vector<std::string> in_words_of_python(const std::vector<Sentence>& sentences) {
    std::vector<std::string> texts;
    for (const Sentence& one : sentences) texts.push_back(one.with_names(keyword_of));
    return texts;
}

void bind_warnings(nb::module_& module) {
    module.def(
        "psf_warnings",
        [](const ReadArray& taps, const Triple& center, bool center_is_given, bool is_in_fft_order,
           const Triple& image) {
            PsfUse use{view(taps), index3(center)};
            Volume unwrapped;
            if (is_in_fft_order) {
                unwrapped = unwrapped_kernel(use.taps);
                use.taps = std::as_const(unwrapped).view();
            }
            const WrappedAxes found =
                find_wrapped_axes(use.taps, survey_kernel(use.taps, thread_count(0)));
            use.center_is_given = center_is_given;
            use.is_in_fft_order = found.any() && !is_in_fft_order;
            std::vector<Sentence> warnings = psf_warnings(use, index3(image));
            if (auto one = fft_order_warning(found, use.taps.shape, use.name, is_in_fft_order))
                warnings.insert(warnings.begin(), *one);
            return in_words_of_python(warnings);
        },
        "Returns what is doubtful about a PSF for images of a shape.", "taps"_a, "center"_a,
        "center_is_given"_a, "is_in_fft_order"_a, "image"_a);
    module.def("negative_samples_warning", &negative_samples_warning, "samples"_a);
    module.def(
        "voxel_warning",
        [](const KnownVoxelSize& image, const Triple& image_shape, const KnownVoxelSize& psf,
           const Triple& psf_shape, const std::string& name,
           const std::string& cure) -> std::optional<std::string> {
            const auto found = voxel_warning(image, index3(image_shape), psf, index3(psf_shape),
                                             name, {cure, cure});
            if (!found) return {};
            return found->text();
        },
        "Returns a sentence if only one of image and PSF knows its voxel size; None otherwise.",
        "image"_a, "image_shape"_a, "psf"_a, "psf_shape"_a, "name"_a, "cure"_a);
    module.def(
        "restoration_warnings",
        [](const std::vector<DeconvolveReport>& volumes, const DeconvolveOptions& options,
           const std::string& saturated) {
            return in_words_of_python(
                restoration_warnings({volumes, options, false, false, {}, saturated, {}}));
        },
        "Returns what is doubtful about finished deconvolutions, most important first.",
        "volumes"_a, "options"_a, "saturated"_a);
}

}  // namespace

void bind_deconvolver(nb::module_& module) {
    bind_options<DeconvolveOptions>(module, "DeconvolveOptions")
        .def_rw("has_pixel_weights", &DeconvolveOptions::has_pixel_weights);
    nb::class_<DeconvolveReport>(module, "DeconvolveReport");

    nb::class_<Deconvolver>(module, "Deconvolver")
        .def_prop_ro("negative_psf_samples",
                     [](const Deconvolver& self) { return self.negative_psf_samples(); })
        .def_prop_ro("plan_text", [](const Deconvolver& self) { return self.plan().to_string(); })
        .def_prop_ro("plan_facts", [](const Deconvolver& self) { return to_dict(self.plan()); })
        .def(
            "execute",
            [](const Deconvolver& self, const ReadArray& image, const WriteArray& out,
               const std::optional<ReadArray>& start, const nb::object& callback,
               const nb::object& progress, const std::optional<WriteArray>& uncertainty,
               const std::optional<ReadArray>& weights) {
                const ConstImageView from = view(image);
                const ConstImageView pixel_weights = weights ? view(*weights) : ConstImageView{};
                const ImageView to = view(out);
                std::optional<ViewSink> deviation;
                if (uncertainty) deviation.emplace(view(*uncertainty));
                return execute_deconvolution(
                    start, callback, progress,
                    [&](DeconvolveRun run, const ExecutionContext& context) {
                        if (deviation) run.uncertainty = &*deviation;
                        run.pixel_weights = pixel_weights;
                        return self.execute(from, to, run, context);
                    });
            },
            "image"_a, "out"_a, "start"_a = nb::none(), "callback"_a = nb::none(),
            "progress"_a = nb::none(), "uncertainty"_a = nb::none(), "weights"_a = nb::none());
    module.def(
        "has_likelihood",
        [](std::string_view method) { return has_likelihood(parse_deconvolve_method(method)); },
        "Returns whether a method has a likelihood of photons.", "method"_a);
    module.def(
        "uses_option",
        [](std::string_view method, std::string_view option) {
            return uses_option(parse_deconvolve_method(method), option);
        },
        "Returns whether a method uses an option.", "method"_a, "option"_a);
    module.def(
        "require_option",
        [](std::string_view method, std::string_view option) {
            require_option(parse_deconvolve_method(method), option);
        },
        "Raises InvalidArgument if a method does not use an option.", "method"_a, "option"_a);
    module.def(
        "require_used",
        [](std::string_view method, std::string_view view_updates, const nb::dict& given) {
            DeconvolveOptions options;
            options.method = parse_deconvolve_method(method);
            options.view_updates = parse_view_updates(view_updates);
            require_used_keywords<DeconvolveOptions>(options, given);
            require_used_keywords<MissingPixelOptions>(options, given);
        },
        "Raises InvalidArgument if a keyword is given that a method, or a way of updating views, "
        "does not use, and its value asks for something.",
        "method"_a, "view_updates"_a, "given"_a);
    module.def("describe_facts", &describe_facts);
    module.def("resolved", &resolved,
               "Returns options with values for what they leave open, for images of this number of "
               "planes.",
               "options"_a, "planes"_a);
    module.attr("usual_splits") = usual_splits;
    module.def(
        "deconvolver",
        [](const Triple& shape, const ReadArray& psf, const DeconvolveOptions& options,
           const EngineChoice& engines, bool from_cache) {
            const ConstImageView taps = view(psf);
            std::shared_ptr<const Deconvolver> made;
            plan_released([&] {
                made = from_cache
                           ? cached_deconvolver(index3(shape), taps, options, engines)
                           : std::make_shared<Deconvolver>(index3(shape), taps, options, engines);
            });
            return std::const_pointer_cast<Deconvolver>(made);
        },
        "Returns a new Deconvolver, or one from the cache of plans.", "shape"_a, "psf"_a,
        "options"_a, "engines"_a, "from_cache"_a);
    module.def(
        "deconvolver_at_depths",
        [](const Triple& shape, const std::vector<ReadArray>& psfs,
           const std::vector<double>& depths_um, const std::vector<Triple>& centers,
           const DeconvolveOptions& options, const EngineChoice& engines) {
            std::vector<DepthPsf> given;
            for (std::size_t k = 0; k < psfs.size(); ++k)
                given.push_back(
                    {view(psfs[k]), depths_um.at(k),
                     KernelCenter{KernelCenter::Kind::explicit_, index3(centers.at(k))}});
            std::optional<Deconvolver> made;
            plan_released([&] { made.emplace(index3(shape), given, options, engines); });
            return std::move(*made);
        },
        "Returns a Deconvolver with a PSF that varies with depth.", "shape"_a, "psfs"_a,
        "depths_um"_a, "centers"_a, "options"_a, "engines"_a);
    bind_device_deconvolver(module);
    bind_missing_pixels(module);
    bind_bleaching(module);
    bind_warnings(module);
}

}  // namespace convolume::python
