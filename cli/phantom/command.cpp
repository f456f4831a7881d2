// SPDX-License-Identifier: Apache-2.0
#include "cli/phantom/command.hpp"

#include <algorithm>
#include <vector>

#include "cli/files/volumes.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

constexpr index_t plane_group_bytes = index_t{32} << 20;

io::ImageMetadata metadata_of(const PhantomRequest& request) {
    const VoxelSize& voxel = request.options.voxel;
    io::ImageMetadata metadata;
    metadata.shape = request.options.shape;
    metadata.type = request.type;
    metadata.voxel_size_um = {voxel.z_um, voxel.y_um, voxel.x_um};
    metadata.unit = "um";
    return metadata;
}

}  // namespace

void PhantomSteps::plan(const ExecutionContext&) {
    phantom_.emplace(request_.options);
    output_metadata_ = metadata_of(request_);
}

WorkAmount PhantomSteps::work() const {
    return {static_cast<double>(element_count(output_metadata_.shape))};
}

/// Returns the number of planes to draw at a time: worth a call, and whole pieces of the file.
index_t PhantomSteps::group_planes() const {
    const Shape3& shape = output_metadata_.shape;
    const index_t plane_bytes = checked_multiply(checked_multiply(shape.y, shape.x), index_t{4});
    const index_t piece = writer_->format().piece.z;
    const index_t planes = std::max<index_t>(plane_group_bytes / plane_bytes / piece, 1) * piece;
    return std::min(planes, shape.z);
}

void PhantomSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_metadata_, request_.create);
    const Shape3& shape = output_metadata_.shape;
    const index_t planes = group_planes();
    const Shape3 group{planes, shape.y, shape.x};
    const bool rounded = output_metadata_.type != PixelType::float32;
    // One group of planes is drawn, first into `unrounded` if necessary, while another is written.
    Volume unrounded(rounded ? group : Shape3{}, PixelType::float32);
    const index_t groups = ceil_div(shape.z, planes);
    std::vector<Volume> results;
    for (index_t slot = 0; slot < std::min<index_t>(groups, 2); ++slot)
        results.emplace_back(group, output_metadata_.type);
    const auto part_of_group = [&](index_t number) {
        return Box3{{0, 0, 0}, {std::min(planes, shape.z - number * planes), shape.y, shape.x}};
    };
    ClampCount clamped;
    ItemSteps steps;
    steps.compute = [&](index_t number) {
        throw_if_stopped(context);
        const Box3 part = part_of_group(number);
        Volume& result = results[static_cast<std::size_t>(number % 2)];
        const ImageView drawn = subview(rounded ? unrounded.view() : result.view(), part);
        phantom_->draw(number * planes, drawn, request_.threads);
        if (rounded)
            clamped += convert_pixels(ConstImageView(drawn), subview(result.view(), part),
                                      request_.threads);
        context.progress(static_cast<double>(number * planes + part.end.z) /
                         static_cast<double>(shape.z));
    };
    steps.write = [&](index_t number) {
        Volume& result = results[static_cast<std::size_t>(number % 2)];
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, result.bytes());
        writer_->write_planes(0, 0, number * planes,
                              subview(ConstImageView(result.view()), part_of_group(number)));
    };
    run_item_steps(groups, true, steps);
    clamped_ = clamped.high;
}

void PhantomSteps::commit() {
    if (!request_.objects.empty()) io::write_whole_file(request_.objects, objects_text());
    writer_->commit();
}

}  // namespace convolume::cli
