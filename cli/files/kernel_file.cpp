// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_file.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/psf/parameters.hpp"
#include "cli/psf/report.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "operations/kernel/voxel_sizes.hpp"

namespace convolume::cli {

namespace {

KernelBackground parse_kernel_background(std::string_view option, const std::string& text) {
    if (text == "auto") return {true, 0};
    return {false, parse_number_or("auto", option, text)};
}

/// Throws OutOfMemory if the kernel takes more bytes than its options allow. `sizes` says how voxel
/// sizes differ; it is empty if they do not.
void check_kernel_memory(const KernelFile& kernel, index_t bytes, const std::string& sizes = {}) {
    if (bytes > kernel.options.room.most_bytes)
        throw OutOfMemory(sentence(
            "the kernel", kernel.path.empty() ? "" : " \"" + kernel.path + '"', " takes ",
            format_limit(bytes), " to be read and brought to the image's voxels, and the limit is ",
            format_bytes(kernel.options.room.most_bytes), "; raise it to at least that (",
            OptionName{"max_host_bytes"}, "), crop the kernel, or correct the voxel sizes",
            sizes.empty() ? "" : " (" + sizes + ")"));
}

/// Returns the parameters of a PSF that was computed, from the file beside it, or nothing.
nlohmann::ordered_json parameters_beside(const std::string& path) {
    const auto side =
        std::filesystem::path(io::parse_path(path).file).replace_extension(".json").string();
    try {
        return read_psf_parameters(side);
    } catch (const Error&) {
        return {};
    }
}

/// Returns a warning if a PSF for a stage scan is resampled along z, else an empty text.
std::string scan_warning(const KernelFile& kernel, const DifferingVoxels& sizes) {
    if (sizes.kernel.z_um == sizes.image.z_um) return {};
    const bool is_scan = kernel.made ? kernel.made->scan().has_value()
                                     : parameters_beside(kernel.path).contains("scan_angle_deg");
    if (!is_scan) return {};
    return message(
        "the PSF is for a stage scan with steps of ", format_number(sizes.kernel.z_um),
        " um, but planes of the image are ", format_number(sizes.image.z_um),
        " um apart: planes of a scan are displaced, and resampling along z blurs the PSF; "
        "give the image's step as z of --voxel, or make the PSF with that --scan-step");
}

void adapt_voxels(KernelFile& kernel, const io::ImageMetadata& image) {
    const DifferingVoxels sizes =
        differing_voxels(image.voxel_size_um, kernel.metadata.voxel_size_um, kernel.metadata.shape);
    if (!sizes.differ()) return;
    const std::string difference =
        voxel_difference(image.voxel_size_um, kernel.metadata.voxel_size_um,
                         message("the kernel \"", kernel.path, '"'));
    const Shape3& shape = kernel.values.shape();
    switch (kernel.options.resample) {
        case PsfResample::never:
            throw InvalidArgument(
                message(difference, "; leave out --psf-resample never, or correct the metadata"));
        case PsfResample::ignore:
            kernel.warnings.push_back(difference + "; the kernel is used without resampling");
            return;
        case PsfResample::automatic:
            break;
    }
    if (const auto doubt = check_resampling(
            shape, resampled_shape(shape, kernel.file_center, sizes.kernel, sizes.image),
            difference, ", or add --psf-resample ignore"))
        kernel.warnings.push_back(in_words_of_command(*doubt));
    if (std::string warning = scan_warning(kernel, sizes); !warning.empty())
        kernel.warnings.push_back(std::move(warning));
    check_kernel_memory(kernel,
                        resampling_bytes(shape, kernel.values.type(), kernel.file_center,
                                         sizes.kernel, sizes.image) +
                            kernel.values.memory_bytes(),
                        difference);
    ResampledKernel resampled =
        resample_kernel(kernel.values.view(), kernel.file_center, sizes.kernel, sizes.image);
    kernel.values = std::move(resampled.values);
    kernel.center = resampled.center;
    kernel.resampled = true;
}

Index3 difference(const Index3& a, const Index3& b) {
    return {a.z - b.z, a.y - b.y, a.x - b.x};
}

Index3 middle_of(const Shape3& shape) {
    return {shape.z / 2, shape.y / 2, shape.x / 2};
}

bool is_corner(const KernelOptions& options) {
    return options.center.kind == KernelCenter::Kind::corner;
}

/// Brings samples in FFT order into natural order if the options ask for it. Warns if the samples
/// are in FFT order and the options do not, and the other way round. `survey` is that of the
/// values.
void apply_fft_order(KernelFile& kernel, KernelSurvey& survey) {
    const bool unwraps = is_corner(kernel.options);
    if (unwraps) {
        kernel.values = unwrapped_kernel(kernel.values.view());
        survey = survey_kernel(kernel.values.view(), thread_count(0));
    }
    const WrappedAxes found = find_wrapped_axes(kernel.values.view(), survey);
    if (!unwraps) kernel.wrapped = found;
    if (const auto warning = fft_order_warning(found, kernel.values.shape(),
                                               message("the kernel \"", kernel.path, '"'), unwraps))
        kernel.warnings.push_back(in_words_of_command(*warning));
}

/// Subtracts the background, finds the center, and resamples values to the image's voxels. `survey`
/// is that of the values.
void prepare_values(KernelFile& kernel, KernelSurvey survey, const io::ImageMetadata& image) {
    const KernelBackground& background = kernel.options.background;
    kernel.background = subtract_background(kernel.values, background);
    if (background.automatic || background.value != 0)
        survey = survey_kernel(kernel.values.view(), thread_count(0));
    kernel.file_center =
        center_index(is_corner(kernel.options) ? KernelCenter{} : kernel.options.center,
                     kernel.values.shape(), survey);
    kernel.file_peak = survey.peak;
    kernel.center = kernel.file_center;
    adapt_voxels(kernel, image);
    kernel.shape = kernel.values.shape();
}

/// Whether samples are kept in a scratch file. Changes of all samples are made in memory.
bool goes_to_file(const KernelFile& kernel) {
    const KernelOptions& options = kernel.options;
    const bool changes =
        is_corner(options) || options.background.automatic || options.background.value != 0;
    return !options.room.scratch_directory.empty() && !changes &&
           kernel.metadata.bytes() > options.room.most_bytes / 4;
}

Volume read_into_memory(io::ImageReader& reader, const KernelFile& kernel) {
    check_kernel_memory(kernel, kernel.metadata.bytes());
    Volume values(kernel.metadata.shape, kernel.metadata.type);
    reader.read(0, 0, values.view());
    return values;
}

/// Reads samples into a scratch file a few planes at a time. Integers become floats, as taps are.
Volume read_into_file(io::ImageReader& reader, const std::string& directory) {
    const io::ImageMetadata& metadata = reader.metadata();
    const Shape3& shape = metadata.shape;
    const bool wide = metadata.type == PixelType::int32 || metadata.type == PixelType::uint32;
    Volume values = Volume::in_file(shape,
                                    !is_integer(metadata.type) ? metadata.type
                                    : wide                     ? PixelType::float64
                                                               : PixelType::float32,
                                    directory);
    constexpr index_t most_bytes = index_t{64} << 20;
    const index_t at_once = std::clamp<index_t>(
        most_bytes * shape.z / std::max<index_t>(metadata.bytes(), 1), 1, shape.z);
    Volume planes({at_once, shape.y, shape.x}, metadata.type);
    for (index_t z = 0; z < shape.z; z += at_once) {
        const index_t end = std::min(shape.z, z + at_once);
        const ImageView band = subview(planes.view(), {{0, 0, 0}, {end - z, shape.y, shape.x}});
        reader.read_planes(0, 0, z, band);
        convert_pixels(band, subview(values.view(), {{z, 0, 0}, {end, shape.y, shape.x}}), 0);
        values.release_pages();
    }
    return values;
}

/// Returns the cure for a file of several channels or times: an option that makes planes of them.
std::string cure_for_several_stacks(const io::ImageMetadata& kernel) {
    std::string axes = kernel.axes;
    const char several = kernel.channels > 1 ? 'C' : 'T';
    const auto at = axes.find(several);
    if (kernel.shape.z > 1 || (kernel.channels > 1 && kernel.frames > 1) ||
        at == std::string::npos || axes.find('Z') != std::string::npos)
        return "save one of them as its own file, or give the meaning of its axes (--kernel-axes)";
    axes[at] = 'Z';
    return message("if these are its planes, add --kernel-axes ", axes,
                   ", else save one of them as its own file");
}

}  // namespace

void add_kernel_options(CLI::App& app, KernelOptions& options) {
    add_value(app, "--kernel-axes,--psf-axes", options.axes, "AXES",
              "Meaning of the axes of kernel files, as --axes of the image's, e.g. ZYX");
    add_value(app, "--kernel-image,--psf-image", options.image, "N|NAME",
              "Which image of kernel files with several, by its number from 0 or its name");
    with_option<Options>("center", [&](const auto& center) {
        add_parsed(app, center.text.flags, options.center, parse_kernel_center, center.text.type,
                   option_help(center, Options()));
    });
    add_parsed(
        app, "--psf-background", options.background, parse_kernel_background, "N|auto",
        "Background to subtract from the kernel; what is below 0 then is set to 0; auto: three "
        "standard deviations above the median of the outer faces (default 0)");
    add_choice(
        app, "--psf-resample", options.resample,
        {{"auto", PsfResample::automatic},
         {"never", PsfResample::never},
         {"ignore", PsfResample::ignore}},
        "If the voxel sizes of image and kernel are known and differ: resample the kernel (auto, "
        "the default), stop with an error (never), or use the kernel as it is (ignore)");
}

index_t KernelFile::bytes() const {
    index_t sum = values.memory_bytes();
    for (const KernelFile& kernel : deeper) sum += kernel.bytes();
    return sum;
}

void KernelFile::release_values() {
    values = Volume();
    for (KernelFile& kernel : deeper) kernel.release_values();
}

std::unique_ptr<io::ImageReader> open_kernel(const std::string& path,
                                             const KernelOptions& options) {
    return io::open_image(path, {.axes = options.axes, .image = options.image});
}

KernelFile load_kernel(const std::string& path, const io::ImageMetadata& image,
                       const KernelOptions& options, Timeline& timeline) {
    const auto reader = open_kernel(path, options);
    KernelFile kernel;
    kernel.path = path;
    kernel.metadata = reader->metadata();
    kernel.options = options;
    if (kernel.metadata.channels != 1 || kernel.metadata.frames != 1)
        throw BadData(message("a kernel is one 3D stack, but \"", path, "\" has ",
                              kernel.metadata.channels, " channels and ", kernel.metadata.frames,
                              " frames; ", cure_for_several_stacks(kernel.metadata)));
    {
        const PhaseTimer timer(&timeline, Phase::read, -1, -1, kernel.metadata.bytes());
        kernel.values = goes_to_file(kernel)
                            ? read_into_file(*reader, options.room.scratch_directory)
                            : read_into_memory(*reader, kernel);
        reader->check_unchanged();
    }
    KernelSurvey survey = survey_kernel(kernel.values.view(), thread_count(0));
    check_finite_kernel(path, survey);
    apply_fft_order(kernel, survey);
    prepare_values(kernel, survey, image);
    return kernel;
}

KernelFile make_kernel(PsfOptions psf, std::optional<double> share, const io::ImageMetadata& image,
                       const KernelOptions& options, const ExecutionContext& context) {
    if (psf.size == Shape3{0, 0, 0}) {
        psf.size = {1, 1, 1};
        psf.size = automatic_psf_size(psf, image.shape, share, context);
    }
    if (is_corner(options))
        throw InvalidArgument(
            "--kernel-center corner is for kernel files in FFT order, and the PSF that is made is "
            "not; leave it out");
    KernelFile kernel;
    kernel.options = options;
    {
        const PhaseTimer timer(context.timeline, Phase::prepare);
        // Progress is only reported for the image.
        kernel.values = make_psf(psf, only_stoppable(context)).values;
    }
    kernel.metadata.shape = psf.size;
    kernel.metadata.type = PixelType::float32;
    kernel.metadata.voxel_size_um = {psf.voxel.z_um, psf.voxel.y_um, psf.voxel.x_um};
    kernel.made = std::move(psf);
    prepare_values(kernel, survey_kernel(kernel.values.view(), thread_count(0)), image);
    return kernel;
}

void report_kernel(const Console& console, const KernelFile& kernel, const std::string& more) {
    if (kernel.made) {
        if (!kernel.optics.empty()) console.fact("optics", kernel.optics);
        report_psf(console, *kernel.made);
    } else if (!kernel.gaussian.empty()) {
        console.fact("kernel", message(kernel.gaussian, ", z,y,x ", to_string(kernel.shape),
                                       " samples", more));
    } else {
        console.fact("kernel", message(kernel.path, ": ", one_line(kernel.metadata), more));
    }
    console.warnings(kernel.warnings);
    if (kernel.made) warn_of_psf(console, *kernel.made, psf_facts(*kernel.made));
    if (kernel.background != 0)
        console.fact("level",
                     message(format_number(kernel.background), " subtracted from the kernel"));
    if (kernel.resampled)
        console.fact("voxels", message("the kernel was resampled to the image's voxels: z,y,x ",
                                       to_string(kernel.shape), " samples, center ",
                                       to_string(kernel.center, ",")));
    if (is_corner(kernel.options))
        console.fact("order", "the kernel is read in FFT order: its center is sample 0,0,0");
    const Index3 center = kernel.file_center;
    const Index3 moved = difference(center, middle_of(kernel.metadata.shape));
    if (moved != Index3{})
        console.fact("center", message("of the kernel: index z,y,x ", to_string(center, ","), ", ",
                                       to_string(moved, ","), " voxels from its middle"));
}

void report_shift(const Console& console, const KernelFile& kernel) {
    const Index3 off = difference(kernel.file_peak, kernel.file_center);
    if (off == Index3{} || kernel.wrapped.any()) return;
    const bool is_meant =
        kernel.options.center.kind == KernelCenter::Kind::peak || is_corner(kernel.options);
    console.fact("shift", message("the kernel's peak is z,y,x ", to_string(off, ","),
                                  " voxels from its center, and shifts the image by as much",
                                  is_meant ? "" : "; --kernel-center peak keeps it in place"));
}

nlohmann::ordered_json to_json(const KernelFile& kernel) {
    nlohmann::ordered_json json = to_json(kernel.path, kernel.metadata);
    json["center"] = shape_json(kernel.file_center);
    json["peak"] = shape_json(kernel.file_peak);
    json["fft_order"] = is_corner(kernel.options);
    json["background"] = kernel.background;
    if (kernel.path.empty()) json["file"] = nullptr;
    if (!kernel.gaussian.empty()) json["gaussian"] = kernel.gaussian;
    if (kernel.made) {
        json["psf"] = psf_parameters(*kernel.made);
    }
    json["resampled"] = nullptr;
    if (kernel.resampled)
        json["resampled"] = {{"shape", shape_json(kernel.shape)},
                             {"center", shape_json(kernel.center)}};
    if (!kernel.deeper.empty()) {
        json["depth_um"] = kernel.depth_um;
        for (const KernelFile& deeper : kernel.deeper) {
            json["deeper"].push_back(to_json(deeper));
            json["deeper"].back()["depth_um"] = deeper.depth_um;
        }
    }
    return json;
}

std::string name_of(const KernelFile& kernel) {
    return kernel.path.empty() ? "the PSF" : message("the PSF \"", kernel.path, "\"");
}

void warn_of_one_plane(const KernelFile& kernel, const io::ImageMetadata& image,
                       std::vector<std::string>& warnings) {
    if (image.shape.z > 1 || kernel.shape.z == 1) return;
    warnings.push_back(
        message("the image has one plane, but ", name_of(kernel), " has ", kernel.shape.z,
                ": light of planes that are not in the image is not accounted for; for a thin "
                "specimen use a PSF of one plane, as convolume psf --like makes it"));
}

}  // namespace convolume::cli
