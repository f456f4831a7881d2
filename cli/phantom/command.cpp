// SPDX-License-Identifier: Apache-2.0
#include "cli/phantom/command.hpp"

#include <algorithm>

#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

constexpr index_t plane_group_bytes = index_t{64} << 20;

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
    output_ = metadata_of(request_);
}

Work PhantomSteps::work() const {
    return {static_cast<double>(element_count(output_.shape))};
}

void PhantomSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_, request_.create);
    const Shape3& shape = output_.shape;
    const index_t plane = checked_multiply(shape.y, shape.x);
    const index_t planes = std::clamp<index_t>(plane_group_bytes / plane / 4, 1, shape.z);
    Volume drawn({planes, shape.y, shape.x}, PixelType::float32);
    const bool rounded = output_.type != PixelType::float32;
    Volume integers(rounded ? drawn.shape() : Shape3{}, output_.type);
    ClampCount clamped;
    for (index_t z = 0; z < shape.z; z += planes) {
        throw_if_stopped(context);
        const Box3 part{{0, 0, 0}, {std::min(planes, shape.z - z), shape.y, shape.x}};
        phantom_->draw(z, subview(drawn.view(), part), request_.threads);
        if (rounded)
            clamped += convert_pixels(subview(ConstImageView(drawn.view()), part),
                                      subview(integers.view(), part));
        writer_->write_planes(0, 0, z, subview((rounded ? integers : drawn).view(), part));
        context.progress(static_cast<double>(z + part.end.z) / static_cast<double>(shape.z));
    }
    clamped_ = clamped.high;
}

void PhantomSteps::commit() {
    if (!request_.objects.empty()) write_whole_file(request_.objects, objects_text());
    writer_->commit();
}

}  // namespace convolume::cli
