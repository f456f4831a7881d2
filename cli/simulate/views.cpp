// SPDX-License-Identifier: Apache-2.0
// Records several views of a phantom by their forward model (`simulate --views`).

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/files/result_output.hpp"
#include "cli/images/file_names.hpp"
#include "cli/simulate/command.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/forward_model.hpp"
#include "convolume/image_format.hpp"
#include "convolume/scratch_image.hpp"
#include "operations/warnings/psf.hpp"

namespace convolume::cli {

namespace {

/// Path of an output for view v: OUT.2.tif of the second one, for OUT.tif.
std::string path_of(const std::string& output, std::size_t v) {
    return output.empty() ? output : marked_name(output, message('.', v + 1));
}

/// The request of several views, whose files have numbers.
struct ViewsRequest : SimulateRequest {
    explicit ViewsRequest(const SimulateRequest& request) : SimulateRequest(request) {}

    std::size_t count() const { return static_cast<std::size_t>(view_count); }
    RunFiles files() const {
        RunFiles all = ImageFiles::files();
        all.outputs = {run.timeline};
        for (std::size_t v = 0; v < count(); ++v)
            for (const std::string* path : {&output, &second_output})
                all.outputs.push_back(path_of(*path, v));
        for (std::string& path : views.inputs()) all.inputs.push_back(std::move(path));
        return all;
    }
};

class ViewSteps final : public ImageSteps {
  public:
    explicit ViewSteps(const ViewsRequest& request)
        : ImageSteps(request, "phantom"), request_(request), recorded_of_(request.count()) {}

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        check_light(request_, input_metadata_.type, PixelType::float32);
        ViewTransforms transforms{
            request_.views.transforms, request_.views.unit, {}, {}, grid_of_views()};
        for (std::size_t v = 0; v < request_.count(); ++v) {
            One& one = views_.emplace_back();
            one.metadata = output_metadata_;
            if (!request_.view_sizes.empty())
                set_shape(one.metadata,
                          request_.view_sizes[request_.view_sizes.size() == 1 ? 0 : v]);
            transforms.names.push_back(request_.image);
            transforms.voxels.push_back(known_voxel(one.metadata));
            one.psfs = load_view_psfs(*text_of(request_.views.psfs, v), one.metadata,
                                      request_.kernel_options, *context.timeline);
            for (KernelFile& psf : one.psfs.files) {
                if (is_complex(psf.metadata.type)) check_light(request_, {}, psf.metadata.type);
                psf.negative_samples += clip_negative(psf.values);
            }
            if (const std::string* const mask = text_of(request_.views.masks, v))
                one.mask = load_mask(*mask, one.metadata.shape);
            for (const auto* texts : {&request_.views.lights, &request_.views.backgrounds})
                if (const std::string* const text = text_of(*texts, v); text && *text == "auto")
                    throw InvalidArgument(
                        "--light and --background auto are of recorded images; give numbers for "
                        "those that are simulated, or leave them out");
            one.light = number_of(request_.views.lights, v, "--light").value_or(1);
            if (!(one.light > 0 && one.light <= 1e12))
                throw InvalidArgument(message("--light is ", one.light, "; give more than 0"));
            one.camera = request_.camera;
            one.camera.seed += static_cast<std::uint64_t>(v);  // each view has its own noise
            one.camera.background_photons =
                number_of(request_.views.backgrounds, v, "--background").value_or(0);
            one.camera.check();
        }
        const std::vector<VoxelMap> maps = read_view_maps(transforms);
        for (std::size_t v = 0; v < views_.size(); ++v) views_[v].map = maps[v];
    }

    void plan(const ExecutionContext&) override {
        std::vector<View> views;
        for (const One& one : views_) {
            View& view = views.emplace_back();
            view.image = one.metadata.shape;
            view.psfs = one.psfs.field();
            view.map = one.map;
            // The phantom itself ends with zeros, and views see what is beside them.
            if (request_.options.boundary.kind != BoundaryKind::zero)
                view.boundary = request_.options.boundary;
            if (one.mask.shape() != Shape3{}) view.mask = one.mask.view();
        }
        const ObjectGrid grid = object_grid(input_metadata_.shape, views);
        const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
        const index_t own = bytes_beside_model(grid);
        if (own >= limit)
            throw OutOfMemory(sentence("the phantom and the image of a view take ",
                                       format_bytes(own), ", but the limit is ",
                                       format_bytes(limit), "; raise it (",
                                       OptionName{"max_host_bytes"}, ")"));
        ForwardModelOptions options;
        options.precision = request_.options.precision;
        const bool fits = plan_beside_intermediate(limit - own, [&](index_t bytes) {
            options.max_host_bytes = bytes;
            model_.emplace(grid, views, options, request_.engines);
        });
        index_t light = 0;
        for (const One& one : views_) light = checked_add(light, format_of_light(one).bytes());
        light_place_ = place_of_intermediate(light, limit - own, fits);
        plan_bytes_ = own + model_->host_bytes();
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        for (std::size_t v = 0; v < views_.size(); ++v) {
            One& one = views_[v];
            one.writer =
                io::create_image(path_of(request_.output, v), one.metadata, request_.create);
            io::ImageMetadata expected = one.metadata;
            expected.type = PixelType::float32;
            if (!request_.second_output.empty())
                one.truth_writer =
                    io::create_image(path_of(request_.second_output, v), expected, request_.create);
        }
        const std::string folder = folder_of(request_.output);
        for (One& one : views_)
            one.light_image =
                std::make_unique<ScratchImage>(format_of_light(one), light_place_, folder);
        // The brightest pixel is known only after everything is imaged.
        const double peak = image_phantom(context);
        total_.photons_per_unit = request_.photons_per_unit ? *request_.photons_per_unit
                                                            : photons_for_peak(request_, peak);
        for (One& one : views_) {
            record(one, context);
            one.light_image.reset();
        }
        for (const CameraReport& report : recorded_of_) total_.camera += report;
    }

    void commit() override {
        for (One& one : views_) {
            if (one.truth_writer) one.truth_writer->commit();
            one.writer->commit();
        }
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        facts.json["views"] = nlohmann::ordered_json::array();
        for (const One& one : views_) {
            facts.console.fact(message("view ", &one - views_.data() + 1),
                               path_of(request_.output, index_of(one)));
            nlohmann::ordered_json& json = facts.json["views"].emplace_back();
            tell_camera({facts.console, json}, one.camera, one.metadata);
            report_psfs(facts.console, one.psfs);
            for (const KernelFile& psf : one.psfs.files)
                if (psf.negative_samples > 0)
                    facts.console.warning(negative_samples_warning(psf.negative_samples));
            json["psf"] = to_json(one.psfs);
            json["light"] = one.light;
            json["matrix"] = one.map.matrix;
            json["offset"] = one.map.offset;
        }
        facts.console.fact("plan",
                           message("an object of z,y,x ", to_string(model_->object().shape), ", ",
                                   format_bytes(plan_bytes_), " on ", model_->engines()));
        const bool in_file = light_place_ == ScratchImage::Place::file;
        if (in_file) facts.console.fact("light", "between views and cameras, in temporary files");
        facts.json["plan"] = {{"object", shape_json(model_->object().shape)},
                              {"host_bytes", plan_bytes_},
                              {"light_in_file", in_file},
                              {"engines", model_->engines()}};
    }

    void tell_result(const Facts& facts) const override {
        ImageSteps::tell_result(facts);
        const auto peak = [&](const One& one) { return recorded_of_[index_of(one)].peak_photons; };
        const auto brightest =
            std::max_element(views_.begin(), views_.end(),
                             [&](const One& a, const One& b) { return peak(a) < peak(b); });
        tell_recorded(facts, brightest->camera, total_);
    }

    void tell_output(const Facts& facts) const override {
        facts.json["output"] = nlohmann::ordered_json::array();
        for (const One& one : views_) {
            const std::string path = path_of(request_.output, index_of(one));
            report_output(facts.console, path, one.metadata, request_.create.compression);
            facts.json["output"].push_back(output_json(path, one.metadata));
            if (request_.second_output.empty()) continue;
            const std::string truth = path_of(request_.second_output, index_of(one));
            facts.json["output"].back()["truth"] = truth;
            facts.console.fact("truth", truth + ": float32, expected photons");
        }
    }

  private:
    struct One {
        io::ImageMetadata metadata;
        ViewPsfs psfs;
        Volume mask;  ///< without samples if there is none
        VoxelMap map;
        double light = 1;
        Camera camera;
        std::unique_ptr<io::ImageWriter> writer, truth_writer;
        std::unique_ptr<ScratchImage> light_image;  ///< of all volumes, until it is recorded
    };

    PixelType light_type() const {
        return request_.options.precision == Precision::float64 ? PixelType::float64
                                                                : PixelType::float32;
    }
    StackFormat format_of_light(const One& one) const {
        return {one.metadata.shape, light_type(), input_metadata_.frames, input_metadata_.channels};
    }
    /// Returns the bytes of the phantom as it is read, of the object, and of the largest image of a
    /// view.
    index_t bytes_beside_model(const ObjectGrid& grid) const {
        index_t largest = 0;
        for (const One& one : views_)
            largest = std::max(largest, StackFormat{one.metadata.shape, light_type()}.bytes());
        return checked_add(
            checked_add(StackFormat{input_metadata_.shape, input_metadata_.type}.bytes(), largest),
            StackFormat{grid.shape, light_type()}.bytes());
    }

    std::size_t index_of(const One& one) const {
        return static_cast<std::size_t>(&one - views_.data());
    }

    static void set_shape(io::ImageMetadata& metadata, const Shape3& shape) {
        io::move_planes(metadata, shape, {shape.z == metadata.shape.z ? 0 : shape.z, 1, 1});
    }

    /// Sets the recording's metadata for views without extents of their own. Returns the map from
    /// its voxels to those of the phantom.
    VoxelMap grid_of_views() {
        const std::optional<VoxelSize> voxel = known_voxel(input_metadata_);
        if (!voxel && (request_.pixel_um || request_.step_um))
            throw InvalidArgument(message("--pixel and --step need the voxel size of \"",
                                          request_.image, "\"; add --voxel"));
        CoveringGrid grid{input_metadata_.shape, {}};
        if (voxel)
            grid = covering_grid(
                input_metadata_.shape, *voxel,
                {request_.step_um.value_or(voxel->z_um), request_.pixel_um.value_or(voxel->y_um),
                 request_.pixel_um.value_or(voxel->x_um)},
                "--pixel and --step");
        if (grid.shape != input_metadata_.shape) set_shape(output_metadata_, grid.shape);
        set_recorded(request_, grid.shape, output_metadata_);
        return inverse(grid.map);
    }

    /// Makes the light of all views. Returns that of the brightest pixel.
    double image_phantom(const ExecutionContext& context) {
        Volume object(model_->object().shape, light_type());
        Volume read(input_metadata_.shape, input_metadata_.type);
        const ImageView place =
            subview(object.view(), {model_->object().result_at,
                                    end_of(model_->object().result_at, input_metadata_.shape)});
        double peak = 0;
        for (index_t t = 0; t < input_metadata_.frames; ++t)
            for (index_t c = 0; c < input_metadata_.channels; ++c) {
                reader_->read(t, c, read.view());
                convert_pixels(std::as_const(read).view(), place, request_.engines.threads);
                check_samples(object, t, c);
                for (std::size_t v = 0; v < views_.size(); ++v) {
                    One& one = views_[v];
                    Volume image(one.metadata.shape, light_type());
                    model_->record(v, std::as_const(object).view(), image.view(), context);
                    peak = std::max(peak, one.light * largest(image));
                    one.light_image->write_box(t, c, {{0, 0, 0}, image.shape()},
                                               std::as_const(image).view());
                }
            }
        reader_->check_unchanged();
        return peak;
    }

    static Index3 end_of(const Index3& begin, const Shape3& shape) {
        return {begin.z + shape.z, begin.y + shape.y, begin.x + shape.x};
    }

    /// Counts negative samples, and refuses or replaces those that are not finite.
    void check_samples(Volume& object, index_t t, index_t c) {
        visit_pixel_type(object.type(), [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_floating_point_v<T>) {
                T* const values = object.elements<T>();
                for (index_t i = 0; i < element_count(object.shape()); ++i) {
                    total_.negative_samples += values[i] < 0;
                    if (std::isfinite(values[i])) continue;
                    if (request_.options.nan == NanPolicy::error) refuse(values[i], i, t, c);
                    values[i] = 0;
                    ++executed_.nonfinite_inputs;
                }
            }
        });
    }

    [[noreturn]] void refuse(double value, index_t i, index_t t, index_t c) const {
        const Shape3& shape = model_->object().shape;
        const Index3& at = model_->object().result_at;
        const NonfiniteSample::Location place{
            {i / (shape.y * shape.x) - at.z, i / shape.x % shape.y - at.y, i % shape.x - at.x},
            t,
            c,
            volumes() > 1};
        throw NonfiniteSample(value, reader_->place_in_file(place), "repair it, or add --nan zero");
    }

    static double largest(const Volume& image) {
        double found = 0;
        visit_pixel_type(image.type(), [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_floating_point_v<T>) {
                const T* const values = image.elements<T>();
                found = static_cast<double>(
                    *std::max_element(values, values + element_count(image.shape())));
            }
        });
        return found;
    }

    /// Records the light of all volumes in a view, plane by plane.
    void record(One& one, const ExecutionContext& context) {
        const Shape3& shape = one.metadata.shape;
        const Shape3 plane{1, shape.y, shape.x};
        Volume light(plane, light_type()), photons(plane, PixelType::float64);
        Volume adu(plane, one.metadata.type);
        Volume expected(plane, PixelType::float32);
        const index_t planes = volumes() * shape.z;
        for (index_t number = 0; number < planes; ++number) {
            throw_if_stopped(context);
            const index_t z = number % shape.z, volume = number / shape.z;
            const index_t t = volume / input_metadata_.channels;
            const index_t c = volume % input_metadata_.channels;
            const Box3 box{{z, 0, 0}, {z + 1, shape.y, shape.x}};
            one.light_image->read_box(t, c, box, light.view());
            convert_pixels(std::as_const(light).view(), photons.view(), request_.engines.threads);
            recorded_of_[index_of(one)] += expose_plane(one, number, photons, adu);
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, adu.bytes());
            one.writer->write_box(t, c, box, std::as_const(adu).view());
            if (!one.truth_writer) continue;
            double* const values = photons.elements<double>();
            for (index_t k = 0; k < element_count(plane); ++k)
                values[k] += one.camera.background_photons;
            convert_pixels(std::as_const(photons).view(), expected.view(),
                           request_.engines.threads);
            one.truth_writer->write_box(t, c, box, std::as_const(expected).view());
        }
    }

    /// Scales the light of a plane to photons, and records them.
    CameraReport expose_plane(const One& one, index_t number, Volume& photons, Volume& adu) const {
        double* const values = photons.elements<double>();
        const double factor = total_.photons_per_unit * one.light;
        // Rounding of the transforms may be below zero in dark pixels.
        for (index_t k = 0; k < element_count(photons.shape()); ++k)
            values[k] = std::max(0.0, values[k] * factor);
        return expose(one.camera, std::as_const(photons).view(), number, adu.view(),
                      request_.engines.threads);
    }

    const ViewsRequest& request_;
    std::vector<One> views_;
    std::optional<ForwardModel> model_;
    std::vector<CameraReport> recorded_of_;  ///< of each view
    RecordedLight total_;                    ///< of all views
    ScratchImage::Place light_place_ = ScratchImage::Place::memory;
    index_t plan_bytes_ = 0;
};

}  // namespace

void take_view_psfs(SimulateRequest& request, const ManyFilesRequest& many) {
    if (many.is_many) throw InvalidArgument("--views records one phantom; leave out the others");
    if (request.made_psf.is_needed)
        throw InvalidArgument(
            "--views takes the PSFs of files; add --psf, once for all views or once for each");
    if (!request.kernel.empty()) request.views.psfs.push_back(request.kernel);
    for (const ChannelKernel& kernel : request.channel_kernels) {
        if (!kernel.channel.empty())
            throw InvalidArgument(message("--psf names the channel \"", kernel.channel,
                                          "\", but with --views it names the PSF of each view"));
        request.views.psfs.push_back(kernel.path);
    }
    const auto count = static_cast<std::size_t>(request.view_count);
    request.views.check(count);
    check_view_values("--view-size", request.view_sizes.size(), count);
}

void simulate_views(const SimulateRequest& request) {
    run_steps<ViewSteps>(ViewsRequest(request));
}

}  // namespace convolume::cli
