// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_file.hpp"

#include <cmath>

#include "cli/files/metadata_json.hpp"
#include "cli/psf/parameters.hpp"
#include "cli/psf/psf_report.hpp"
#include "cli/psf/size_for.hpp"
#include "cli/text/format.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

namespace {

PsfResample parse_psf_resample(const std::string& text) {
    if (text == "auto") return PsfResample::automatic;
    if (text == "never") return PsfResample::never;
    if (text == "ignore") return PsfResample::ignore;
    throw InvalidArgument(message("--psf-resample is auto, never or ignore, not \"", text,
                                  "\"; choose one of these"));
}

KernelBackground parse_kernel_background(std::string_view option, const std::string& text) {
    if (text == "auto") return {true, 0};
    return {false, parse_number(option, text)};
}

struct VoxelSizes {
    VoxelSize kernel;
    VoxelSize image;  ///< the kernel's where the image does not know better

    bool differ() const { return !(kernel == image); }
};

// A kernel one sample thick has no extent to adapt, and files round what they store.
VoxelSizes voxel_sizes(const io::ImageMetadata& image, const io::ImageMetadata& kernel) {
    std::array<double, 3> of_kernel{1, 1, 1}, of_image{1, 1, 1};
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const auto &from = kernel.voxel_size_um[a], &to = image.voxel_size_um[a];
        if (kernel.shape[axis] == 1 || !from || !to) continue;
        if (std::abs(*from - *to) <= 1e-3 * std::abs(*to)) continue;
        of_kernel[a] = *from;
        of_image[a] = *to;
    }
    return {{of_kernel[0], of_kernel[1], of_kernel[2]}, {of_image[0], of_image[1], of_image[2]}};
}

void check_room(const KernelFile& kernel, index_t bytes) {
    if (bytes > kernel.options.most_bytes)
        throw OutOfMemory(message(
            "the kernel", kernel.path.empty() ? "" : " \"" + kernel.path + '"', " takes ",
            format_bytes(bytes), " to be read and brought to the image's voxels, and the limit is ",
            format_bytes(kernel.options.most_bytes),
            "; raise it to at least that (--max-host-mem), crop the kernel, or "
            "correct the voxel sizes"));
}

void adapt_voxels(KernelFile& kernel, const io::ImageMetadata& image) {
    const VoxelSizes sizes = voxel_sizes(image, kernel.metadata);
    if (!sizes.differ()) return;
    const std::string difference = message(
        "voxel sizes differ: the image has ", format_voxel_size(image.voxel_size_um),
        ", the kernel \"", kernel.path, "\" ", format_voxel_size(kernel.metadata.voxel_size_um));
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
    check_room(kernel, resampling_bytes(kernel.values.shape(), kernel.values.type(),
                                        kernel.file_center, sizes.kernel, sizes.image) +
                           kernel.values.bytes());
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

/// What does not depend on where the values come from.
void make_ready(KernelFile& kernel, const io::ImageMetadata& image) {
    kernel.background = subtract_background(kernel.values, kernel.options.background);
    kernel.file_center = center_index(kernel.options.center, kernel.values.view());
    kernel.file_peak = kernel_peak(kernel.values.view());
    kernel.center = kernel.file_center;
    adapt_voxels(kernel, image);
    kernel.shape = kernel.values.shape();
}

}  // namespace

void add_kernel_options(CLI::App& app, const char* group, KernelOptions& options) {
    add_parsed(app, "--kernel-center", options.center, parse_kernel_center,
               "middle|scipy|peak|centroid|Z,Y,X",
               "The kernel's center: k/2 (middle, the default), (k-1)/2 (scipy), its largest "
               "sample, its center of mass, or an index")
        ->group(group);
    add_parsed(
        app, "--psf-background", options.background, parse_kernel_background, "N|auto",
        "Background to subtract from the kernel; what is below 0 then is set to 0; auto: three "
        "standard deviations above the median of the outer faces (default 0)")
        ->group(group);
    add_parsed(
        app, "--psf-resample", options.resample, parse_psf_resample, "auto|never|ignore",
        "If the voxel sizes of image and kernel are known and differ: resample the kernel (auto, "
        "the default), stop with an error (never), or use the kernel as it is (ignore)")
        ->group(group);
}

KernelFile load_kernel(const std::string& path, const io::ImageMetadata& image,
                       const KernelOptions& options, Timeline& timeline) {
    const auto reader = io::open_image(path);
    KernelFile kernel;
    kernel.path = path;
    kernel.metadata = reader->metadata();
    kernel.options = options;
    if (kernel.metadata.channels != 1 || kernel.metadata.frames != 1)
        throw BadData(message("a kernel is one 3D stack, but \"", path, "\" has ",
                              kernel.metadata.channels, " channels and ", kernel.metadata.frames,
                              " frames; save one of them as its own file"));
    check_room(kernel, kernel.metadata.bytes());
    kernel.values = Volume(kernel.metadata.shape, kernel.metadata.type);
    {
        const PhaseTimer timer(&timeline, Phase::read, -1, -1, kernel.values.bytes());
        reader->read(0, 0, kernel.values.view());
        reader->check_unchanged();
    }
    make_ready(kernel, image);
    return kernel;
}

KernelFile make_kernel(PsfOptions psf, std::optional<double> share, const io::ImageMetadata& image,
                       const KernelOptions& options, const ExecutionContext& context) {
    if (psf.size == Shape3{0, 0, 0}) {
        psf.size = {1, 1, 1};
        psf.size = size_for(psf, image.shape, share, context);
    }
    KernelFile kernel;
    kernel.options = options;
    {
        const PhaseTimer timer(context.timeline, Phase::prepare);
        ExecutionContext silent;  // progress is that of the image
        silent.stop = context.stop;
        kernel.values = make_psf(psf, silent).values;
    }
    kernel.metadata.shape = psf.size;
    kernel.metadata.type = PixelType::float32;
    kernel.metadata.voxel_size_um = {psf.voxel.z_um, psf.voxel.y_um, psf.voxel.x_um};
    kernel.made = std::move(psf);
    make_ready(kernel, image);
    return kernel;
}

void report_kernel(const Console& console, const KernelFile& kernel, const std::string& more) {
    if (kernel.made) {
        if (!kernel.from_image.empty())
            console.fact("optics", message(kernel.from_image, ", from the image's metadata"));
        report_psf(console, *kernel.made);
        warn_of_psf(console, *kernel.made, psf_facts(*kernel.made));
    } else {
        console.fact("kernel", message(kernel.path, ": ", one_line(kernel.metadata), more));
    }
    for (const std::string& warning : kernel.warnings) console.warning(warning);
    if (kernel.background != 0)
        console.fact("level",
                     message(format_number(kernel.background), " subtracted from the kernel"));
    if (kernel.resampled)
        console.fact("voxels", message("the kernel was resampled to the image's voxels: z,y,x ",
                                       to_string(kernel.shape), " samples, center ",
                                       to_string(kernel.center, ",")));
    const Index3 center = kernel.file_center;
    const Index3 moved = difference(center, middle_of(kernel.metadata.shape));
    if (moved != Index3{})
        console.fact("center", message("of the kernel: index z,y,x ", to_string(center, ","), ", ",
                                       to_string(moved, ","), " voxels from its middle"));
    if (const Index3 off = difference(kernel.file_peak, center); off != Index3{})
        console.fact("shift", message("the kernel's peak is z,y,x ", to_string(off, ","),
                                      " voxels from its center, and shifts the image by as much",
                                      kernel.options.center.kind == KernelCenter::Kind::peak
                                          ? ""
                                          : "; --kernel-center peak keeps it in place"));
}

nlohmann::ordered_json to_json(const KernelFile& kernel) {
    nlohmann::ordered_json json = to_json(kernel.path, kernel.metadata);
    json["center"] = shape_json(kernel.file_center);
    json["peak"] = shape_json(kernel.file_peak);
    json["background"] = kernel.background;
    if (kernel.made) {
        json["file"] = nullptr;
        json["psf"] = psf_parameters(*kernel.made);
    }
    json["resampled"] = nullptr;
    if (kernel.resampled)
        json["resampled"] = {{"shape", shape_json(kernel.shape)},
                             {"center", shape_json(kernel.center)}};
    return json;
}

}  // namespace convolume::cli
