// SPDX-License-Identifier: Apache-2.0
// MRC and CCP4 files of electron microscopy: a header of 1024 bytes, an extended header, then the
// samples. Format: Cheng et al. 2015, "MRC2014: Extensions to the MRC format header for electron
// cryo-microscopy and tomography", J. Struct. Biol. 192, 146–150.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "convolume/error.hpp"
#include "io/array_file.hpp"
#include "io/image_file.hpp"
#include "io/image_format.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr index_t mrc_header_bytes = 1024;
constexpr std::size_t label_bytes = 80;
constexpr double angstroms_per_um = 1e4;

/// Positions of values in the header, in bytes.
namespace mrc_field {
constexpr std::size_t extents = 0;       // columns, rows, sections
constexpr std::size_t mode = 12;         // type of the samples
constexpr std::size_t intervals = 28;    // samples of the cell along x, y, z
constexpr std::size_t cell = 40;         // lengths of the cell along x, y, z in Å
constexpr std::size_t angles = 52;       // angles of the cell in degrees
constexpr std::size_t axes = 64;         // axes of columns, rows and sections: 1, 2, 3 for x, y, z
constexpr std::size_t statistics = 76;   // minimum, maximum, mean
constexpr std::size_t space_group = 88;  // ISPG
constexpr std::size_t extended_bytes = 92;  // NSYMBT
constexpr std::size_t version = 108;        // 20140 or 20141
constexpr std::size_t imod_stamp = 152;
constexpr std::size_t imod_flags = 156;
constexpr std::size_t map = 208;  // "MAP "
constexpr std::size_t machine = 212;
constexpr std::size_t deviation = 216;
constexpr std::size_t labels = 220;  // their number, then their texts
}  // namespace mrc_field

constexpr std::int32_t imod_stamp = 0x444F4D49;  // "IMOD"
constexpr std::int32_t imod_signed_bytes = 1;
constexpr std::int32_t first_volume_stack = 401, last_volume_stack = 630;

/// A mode whose samples are read and written as they are.
struct MrcMode {
    std::int32_t number;
    PixelType type;
};
constexpr MrcMode mrc_modes[] = {{0, PixelType::int8},
                                 {1, PixelType::int16},
                                 {2, PixelType::float32},
                                 {4, PixelType::complex64},
                                 {6, PixelType::uint16}};
constexpr std::int32_t half_mode = 12;

/// The values of a header, of which every one has 4 bytes.
class MrcHeader {
  public:
    MrcHeader() = default;
    MrcHeader(const std::string& bytes, bool swapped) : swapped_(swapped) {
        std::copy_n(bytes.begin(), mrc_header_bytes, bytes_.begin());
    }

    template <class Value = std::int32_t>
    Value get(std::size_t position, std::size_t index = 0) const {
        static_assert(sizeof(Value) == 4);
        Value value;
        std::memcpy(&value, &bytes_[position + 4 * index], 4);
        if (swapped_) swap_bytes(&value, 1, 4);
        return value;
    }
    template <class... Values>
    void set(std::size_t position, const Values&... values) {
        static_assert(((sizeof(Values) == 4) && ...));
        ((std::memcpy(&bytes_[position], &values, 4), position += 4), ...);
    }
    void set_text(std::size_t position, std::string_view text) {
        std::copy(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(position));
    }
    bool is_swapped() const { return swapped_; }
    std::string bytes() const { return {bytes_.begin(), bytes_.end()}; }

  private:
    std::array<char, mrc_header_bytes> bytes_{};
    bool swapped_ = false;
};

[[noreturn]] void refuse_mrc(const std::string& path, const std::string& what) {
    throw BadData(message(path, " is an MRC file with ", what,
                          "; save it again, for example with the Python package mrcfile"));
}

bool is_mrc(std::string_view head) {
    return head.size() >= static_cast<std::size_t>(mrc_header_bytes) &&
           head.substr(mrc_field::map).starts_with("MAP");
}

/// Reads the header in the byte order of the machine stamp. For unknown stamps, as some programs
/// write, the order is that in which the mode is a small number.
MrcHeader read_mrc_header(const RawFile& file) {
    const std::string bytes = file.head(mrc_header_bytes);
    if (!is_mrc(bytes)) refuse_mrc(file.path(), "a damaged header");
    const char stamp = bytes[mrc_field::machine];
    const MrcHeader native(bytes, false);
    const bool known = stamp == 0x44 || stamp == 0x11;
    const bool is_little_endian = stamp == 0x44;
    const bool swapped =
        known ? is_little_endian != (std::endian::native == std::endian::little)
              : native.get(mrc_field::mode) < 0 || native.get(mrc_field::mode) > 0xFFFF;
    return {bytes, swapped};
}

ElementType mrc_element_of(const std::string& path, const MrcHeader& header) {
    const std::int32_t number = header.get(mrc_field::mode);
    ElementType element;
    element.is_half = number == half_mode;
    if (element.is_half) return element;
    const auto* const mode = std::find_if(std::begin(mrc_modes), std::end(mrc_modes),
                                          [&](const MrcMode& one) { return one.number == number; });
    if (mode == std::end(mrc_modes))
        throw BadData(message(path, " is an MRC file with samples of mode ", number,
                              ", which are not supported; convert them to float32 (mode 2)"));
    const bool is_unsigned = number == 0 && header.get(mrc_field::imod_stamp) == imod_stamp &&
                             (header.get(mrc_field::imod_flags) & imod_signed_bytes) == 0;
    element.type = is_unsigned ? PixelType::uint8 : mode->type;
    return element;
}

/// Returns the letters of the axes of sections, rows and columns.
std::string mrc_axes_of(const std::string& path, const MrcHeader& header) {
    std::string axes;
    for (const std::size_t i : {2U, 1U, 0U}) {
        const std::int32_t axis = header.get(mrc_field::axes, i);
        if (axis >= 1 && axis <= 3) axes += "XYZ"[axis - 1];
    }
    if (axes.empty()) return "ZYX";  // old files leave the axes open
    if (axes.size() < 3 || !is_axes(axes)) refuse_mrc(path, "a damaged order of its axes");
    return axes;
}

/// Returns the type and the place of the samples. Throws BadData if they are not in the file.
ImageArray mrc_array_of(const RawFile& file, const MrcHeader& header,
                        const std::string& axes_given) {
    const std::string& path = file.path();
    std::vector<index_t> dims;
    for (const std::size_t i : {2U, 1U, 0U}) dims.push_back(header.get(mrc_field::extents, i));
    if (*std::min_element(dims.begin(), dims.end()) < 1)
        refuse_mrc(path, message("a shape of ", dims_text(dims)));
    const index_t extended = header.get(mrc_field::extended_bytes);
    if (extended < 0) refuse_mrc(path, "a damaged length of its extended header");
    const ElementType element = mrc_element_of(path, header);
    check_array_size(file, dims, element, mrc_header_bytes + extended);
    std::string axes = mrc_axes_of(path, header);
    const std::int32_t group = header.get(mrc_field::space_group);
    if (group >= first_volume_stack && group <= last_volume_stack) {
        const index_t planes = header.get(mrc_field::intervals, 2);
        if (axes[0] != 'Z' || planes < 1 || dims[0] % planes != 0)
            refuse_mrc(path,
                       message(dims[0], " sections that are no stack of volumes of ", planes));
        dims = {dims[0] / planes, planes, dims[1], dims[2]};
        axes.insert(0, 1, 'T');
    }
    AxisLayout layout = axis_layout(dims, axes, axes_given, path);
    std::vector<index_t> strides = array_strides(layout.dims);
    return {element, std::move(layout), std::move(strides), mrc_header_bytes + extended,
            header.is_swapped()};
}

ImageMetadata mrc_metadata_of(const MrcHeader& header, const ImageArray& array,
                              bool axes_are_given) {
    ImageMetadata metadata;
    metadata.format = "MRC";
    for (std::size_t i = 0; i < 3; ++i) {  // x, y, z
        const double length = decimal_of_float(header.get<float>(mrc_field::cell, i));
        const std::int32_t intervals = header.get(mrc_field::intervals, i);
        const double voxel_um = length / intervals / angstroms_per_um;
        if (intervals > 0 && std::isfinite(voxel_um) && voxel_um > 0) {
            metadata.voxel_size_um[2 - i] = voxel_um;
            metadata.unit = "Å";
        }
    }
    const index_t planes = array.layout.extent('Z');
    if (header.get(mrc_field::space_group) == 0 && planes > 1 && !axes_are_given)
        metadata.notes.push_back(message(
            "the file says that its ", planes,
            " sections are images, not a volume; they are read as planes along z (--axes ZYX "
            "confirms this, --axes TYX reads times)"));
    return metadata;
}

/// Returns the header of an image. Throws InvalidArgument if no header describes it.
MrcHeader mrc_header_of(const std::string& path, const ImageMetadata& metadata,
                        const CreateOptions& options) {
    const auto* const mode =
        std::find_if(std::begin(mrc_modes), std::end(mrc_modes),
                     [&](const MrcMode& one) { return one.type == metadata.type; });
    if (mode == std::end(mrc_modes))
        throw InvalidArgument(message("cannot write ", path, ": MRC files do not hold ",
                                      to_string(metadata.type),
                                      " samples; write int8, int16, uint16, float32 or complex64"));
    if (metadata.channels > 1)
        throw InvalidArgument(message("cannot write ", path, ": MRC files do not hold ",
                                      metadata.channels,
                                      " channels; write one of them, or TIFF or HDF5"));
    const Shape3& shape = metadata.shape;
    const index_t sections = checked_multiply(metadata.frames, shape.z);
    if (std::max({shape.x, shape.y, sections}) > INT32_MAX)
        throw InvalidArgument(message("cannot write ", path, ": MRC files do not hold ",
                                      to_string(shape), "; write HDF5 (.h5)"));
    const auto narrow = [](index_t extent) { return static_cast<std::int32_t>(extent); };
    const bool is_image_stack =
        metadata.frames == 1 && (shape.z == 1 || has_extension(path, ".mrcs"));
    const std::int32_t cell[] = {narrow(shape.x), narrow(shape.y),
                                 narrow(is_image_stack ? 1 : shape.z)};

    MrcHeader header;
    header.set(mrc_field::extents, narrow(shape.x), narrow(shape.y), narrow(sections));
    header.set(mrc_field::mode, mode->number);
    header.set(mrc_field::intervals, cell[0], cell[1], cell[2]);
    for (std::size_t i = 0; i < 3; ++i) {
        const double voxel_um = metadata.voxel_size_um[2 - i].value_or(0);
        header.set(mrc_field::cell + 4 * i,
                   static_cast<float>(voxel_um * cell[i] * angstroms_per_um));
    }
    header.set(mrc_field::angles, 90.F, 90.F, 90.F);
    header.set(mrc_field::axes, 1, 2, 3);
    // Values that contradict each other say that they are not known.
    header.set(mrc_field::statistics, 0.F, -1.F, -2.F);
    header.set(mrc_field::deviation, -1.F);
    header.set(mrc_field::space_group, metadata.frames > 1 ? first_volume_stack
                                       : is_image_stack    ? 0
                                                           : 1);
    header.set(mrc_field::version, 20141);
    if (mode->number == 0) {  // IMOD takes bytes as unsigned ones unless this says otherwise
        header.set(mrc_field::imod_stamp, imod_stamp);
        header.set(mrc_field::imod_flags, imod_signed_bytes);
    }
    header.set_text(mrc_field::map, "MAP ");
    header.set_text(mrc_field::machine,
                    std::endian::native == std::endian::little ? "\x44\x44" : "\x11\x11");
    if (!options.software.empty()) {
        header.set(mrc_field::labels, 1);
        std::string label = options.software;
        label.resize(label_bytes, ' ');
        header.set_text(mrc_field::labels + 4, label);
    }
    return header;
}

std::unique_ptr<ImageReader> open_mrc(const PathSpec& spec, const OpenOptions& options) {
    auto file = std::make_unique<const RawFile>(spec.file);
    const MrcHeader header = read_mrc_header(*file);
    ImageArray array = mrc_array_of(*file, header, options.axes);
    ImageMetadata metadata = mrc_metadata_of(header, array, !options.axes.empty());
    return open_array(std::move(file), std::move(array), std::move(metadata));
}

std::unique_ptr<ImageWriter> create_mrc(const PathSpec& spec, const ImageMetadata& metadata,
                                        const CreateOptions& options) {
    const std::string header = mrc_header_of(spec.file, metadata, options).bytes();
    return create_array("MRC", spec.file, header, metadata, options);
}

}  // namespace

std::vector<ImageFormat> mrc_formats() {
    return {{.name = "MRC",
             .endings = {".mrc", ".mrcs", ".map"},
             .read_endings = {".rec", ".st", ".ali", ".ccp4"},
             .recognizes = [](const std::string&, std::string_view head) { return is_mrc(head); },
             .open = open_mrc,
             .create = create_mrc}};
}

}  // namespace convolume::io
