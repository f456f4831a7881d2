// SPDX-License-Identifier: Apache-2.0
// Writes HDF5 images: contiguous, or in compressed HDF5 chunks.

#include <algorithm>
#include <optional>

#include "io/hdf5/attributes.hpp"
#include "io/hdf5/format.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/storage.hpp"
#include "io/image_file.hpp"
#include "io/pieces.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

constexpr index_t chunk_bytes = index_t{1} << 20;
constexpr index_t chunk_edge = 256;
constexpr int deflate_level = 4;
constexpr std::size_t longest_attribute = 60000;  // bytes; HDF5's limit is 64 KiB
// an attribute stores 16 bytes for each text
constexpr std::size_t most_channel_names = longest_attribute / 16;

/// Returns the shape of HDF5 chunks: about 1 MiB, at most 256×256 in a plane, nearly equal chunks.
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

/// Returns the axistags of ilastik.
std::string axis_tags(bool has_t_and_c) {
    std::string axes;
    for (const char axis : std::string(has_t_and_c ? "tczyx" : "zyx"))
        axes += message(axes.empty() ? "" : ", ", "{\"key\": \"", axis, "\", \"typeFlags\": ",
                        axis == 't'   ? 8
                        : axis == 'c' ? 1
                                      : 2,
                        ", \"resolution\": 0, \"description\": \"\"}");
    return "{\"axes\": [" + axes + "]}";
}

class Hdf5Writer : public FileWriter {
  public:
    Hdf5Writer(const PathSpec& spec, const ImageMetadata& metadata, const CreateOptions& options)
        : FileWriter(metadata),
          has_t_and_c_(metadata.frames > 1 || metadata.channels > 1),
          output_(spec, options.overwrite,
                  options.compression == Compression::none
                      ? checked_add(metadata.bytes(), hdf5_header_bytes)
                      : 0) {
        if (options.compression == Compression::deflate) {
            chunk_ = chunk_shape(metadata.shape, metadata.type);
            assembler_.emplace(stack_format(metadata, chunk_), output_.file().folder());
        }
        const Hdf5Lock lock;
        create_dataset();
        write_attributes(options);
        if (assembler_) return;
        offset_ = output_.dataset_offset();
        output_.file().reserve(offset_, metadata.bytes());
    }

    StackFormat format() const override { return stack_format(metadata_, chunk_); }

  private:
    void write_checked_box(index_t t, index_t c, const Box3& box,
                           const ConstImageView& source) override {
        if (assembler_)
            assembler_->add(t * metadata_.channels + c, box, source,
                            [&](const Piece& chunk, const ConstImageView& samples) {
                                write_chunk(chunk, samples);
                            });
        else  // written without HDF5, which has allocated the space and does not touch it again
            write_to_array(output_.file(), offset_, t, c, box, source);
    }

    void complete() override { output_.commit(); }

    std::vector<hsize_t> dims_of(index_t t, index_t c, const Shape3& shape) const {
        std::vector<hsize_t> dims;
        if (has_t_and_c_) dims = {static_cast<hsize_t>(t), static_cast<hsize_t>(c)};
        for (int axis = 0; axis < 3; ++axis) dims.push_back(static_cast<hsize_t>(shape[axis]));
        return dims;
    }

    void create_dataset() {
        const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const Hdf5Id type = memory_type(metadata_.type);
        output_.check(properties && type);
        output_.check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER) >= 0);
        if (assembler_) {
            const std::vector<hsize_t> chunk = dims_of(1, 1, chunk_);
            output_.check(
                H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0 &&
                H5Pset_shuffle(properties.get()) >= 0 &&
                H5Pset_deflate(properties.get(), deflate_level) >= 0);
        } else {
            output_.check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY) >= 0);
        }
        output_.create_dataset(type.get(),
                               dims_of(metadata_.frames, metadata_.channels, metadata_.shape),
                               properties.get());
    }

    void write_attributes(const CreateOptions& options) {
        const auto& sizes = metadata_.voxel_size_um;
        if (sizes[0] || sizes[1] || sizes[2]) {
            // 0 means that the size along an axis is unknown.
            write_number_attribute(
                output_.dataset(), "element_size_um", H5T_IEEE_F32LE,
                {sizes[0].value_or(0), sizes[1].value_or(0), sizes[2].value_or(0)});
        }
        if (metadata_.frame_interval_s)
            write_number_attribute(output_.dataset(), "frame_interval_s", H5T_IEEE_F64LE,
                                   {*metadata_.frame_interval_s});
        if (metadata_.scaling) {  // the CF conventions for netCDF name these attributes
            write_number_attribute(output_.dataset(), "scale_factor", H5T_IEEE_F64LE,
                                   {metadata_.scaling->scale});
            write_number_attribute(output_.dataset(), "add_offset", H5T_IEEE_F64LE,
                                   {metadata_.scaling->offset});
        }
        const std::vector<std::string>& names = metadata_.channel_names;
        if (static_cast<index_t>(names.size()) == metadata_.channels &&
            names.size() <= most_channel_names)
            write_text_list_attribute(output_.dataset(), "channel_names", names);
        std::map<std::string, std::string> texts = metadata_.text;
        texts["axistags"] = axis_tags(has_t_and_c_);
        if (!metadata_.unit.empty()) texts["unit"] = metadata_.unit;
        if (!options.software.empty()) texts["software"] = options.software;
        for (const auto& [name, text] : texts)
            if (!name.empty() && text.size() < longest_attribute &&
                H5Aexists(output_.dataset(), name.c_str()) == 0)
                write_text_attribute(output_.dataset(), name, text);
    }

    /// Writes an HDF5 chunk. At the end of an axis, zeros follow its samples.
    void write_chunk(const Piece& piece, const ConstImageView& samples) {
        std::vector<char> whole(static_cast<std::size_t>(element_count(chunk_) * bytes_each()));
        const ImageView chunk{whole.data(), metadata_.type, chunk_, contiguous_strides(chunk_)};
        copy_view(samples, subview(chunk, {{0, 0, 0}, samples.shape}));
        const std::vector<char> stored =
            encode_chunk(whole.data(), whole.size(), size_of(metadata_.type), deflate_level);
        output_.write_chunk(dims_of(piece.volume / metadata_.channels,
                                    piece.volume % metadata_.channels, piece.box.begin),
                            stored);
    }

    Shape3 chunk_{1, 1, 1};
    bool has_t_and_c_;
    Hdf5Output output_;
    // assembles HDF5 chunks; none if samples are contiguous
    std::optional<PieceAssembler> assembler_;
    index_t offset_ = 0;  // offset of contiguous samples in the file
};

}  // namespace

std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options) {
    if (options.compression != Compression::none && options.compression != Compression::deflate)
        throw InvalidArgument("HDF5 files are compressed by deflate only; choose deflate or none");
    return std::make_unique<Hdf5Writer>(spec, metadata, options);
}

}  // namespace convolume::io
