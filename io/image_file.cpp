// SPDX-License-Identifier: Apache-2.0
#include "convolume/image_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "convolume/error.hpp"
#include "io/file_array.hpp"
#include "io/file_stack.hpp"
#include "io/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Tells whether an XML file is OME-XML: its first element, after comments, has that name.
bool is_ome_xml(const std::string& path) {
    return RawFile(path).head(1 << 16).find("<OME") != std::string::npos;
}

constexpr const char* compressions[] = {"none", "deflate", "lzw", "zstd", "packbits"};
static_assert(std::size(compressions) == static_cast<std::size_t>(Compression::packbits) + 1);

bool is_tiff(const std::string& head) {
    static const std::string marks[] = {{"II*\0", 4}, {"MM\0*", 4}, {"II+\0", 4}, {"MM\0+", 4}};
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](const std::string& mark) { return head.compare(0, 4, mark) == 0; });
}

/// XML begins with a tag, after a byte order mark and blanks.
bool is_xml(std::string_view head) {
    if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
    const auto first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || head[first] != '<') return false;
    const std::string_view tag = head.substr(first + 1);
    return !tag.empty() &&
           (tag[0] == '?' || tag[0] == '!' || std::isalpha(static_cast<unsigned char>(tag[0])));
}

/// HDF5's signature stands at 0 or, after a user block, at 512, 1024, 2048, …
bool is_hdf5(const RawFile& file) {
    static const std::string mark("\211HDF\r\n\032\n", 8);
    std::string found(8, '\0');
    for (index_t at = 0; at <= file.size() - 8; at = at == 0 ? 512 : at * 2) {
        file.read(at, found.data(), 8);
        if (found == mark) return true;
    }
    return false;
}

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
    return {path.substr(0, colon), path.substr(colon + 1)};
}

namespace {

/// Says of a file that is not read which format it has, by its first bytes.
std::string what_it_is_instead(const std::string& head) {
    struct Known {
        std::size_t at;
        std::string_view bytes;
        const char* format;
    };
    using namespace std::string_view_literals;
    static constexpr Known formats[] = {
        {0, "ZISRAWFILE"sv, "a CZI file of Zeiss"},
        {0, "\x70\0\0\0"sv, "a LIF file of Leica"},
        {0, "\xDA\xCE\xBE\x0A"sv, "an ND2 file of Nikon"},
        {0, "\0\0\0\x0CjP  "sv, "a JPEG 2000 file (ND2 files of Nikon before 2010 are, too)"},
        {0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an OIB file of Olympus or ZVI file of Zeiss"},
        {96, "\xA0\xC0"sv, "a DV file of DeltaVision"},
        {96, "\xC0\xA0"sv, "a DV file of DeltaVision"},
        {0, "\x89PNG"sv, "a PNG file"},
        {0, "\xFF\xD8\xFF"sv, "a JPEG file, which has lost the noise of photons"},
    };
    for (const Known& known : formats)
        if (head.size() > known.at &&
            std::string_view(head).substr(known.at).starts_with(known.bytes))
            return message(" is ", known.format, ", which is not read");
    return " is not a TIFF, HDF5 or NPY file, or its beginning is damaged";
}

std::unique_ptr<ImageReader> open_file(const std::string& path, const OpenOptions& options) {
    const PathSpec spec = parse_path(path);
    refuse_several_files(spec.file);
    const FileKind kind = kind_of(RawFile(spec.file));
    if (kind == FileKind::hdf5) return open_hdf5(spec, options);
    if (kind == FileKind::xml && is_ome_xml(spec.file))
        return open_ome_companion(spec.file, options);
    if (kind == FileKind::xml) return open_bdv_xml(spec, options);
    if (kind != FileKind::other && !spec.dataset.empty())
        throw InvalidArgument(message(spec.file, " is not an HDF5 file and has no dataset ",
                                      spec.dataset, "; give the path of the file alone"));
    if (kind == FileKind::tiff) return open_tiff(spec.file, options);
    if (kind == FileKind::npy) return open_npy(spec.file, options);
    throw BadData(message(spec.file, what_it_is_instead(RawFile(spec.file).head(128)),
                          "; convert it, for example with Fiji"));
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
    if (names_hdf5(spec.file)) return create_hdf5(spec, metadata, options);
    if (!spec.dataset.empty())
        throw InvalidArgument(message("only HDF5 files (.h5, .hdf5) have datasets; ", path,
                                      " names one; give the path of the file alone"));
    for (const char* ome : {".ome.tif", ".ome.tiff", ".ome.tf2", ".ome.tf8", ".ome.btf"})
        if (has_extension(spec.file, ome)) return create_tiff(spec.file, metadata, options, true);
    for (const char* tiff : {".tif", ".tiff", ".tf2", ".tf8", ".btf"})
        if (has_extension(spec.file, tiff)) return create_tiff(spec.file, metadata, options, false);
    if (has_extension(spec.file, ".npy")) return create_npy(spec.file, metadata, options);
    throw InvalidArgument(message("the extension of ", path,
                                  " names no format that can be written; "
                                  "use .tif, .ome.tif, .h5 or .npy"));
}

bool output_exists(const std::string& path) {
    const PathSpec spec = parse_path(path);
    std::error_code unreadable;  // then it is not known to be free
    if (!std::filesystem::exists(spec.file, unreadable)) return static_cast<bool>(unreadable);
    return spec.dataset.empty() || !is_free_in_hdf5(spec);
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

FileKind kind_of(const RawFile& file) {
    if (is_hdf5(file)) return FileKind::hdf5;
    const std::string head = file.head(8);
    if (is_tiff(head)) return FileKind::tiff;
    if (head.compare(0, 6, "\x93NUMPY") == 0) return FileKind::npy;
    return is_xml(file.head(64)) ? FileKind::xml : FileKind::other;
}

bool has_extension(const std::string& path, std::string_view extension) {
    return path.size() > extension.size() && lower_case(path).ends_with(lower_case(extension));
}

bool names_hdf5(const std::string& path) {
    return has_extension(path, ".h5") || has_extension(path, ".hdf5");
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
