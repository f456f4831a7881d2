// SPDX-License-Identifier: Apache-2.0
#include "convolume/image_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "convolume/error.hpp"
#include "io/file_array.hpp"
#include "io/file_stack.hpp"
#include "io/image_file.hpp"
#include "io/image_format.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr const char* compressions[] = {"none", "deflate", "lzw", "zstd", "packbits"};
static_assert(std::size(compressions) == static_cast<std::size_t>(Compression::packbits) + 1);

/// Throws InputNotFound for a folder or a pattern, which can only be read as a stack.
void refuse_several_files(const std::string& path) {
    std::error_code unreadable;
    const bool is_folder = std::filesystem::is_directory(path, unreadable);
    const bool is_pattern = path.find_first_of("*?[") != std::string::npos &&
                            !std::filesystem::exists(path, unreadable);
    if (is_folder || is_pattern)
        throw InputNotFound(sentence(path, is_folder ? " is a folder" : " is a pattern of names",
                                     "; name one file, or read its files as the planes of one "
                                     "image (",
                                     OptionName{"stack"}, " z)"));
}

}  // namespace

index_t ImageMetadata::bytes() const {
    const index_t voxels =
        checked_multiply(checked_multiply(frames, channels), element_count(shape));
    return checked_multiply(voxels, static_cast<index_t>(size_of(type)));
}

std::string to_string(const ImageMetadata& metadata) {
    std::string text = message("format: ", metadata.format, "\ntype: ", to_string(metadata.type),
                               "\naxes: ", metadata.axes, "\ntimes: ", metadata.frames,
                               "\nchannels: ", metadata.channels,
                               "\nshape (z,y,x): ", to_string(metadata.shape), "\n");
    for (int axis = 0; axis < 3; ++axis) {
        const auto& size = metadata.voxel_size_um[static_cast<std::size_t>(axis)];
        text += message("voxel size ", axis_name(axis), ": ",
                        size ? number_text(*size) + " µm" : "unknown", "\n");
    }
    if (metadata.frame_interval_s)
        text += message("time interval: ", number_text(*metadata.frame_interval_s), " s\n");
    if (metadata.scaling)
        text += message("values: stored * ", number_text(metadata.scaling->scale), " + ",
                        number_text(metadata.scaling->offset), "\n");
    if (metadata.images > 1)
        text += message("images in the file: ", metadata.images, "\nimage: ", metadata.image,
                        metadata.image_name.empty() ? "" : " (" + metadata.image_name + ")", "\n");
    for (std::size_t c = 0; c < metadata.channel_names.size(); ++c)
        text += message("channel ", c, ": ", metadata.channel_names[c], "\n");
    for (const std::string& note : metadata.notes) text += message("note: ", note, "\n");
    return text;
}

void ImageReader::read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target) {
    const Shape3& shape = metadata().shape;
    read_box(t, c, {{z_begin, 0, 0}, {checked_add(z_begin, target.shape.z), shape.y, shape.x}},
             target);
}

void ImageReader::read(index_t t, index_t c, const ImageView& target) {
    read_box(t, c, {{0, 0, 0}, metadata().shape}, target);
}

void ImageWriter::write_planes(index_t t, index_t c, index_t z_begin,
                               const ConstImageView& source) {
    const Shape3& shape = metadata().shape;
    write_box(t, c, {{z_begin, 0, 0}, {checked_add(z_begin, source.shape.z), shape.y, shape.x}},
              source);
}

void ImageWriter::write(index_t t, index_t c, const ConstImageView& source) {
    write_box(t, c, {{0, 0, 0}, metadata().shape}, source);
}

PathSpec parse_path(const std::string& path) {
    const auto colon = path.find(":/");
    if (colon == std::string::npos || colon == 0) return {path, ""};
    const bool is_url = path.compare(colon, 3, "://") == 0 && path.find('.') > colon;
    if (is_url) return {path, ""};
    return {path.substr(0, colon), path.substr(colon + 1)};
}

namespace {

std::unique_ptr<ImageReader> open_file(const std::string& path, const OpenOptions& options) {
    const PathSpec spec = parse_path(path);
    const auto format = recognized_format(spec.file);
    if (!format) {
        refuse_several_files(spec.file);
        refuse_unknown_content(spec.file);
    }
    if (!format->has_dataset) require_no_dataset(spec);
    return format->open(spec, options);
}

/// Throws InvalidArgument if another image is asked for than the only one of a file.
void require_chosen_image(const ImageMetadata& metadata, const std::string& path,
                          const OpenOptions& options) {
    if (options.image.empty() || metadata.images > 1 || options.image == metadata.image_name ||
        options.image == std::to_string(metadata.image))
        return;
    throw InvalidArgument(
        message(path, " has no image \"", options.image, "\"; it holds one, number 0"));
}

}  // namespace

void refuse_scaling(const ImageMetadata& metadata, const std::string& format) {
    if (metadata.scaling)
        throw InvalidArgument(
            message(format,
                    " cannot say what its values stand for; write TIFF or HDF5, or values that are "
                    "not scaled"));
}

std::unique_ptr<ImageReader> open_image(const std::string& path, const OpenOptions& options) {
    if (is_file_stack(path, options))
        return open_file_stack(find_file_stack(path, options), options);
    std::unique_ptr<ImageReader> reader = open_file(path, options);
    require_chosen_image(reader->metadata(), path, options);
    return reader;
}

namespace {

/// Returns metadata without voxel sizes that are no positive lengths.
ImageMetadata with_usable_voxels(ImageMetadata metadata) {
    for (std::optional<double>& size : metadata.voxel_size_um)
        if (size && !(*size > 0 && std::isfinite(*size))) size.reset();
    return metadata;
}

}  // namespace

std::unique_ptr<ImageWriter> create_image(const std::string& path, const ImageMetadata& given,
                                          const CreateOptions& options) {
    const ImageMetadata metadata = with_usable_voxels(given);
    const PathSpec spec = parse_path(path);
    if (metadata.bytes() == 0)
        throw InvalidArgument(message("cannot write ", path, ": an image of ",
                                      to_string(metadata.shape), " has no pixels"));
    const auto format = written_format(spec.file);
    if (!format || !format->has_dataset) require_no_new_dataset(spec);
    if (!format) refuse_unknown_ending(path);
    return format->create(spec, metadata, options);
}

bool output_exists(const std::string& path) {
    const PathSpec spec = parse_path(path);
    std::error_code unreadable;  // then it is not known to be free
    if (!std::filesystem::exists(spec.file, unreadable)) return static_cast<bool>(unreadable);
    if (spec.dataset.empty()) return true;
    const auto format = written_format(spec.file);
    return !format || !format->has_dataset || format->has_dataset(spec);
}

const char* to_string(Compression compression) {
    const auto index = static_cast<std::size_t>(compression);
    if (index >= std::size(compressions)) throw InternalError("a compression that there is not");
    return compressions[index];
}

Compression parse_compression(std::string_view text) {
    for (std::size_t i = 0; i < std::size(compressions); ++i)
        if (text == compressions[i]) return static_cast<Compression>(i);
    throw InvalidArgument(message("compression is none, deflate, lzw, zstd or packbits, not \"",
                                  text, "\"; choose one of these"));
}

bool has_extension(const std::string& path, std::string_view extension) {
    return path.size() > extension.size() && lower_case(path).ends_with(lower_case(extension));
}

std::optional<ValueScaling> usable_scaling(const std::optional<double>& scale,
                                           const std::optional<double>& offset) {
    const ValueScaling scaling{scale.value_or(1), offset.value_or(0)};
    if (!std::isfinite(scaling.scale) || scaling.scale == 0 || !std::isfinite(scaling.offset) ||
        (scaling.scale == 1 && scaling.offset == 0))
        return std::nullopt;
    return scaling;
}

StackFormat stack_format(const ImageMetadata& metadata, const Shape3& piece) {
    StackFormat format{metadata.shape, metadata.type, metadata.frames, metadata.channels};
    for (int axis = 0; axis < 3; ++axis)
        format.piece[axis] = std::clamp<index_t>(piece[axis], 1, metadata.shape[axis]);
    return format;
}

void FileWriter::write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
    check_box(format(), t, c, box, source);
    write_checked_box(t, c, box, source);
    samples_ += element_count(source.shape);
}

void FileWriter::commit() {
    const index_t samples = metadata_.bytes() / bytes_each();
    if (samples_ < samples)
        throw InvalidArgument(message("only ", samples_.load(), " of ", samples,
                                      " samples were written before the file was completed; write "
                                      "every box of every channel and time"));
    if (samples_ > samples)
        throw InvalidArgument(message(samples_.load(), " samples were written to a file of ",
                                      samples, "; write each of them once"));
    complete();
}

void FileWriter::write_to_array(AtomicOutput& output, index_t offset, index_t t, index_t c,
                                const Box3& box, const ConstImageView& source) const {
    const index_t volume_bytes = element_count(metadata_.shape) * bytes_each();
    const FileArray volume{offset + (t * metadata_.channels + c) * volume_bytes,
                           contiguous_strides(metadata_.shape)};
    write_array(output, volume.from(box.begin, bytes_each()), source);
}

}  // namespace convolume::io
