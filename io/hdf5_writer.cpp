// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/formats.hpp"
#include "io/hdf5_attributes.hpp"
#include "io/hdf5_output.hpp"
#include "io/hdf5_types.hpp"
#include "io/strided.hpp"

namespace convolume::io {
namespace {

constexpr index_t chunk_bytes = index_t{1} << 20;
constexpr index_t chunk_edge = 256;
constexpr index_t plane_group_bytes = index_t{64} << 20;
constexpr std::size_t longest_attribute = 60000;  // HDF5's own limit is 64 KiB

/// Blocks of about 1 MiB and at most 256×256 in a plane, that divide the axes evenly.
Shape3 chunk_shape(const Shape3& shape, PixelType type) {
    const auto even = [](index_t extent, index_t most) {
        return ceil_div(extent, ceil_div(extent, std::clamp<index_t>(most, 1, extent)));
    };
    Shape3 chunk;
    chunk.y = even(shape.y, chunk_edge);
    chunk.x = even(shape.x, chunk_edge);
    chunk.z =
        even(shape.z, chunk_bytes / (chunk.y * chunk.x * static_cast<index_t>(size_of(type))));
    return chunk;
}

index_t bytes_in_chunks(const ImageMetadata& metadata, const Shape3& chunk) {
    index_t voxels = metadata.frames * metadata.channels;
    for (int axis = 0; axis < 3; ++axis)
        voxels = checked_multiply(voxels, round_up(metadata.shape[axis], chunk[axis]));
    return checked_multiply(voxels, static_cast<index_t>(size_of(metadata.type)));
}

std::string axis_tags(bool stack) {
    std::string axes;
    for (const char axis : std::string(stack ? "tczyx" : "zyx"))
        axes += message(axes.empty() ? "" : ", ", "{\"key\": \"", axis, "\", \"typeFlags\": ",
                        axis == 't'   ? 8
                        : axis == 'c' ? 1
                                      : 2,
                        ", \"resolution\": 0, \"description\": \"\"}");
    return "{\"axes\": [" + axes + "]}";
}

class Hdf5Writer : public ImageWriter {
  public:
    Hdf5Writer(const PathSpec& spec, const ImageMetadata& metadata, const CreateOptions& options)
        : metadata_(metadata),
          chunk_(chunk_shape(metadata.shape, metadata.type)),
          stack_(metadata.frames > 1 || metadata.channels > 1),
          output_(spec, options.overwrite,
                  options.compression == Compression::none
                      ? checked_add(bytes_in_chunks(metadata, chunk_), hdf5_header_bytes)
                      : 0) {
        const Hdf5Lock lock;
        create_dataset(options);
        write_attributes(options);
    }

    void write_planes(index_t t, index_t c, index_t z_begin,
                      const ConstImageView& source) override {
        progress_.accept(metadata_, t, c, z_begin, source);
        const Hdf5Lock lock;
        const Shape3& shape = metadata_.shape;
        const index_t plane_bytes =
            shape.y * shape.x * static_cast<index_t>(size_of(metadata_.type));
        // Whole layers of chunks: none is compressed twice.
        const index_t layers =
            std::max<index_t>(plane_group_bytes / plane_bytes / chunk_.z, 1) * chunk_.z;
        std::vector<char> buffer;
        for (index_t z = 0; z < source.shape.z; z += layers) {
            const index_t end = std::min(source.shape.z, z + layers);
            const ConstImageView group = subview(source, {{z, 0, 0}, {end, shape.y, shape.x}});
            const void* data = group.data;
            if (!is_contiguous(group)) {
                buffer.resize(static_cast<std::size_t>((end - z) * plane_bytes));
                copy_view(group, {buffer.data(), group.type, group.shape,
                                  contiguous_strides(group.shape)});
                data = buffer.data();
            }
            write_plane_group(t, c, z_begin + z, group.shape, data);
        }
    }

    void commit() override {
        progress_.finish(metadata_);
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    std::vector<hsize_t> dims_of(index_t t, index_t c, const Shape3& shape) const {
        std::vector<hsize_t> dims;
        if (stack_) dims = {static_cast<hsize_t>(t), static_cast<hsize_t>(c)};
        for (int axis = 0; axis < 3; ++axis) dims.push_back(static_cast<hsize_t>(shape[axis]));
        return dims;
    }

    void create_dataset(const CreateOptions& options) {
        const std::vector<hsize_t> chunk = dims_of(1, 1, chunk_);
        const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const Hdf5Id type = memory_type(metadata_.type);
        output_.check(properties && type);
        output_.check(
            H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0);
        output_.check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0);
        if (options.compression == Compression::deflate)
            output_.check(H5Pset_shuffle(properties.get()) >= 0 &&
                          H5Pset_deflate(properties.get(), 4) >= 0);
        output_.create_dataset(type.get(),
                               dims_of(metadata_.frames, metadata_.channels, metadata_.shape),
                               properties.get());
    }

    void write_attributes(const CreateOptions& options) {
        const auto& sizes = metadata_.voxel_size_um;
        if (sizes[0] || sizes[1] || sizes[2]) {
            // 0 stands for an axis whose size is unknown.
            write_number_attribute(
                output_.dataset(), "element_size_um", H5T_IEEE_F32LE,
                {sizes[0].value_or(0), sizes[1].value_or(0), sizes[2].value_or(0)});
        }
        if (metadata_.frame_interval_s)
            write_number_attribute(output_.dataset(), "frame_interval_s", H5T_IEEE_F64LE,
                                   {*metadata_.frame_interval_s});
        std::map<std::string, std::string> texts = metadata_.text;
        texts["axistags"] = axis_tags(stack_);
        if (!metadata_.unit.empty()) texts["unit"] = metadata_.unit;
        if (!options.software.empty()) texts["software"] = options.software;
        for (const auto& [name, text] : texts)
            if (!name.empty() && text.size() < longest_attribute &&
                H5Aexists(output_.dataset(), name.c_str()) == 0)
                write_text_attribute(output_.dataset(), name, text);
    }

    void write_plane_group(index_t t, index_t c, index_t z, const Shape3& shape, const void* data) {
        const Hdf5Id type = memory_type(metadata_.type);
        output_.check(static_cast<bool>(type));
        output_.write(dims_of(t, c, {z, 0, 0}), dims_of(1, 1, shape), type.get(), data);
    }

    ImageMetadata metadata_;
    Shape3 chunk_;
    bool stack_;
    Hdf5Output output_;
    WriteProgress progress_;
};

}  // namespace

std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options) {
    if (options.compression != Compression::none && options.compression != Compression::deflate)
        throw InvalidArgument("HDF5 files are compressed by deflate only; choose deflate or none");
    return std::make_unique<Hdf5Writer>(spec, metadata, options);
}

}  // namespace convolume::io
