// SPDX-License-Identifier: Apache-2.0
#include "io/formats.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "io/file_array.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

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

}  // namespace

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
