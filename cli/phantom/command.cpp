#include "cli/phantom/command.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

#include "cli/files/metadata_json.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/text/format.hpp"
#include "cli/version.hpp"
#include "convolume/volume.hpp"
#include "core/pixels/rows.hpp"

namespace convolume::cli {

namespace {

using nlohmann::ordered_json;

constexpr index_t slab_bytes = index_t{64} << 20;

ordered_json facts_json(const PhantomRequest& request, const Phantom& phantom) {
    const PhantomOptions& options = request.options;
    ordered_json json;
    json["convolume"] = version;
    json["kind"] = to_string(options.kind);
    json["seed"] = options.seed;
    json["shape"] = shape_json(options.shape);
    json["voxel_size_um"] = {options.voxel.z_um, options.voxel.y_um, options.voxel.x_um};
    json["background"] = options.background;
    json["count"] = phantom.objects().size();
    return json;
}

/// Facts and one object a line: text at once, since a tree of millions of objects would be large.
std::string objects_text(const PhantomRequest& request, const Phantom& phantom) {
    std::string text = dump(facts_json(request, phantom));
    text.erase(text.find_last_not_of("}\n \t") + 1);
    text += ",\n  \"objects\": [";
    const char* separator = "\n    ";
    for (const PhantomObject& object : phantom.objects()) {
        ordered_json centre;
        for (std::size_t axis = 0; axis < 3; ++axis)
            centre.push_back(object.centre_um[axis] /
                             request.options.voxel[static_cast<int>(axis)]);
        const ordered_json json{
            {"kind", to_string(object.kind)}, {"centre_um", object.centre_um},
            {"centre_voxels", centre},        {"radius_um", object.radius_um},
            {"length_um", object.length_um},  {"brightness", object.brightness}};
        text += separator + json.dump();
        separator = ",\n    ";
    }
    return text + "\n  ]\n}\n";
}

io::ImageMetadata metadata_of(const PhantomRequest& request) {
    const VoxelSize& voxel = request.options.voxel;
    io::ImageMetadata metadata;
    metadata.shape = request.options.shape;
    metadata.type = request.type;
    metadata.voxel_size_um = {voxel.z_um, voxel.y_um, voxel.x_um};
    metadata.unit = "um";
    return metadata;
}

/// Draws and writes all planes; returns how many values were too large for integers.
index_t write_planes(const PhantomRequest& request, const Phantom& phantom, io::ImageWriter& writer,
                     const Console& console, const ExecutionContext& context) {
    const Shape3& shape = request.options.shape;
    const index_t plane = checked_multiply(shape.y, shape.x);
    const index_t planes = std::clamp<index_t>(slab_bytes / plane / 4, 1, shape.z);
    Volume drawn({planes, shape.y, shape.x}, PixelType::float32);
    const bool rounded = request.type != PixelType::float32;
    Volume integers(rounded ? drawn.shape() : Shape3{}, request.type);
    ProgressMeter meter(console.out(), progress_style(console),
                        static_cast<double>(element_count(shape)), steady_clock_s);
    pixels::ClampCount clamped;
    for (index_t z = 0; z < shape.z; z += planes) {
        throw_if_stopped(context);
        const Box3 part{{0, 0, 0}, {std::min(planes, shape.z - z), shape.y, shape.x}};
        phantom.draw(z, subview(drawn.view(), part), request.threads);
        if (rounded)
            for (index_t row = 0; row < part.end.z * shape.y; ++row)
                clamped += pixels::store_row(drawn.elements<float>() + row * shape.x, shape.x, 0,
                                             integers.view(), row / shape.y, row % shape.y);
        writer.write_planes(0, 0, z, subview((rounded ? integers : drawn).view(), part));
        meter.update(static_cast<double>(z + part.end.z) / static_cast<double>(shape.z));
    }
    throw_if_stopped(context);
    return clamped.high;
}

}  // namespace

void run_phantom(const PhantomRequest& request) {
    const Console console(std::cerr, request.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    ExecutionContext context;
    context.stop = interrupt.stop();
    check_outputs({request.objects, request.output}, {}, request.create.overwrite);
    const double begin_s = steady_clock_s();
    const Phantom phantom(request.options);
    const io::ImageMetadata metadata = metadata_of(request);
    console.fact("phantom", message(to_string(request.options.kind), ", ", phantom.objects().size(),
                                    phantom.objects().size() == 1 ? " object, " : " objects, ",
                                    format_voxel_size(metadata.voxel_size_um), ", seed ",
                                    request.options.seed));
    io::CreateOptions create = request.create;
    create.software = std::string("convolume ") + version;
    const auto writer = io::create_image(request.output, metadata, create);
    const index_t clamped = write_planes(request, phantom, *writer, console, context);
    if (!request.objects.empty()) write_whole_file(request.objects, objects_text(request, phantom));
    writer->commit();

    if (clamped > 0)
        console.warning(message(clamped, " values above the range of ", name_of(request.type),
                                " were clamped; lower --brightness or write float32"));
    console.fact("time", format_duration(steady_clock_s() - begin_s));
    console.fact("output", message(request.output, ": z,y,x ", to_string(metadata.shape), ' ',
                                   name_of(request.type)));
    if (request.json) {
        ordered_json json = facts_json(request, phantom);
        json["clamped_high"] = clamped;
        json["seconds"] = steady_clock_s() - begin_s;
        json["peak_buffer_bytes"] = memory_use().peak_bytes;
        json["output"] = {{"file", request.output},
                          {"shape", shape_json(metadata.shape)},
                          {"type", name_of(request.type)}};
        write_stdout(dump(json));
    }
}

}  // namespace convolume::cli
