// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/files/plane_groups.hpp"
#include "cli/preview/request.hpp"
#include "cli/run/output_path.hpp"
#include "cli/text/console.hpp"
#include "cli/text/format.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

void check_number(const char* option, index_t asked, index_t available, const std::string& path) {
    if (asked < 0 || asked >= available)
        throw InvalidArgument(message(option, ' ', asked, " does not exist in \"", path,
                                      "\", which has ", available, "; choose from 0 to ",
                                      available - 1));
}

// Distances of samples; where only z is unknown it is taken to be that of x.
void take_steps(const io::ImageMetadata& metadata, PreviewStack& stack) {
    const auto& size = metadata.voxel_size_um;
    if (!size[1] || !size[2] || !(*size[1] > 0) || !(*size[2] > 0)) return;
    const double z = size[0] && *size[0] > 0 ? *size[0] : *size[2];
    stack.step = {z, *size[1], *size[2]};
    stack.unit = "µm";
}

template <class Views>
OrthogonalViews views_of(io::ImageReader& reader, const PreviewRequest& request) {
    Views views(reader.metadata().shape);
    for_each_plane_group(
        reader, request.frame, request.channel,
        [&views](const ConstImageView& planes, index_t z_begin) { views.add(planes, z_begin); });
    return views;
}

void scale_by_decades(PreviewStack& stack, double decades) {
    take_logarithm(stack.views);
    double high = percentile_limits(stack.views.along_z, 0, 100).high;
    for (const Plane* plane : {&stack.views.along_y, &stack.views.along_x})
        high = std::max(high, percentile_limits(*plane, 0, 100).high);
    stack.limits = {high - decades, high};
    stack.logarithmic = true;
}

PreviewStack load(const std::string& role, const std::string& path, const PreviewRequest& request) {
    const auto reader = io::open_image(path);
    const io::ImageMetadata& metadata = reader->metadata();
    check_number("--channel", request.channel, metadata.channels, path);
    check_number("--frame", request.frame, metadata.frames, path);
    const std::string name = std::filesystem::path(path).filename().string();
    PreviewStack stack{role + name,
                       {message(to_string(metadata.shape), ' ', to_string(metadata.type)),
                        format_voxel_size(metadata.voxel_size_um)},
                       request.slices ? views_of<MiddleSlices>(*reader, request)
                                      : views_of<Projections>(*reader, request)};
    take_steps(metadata, stack);
    if (request.decades)
        scale_by_decades(stack, *request.decades);
    else
        stack.limits = request.limits.value_or(percentile_limits(stack.views.along_z, 1, 99.9));
    return stack;
}

// Rings and flanks of a PSF show only on a logarithmic scale.
PreviewStack load_psf(const PreviewRequest& request) {
    PreviewRequest of_psf = request;
    of_psf.channel = of_psf.frame = 0;
    of_psf.slices = true;
    of_psf.decades = request.decades.value_or(4);
    PreviewStack stack = load("", request.psf, of_psf);
    stack.own_zoom = true;
    return stack;
}

}  // namespace

void run_preview(const PreviewRequest& request) {
    check_output_path(request.output, request.overwrite);
    const bool pair = !request.after.empty();
    std::vector<PreviewStack> stacks;
    for (const std::string& path : request.stacks)
        stacks.push_back(load(pair ? "before: " : "", path, request));
    if (pair) stacks.push_back(load("after: ", request.after, request));
    if (!request.psf.empty()) stacks.push_back(load_psf(request));
    const std::vector<char> png = draw_preview(stacks, request.style).png();
    write_whole_file(request.output, png);
    const Console console(std::cerr, request.quiet ? Verbosity::quiet : Verbosity::normal,
                          stderr_wants_colors());
    for (const PreviewStack& stack : stacks)
        console.fact("gray", message(stack.title, ": black ", format_number(stack.limits.low),
                                     ", white ", format_number(stack.limits.high),
                                     stack.logarithmic ? ", powers of ten" : ""));
    console.fact("output", request.output);
}

}  // namespace convolume::cli
