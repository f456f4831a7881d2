// SPDX-License-Identifier: Apache-2.0
#include "convolume/scratch_image.hpp"

#include <vector>

#include "core/engine.hpp"
#include "core/scratch_file.hpp"

namespace convolume {

namespace {

// Calls `use(offset in the volume, z, y, rows)` for groups of rows of the box that are contiguous
// both in the volume and in `view`.
template <class Use>
void for_each_run(const StackFormat& format, const Box3& box, const ConstImageView& view,
                  const Use& use) {
    const Shape3 shape = box.shape();
    const Index3 strides = contiguous_strides(format.shape);
    const bool rows_follow =
        shape.x == format.shape.x && view.strides.x == 1 && view.strides.y == shape.x;
    const index_t rows = rows_follow ? shape.y : 1;
    if (box.empty()) return;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; y += rows) {
            const index_t first = (box.begin.z + z) * strides.z + (box.begin.y + y) * strides.y +
                                  box.begin.x * strides.x;
            use(first * sample_bytes(format.type), z, y, rows);
        }
}

}  // namespace

ScratchImage::ScratchImage(const StackFormat& format, Place place, const std::string& directory)
    : format_(format) {
    const index_t bytes = checked_multiply(volume_bytes(), format.volumes());
    if (place == Place::memory) {
        memory_ = Buffer(bytes, "an image between two steps");
        memory_.spread();
    } else {
        file_ = std::make_unique<ScratchFile>(directory, bytes);
    }
}

ScratchImage::~ScratchImage() = default;

index_t ScratchImage::volume_bytes() const {
    return bytes_of(format_.shape, format_.type);
}

index_t ScratchImage::offset(index_t t, index_t c) const {
    return (t * format_.channels + c) * volume_bytes();
}

ImageView ScratchImage::in_memory(index_t t, index_t c, const Box3& box) const {
    const ImageView volume{memory_.as<char>() + offset(t, c), format_.type, format_.shape,
                           contiguous_strides(format_.shape)};
    return subview(volume, box);
}

void ScratchImage::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    check_box(format_, t, c, box, target);
    if (box.empty()) return;
    if (!file_) {
        convert_pixels(in_memory(t, c, box), target);
        return;
    }
    const Shape3 shape = box.shape();
    std::vector<char> row;
    for_each_run(format_, box, target, [&](index_t from, index_t z, index_t y, index_t rows) {
        const index_t bytes = rows * shape.x * sample_bytes(format_.type);
        if (target.strides.x == 1)
            return file_->read(offset(t, c) + from, target.at(z, y, 0), bytes);
        row.resize(static_cast<std::size_t>(bytes));
        file_->read(offset(t, c) + from, row.data(), bytes);
        const Box3 line{{z, y, 0}, {z + 1, y + 1, shape.x}};
        convert_pixels({row.data(), format_.type, {1, 1, shape.x}, {shape.x, shape.x, 1}},
                       subview(target, line));
    });
}

void ScratchImage::write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
    check_box(format_, t, c, box, source);
    if (box.empty()) return;
    if (!file_) {
        convert_pixels(source, in_memory(t, c, box));
        return;
    }
    const Shape3 shape = box.shape();
    std::vector<char> row;
    for_each_run(format_, box, source, [&](index_t to, index_t z, index_t y, index_t rows) {
        const index_t bytes = rows * shape.x * sample_bytes(format_.type);
        if (source.strides.x == 1)
            return file_->write(offset(t, c) + to, source.at(z, y, 0), bytes);
        row.resize(static_cast<std::size_t>(bytes));
        const Box3 line{{z, y, 0}, {z + 1, y + 1, shape.x}};
        convert_pixels(subview(source, line),
                       {row.data(), format_.type, {1, 1, shape.x}, {shape.x, shape.x, 1}});
        file_->write(offset(t, c) + to, row.data(), bytes);
    });
}

}  // namespace convolume
