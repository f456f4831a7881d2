// SPDX-License-Identifier: Apache-2.0
// NumPy's array files (.npy): a magic number, a Python dictionary with type, order and shape, then
// the elements. They hold images or signals.

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "io/array_file.hpp"
#include "io/atomic_output.hpp"
#include "io/image_format.hpp"
#include "io/signal/coordinates.hpp"
#include "io/signal/file.hpp"
#include "io/signal/sample_codec.hpp"

namespace convolume::io {
namespace {

struct NpyHeader {
    ElementType element;
    bool swapped = false;  ///< true if the byte order differs from this machine's
    bool fortran_order = false;
    std::vector<index_t> dims;  ///< extents, slowest first in C order; empty for a single value
    index_t data_offset = 0;
};

constexpr index_t longest_header = 1 << 20;

[[noreturn]] void refuse(const RawFile& file, const std::string& what) {
    throw BadData(message(file.path(), " is an NPY file with ", what,
                          "; save the array again with numpy.save"));
}

/// Returns the text of the dictionary after 'key':. Throws BadData if there is no such key.
std::string_view value_after(const RawFile& file, std::string_view header, const std::string& key) {
    for (const char quote : {'\'', '"'}) {
        const std::string quoted = quote + key + quote;
        const auto at = header.find(quoted);
        if (at == std::string_view::npos) continue;
        std::string_view rest = header.substr(at + quoted.size());
        const auto start = rest.find_first_not_of(" :");
        if (start != std::string_view::npos) return rest.substr(start);
    }
    refuse(file, "no '" + key + "' in its header");
}

/// Sets type and byte order of `header` from `text`, which begins with a code such as '<f4'.
void set_type(const RawFile& file, std::string_view text, NpyHeader& header) {
    const std::string name(text.substr(0, std::min<std::size_t>(text.size(), 12)));
    if (name.size() < 5 || (name[0] != '\'' && name[0] != '"') ||
        name.find(name[0], 1) == std::string::npos)
        refuse(file, "structured elements");
    const std::string code = name.substr(1, name.find(name[0], 1) - 1);
    if (code.size() < 3) refuse(file, "an unknown element type '" + code + "'");
    static constexpr std::pair<std::string_view, PixelType> types[] = {
        {"u1", PixelType::uint8},     {"b1", PixelType::uint8},      {"i1", PixelType::int8},
        {"u2", PixelType::uint16},    {"i2", PixelType::int16},      {"u4", PixelType::uint32},
        {"i4", PixelType::int32},     {"f4", PixelType::float32},    {"f8", PixelType::float64},
        {"c8", PixelType::complex64}, {"c16", PixelType::complex128}};
    header.swapped = code[0] == (std::endian::native == std::endian::little ? '>' : '<');
    const std::string suffix = code.substr(1);
    if (suffix == "i8" || suffix == "u8") {
        header.element.type = PixelType::float64;
        header.element.wide = suffix == "i8" ? WideInteger::int64 : WideInteger::uint64;
        return;
    }
    header.element.is_half = suffix == "f2";
    if (header.element.is_half) return;
    const auto* const found = std::find_if(std::begin(types), std::end(types),
                                           [&](const auto& type) { return type.first == suffix; });
    if (found == std::end(types))
        throw BadData(message(file.path(), " holds elements of type ", code,
                              ", which are not supported; convert them to float32 or uint16"));
    header.element.type = found->second;
}

std::vector<index_t> parse_shape(const RawFile& file, std::string_view text) {
    const auto close = text.find(')');
    if (text.empty() || text[0] != '(' || close == std::string_view::npos)
        refuse(file, "a damaged shape");
    std::vector<index_t> dims;
    const char* at = text.data() + 1;
    const char* const end = text.data() + close;
    while (true) {
        while (at < end && (*at == ' ' || *at == ',')) ++at;
        if (at == end) return dims;
        index_t extent = 0;
        const auto parsed = std::from_chars(at, end, extent);
        if (parsed.ec != std::errc() || extent < 0) refuse(file, "a damaged shape");
        if (dims.size() == most_dimensions)
            refuse(file, message("more than ", most_dimensions, " dimensions"));
        dims.push_back(extent);
        at = parsed.ptr;
        if (at < end && *at == 'L') ++at;  // Python 2 wrote (3L, 4L)
    }
}

/// Reads the header. Throws BadData if it is damaged, unsupported or describes too many bytes.
NpyHeader read_header(const RawFile& file) {
    const std::string start = file.head(12);
    if (start.size() < 12) refuse(file, "no header");
    const auto byte = [&](std::size_t i) {
        return static_cast<index_t>(static_cast<unsigned char>(start[i]));
    };
    const index_t version = byte(6);
    if (version < 1 || version > 3) refuse(file, message("format version ", version));
    const index_t prefix = version == 1 ? 10 : 12;
    index_t length = byte(8) | byte(9) << 8;
    if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
    if (length > longest_header || length > file.size() - prefix) refuse(file, "a damaged header");

    std::string text(static_cast<std::size_t>(length), '\0');
    file.read(prefix, text.data(), length);
    NpyHeader header;
    set_type(file, value_after(file, text, "descr"), header);
    header.fortran_order = value_after(file, text, "fortran_order").substr(0, 4) == "True";
    header.dims = parse_shape(file, value_after(file, text, "shape"));
    header.data_offset = prefix + length;

    if (std::find(header.dims.begin(), header.dims.end(), 0) != header.dims.end())
        refuse(file, "no elements");
    check_array_size(file, header.dims, header.element, header.data_offset);
    return header;
}

std::string type_code(char kind, std::size_t bytes) {
    const char order = bytes == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
    return message(order, kind, bytes);
}

/// Returns NumPy's code of a type in this machine's byte order, such as "<f4".
std::string type_code(PixelType type) {
    const char kind = is_complex(type)                         ? 'c'
                      : !is_integer(type)                      ? 'f'
                      : std::string(to_string(type))[0] == 'u' ? 'u'
                                                               : 'i';
    return type_code(kind, size_of(type));
}

/// Returns the code of samples in an array of signals. Throws InvalidArgument if it has none.
std::string type_code(const NewSignals& signals) {
    const std::optional<StoredType> stored = signals.options.stored;
    if (!stored) {
        const auto pixels = pixel_type_of(signals.type);
        return pixels ? type_code(*pixels) : type_code('i', 8);
    }
    if (*stored == StoredType::float16) return type_code('f', 2);
    if (*stored == StoredType::bfloat16 || *stored == StoredType::int24 || is_complex(*stored))
        throw InvalidArgument(sentence("cannot write ", signals.path.file,
                                       ": NPY files do not hold ", to_string(*stored),
                                       " samples; choose float16, float32, int16 or another real "
                                       "type (",
                                       OptionName{"stored"}, "), or write a raw file"));
    return *stored == StoredType::int64 ? type_code('i', 8) : type_code(read_type(*stored));
}

/// Returns the magic number and header (format version 1) of an array in C order.
std::string header_text(const std::string& type_code, const std::vector<index_t>& dims) {
    std::string shape;
    for (const index_t extent : dims) shape += message(shape.empty() ? "" : ", ", extent);
    if (dims.size() == 1) shape += ",";
    std::string text =
        message("{'descr': '", type_code, "', 'fortran_order': False, 'shape': (", shape, "), }");
    // Padding, so that the elements start at a multiple of 64 bytes.
    text.append(63 - (text.size() + 10) % 64, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xFF);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

/// Returns the dimensions to write: t, c, z, y, x, but t and c only if one of them exceeds 1. If z
/// (and y) are 1, the array has as few dimensions as the source had.
std::vector<index_t> written_dims(const ImageMetadata& metadata) {
    const Shape3& s = metadata.shape;
    if (metadata.frames > 1 || metadata.channels > 1)
        return {metadata.frames, metadata.channels, s.z, s.y, s.x};
    if (s.z > 1 || metadata.axes.find('Z') != std::string::npos) return {s.z, s.y, s.x};
    if (s.y > 1 || metadata.axes.find('Y') != std::string::npos) return {s.y, s.x};
    return {s.x};
}

class NpySignalReader : public SignalReaderBase {
  public:
    explicit NpySignalReader(const std::string& path) : file_(path), header_(read_header(file_)) {
        if (header_.dims.empty())
            throw BadData(message(path, " holds a single value, not an array of samples"));
        info_ = {"NPY", header_.element.type, header_.dims};
        info_.coordinates = coordinates_beside(path, info_.dims);
        strides_ = array_strides(header_.dims, header_.fortran_order);
    }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        index_t first = begin * strides_.back();
        const std::vector<index_t> at = row_position(info_.dims, signal);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides_[d];
        const FileArray samples{header_.data_offset + first * header_.element.bytes(),
                                {0, 0, strides_.back()},
                                header_.swapped};
        read_elements(file_, header_.element, samples,
                      {to, info_.type, {1, 1, count}, {count, count, 1}});
        file_.check_unchanged();
    }

  private:
    RawFile file_;
    NpyHeader header_;
    std::vector<index_t> strides_;
};

class NpySignalWriter : public SignalWriter {
  public:
    explicit NpySignalWriter(const NewSignals& signals)
        : dims_(signals.dims),
          type_code_(type_code(signals)),
          encoder_(signals.type, signals.options.stored.value_or(stored_type_of(signals.type)),
                   signals.path.file),
          stored_bytes_(bytes_of(signals.options.stored.value_or(stored_type_of(signals.type)))),
          header_(header_text(type_code_, dims_)),
          output_(signals.path.file, signals.options.overwrite,
                  checked_add(signals.expected_bytes(stored_bytes_), data_offset())),
          coordinates_(signals.path.file, signals.options) {
        output_.write(0, header_.data(), data_offset());
    }

    void write(index_t row, index_t begin, index_t count, const void* from) override {
        check_range(dims_, row, begin, count);
        index_t at = row * dims_.back() + begin;
        encoder_.encode(from, count, [&](const void* stored, index_t samples) {
            output_.write(data_offset() + at * stored_bytes_, stored, samples * stored_bytes_);
            at += samples;
        });
        end_ = std::max(end_, begin + count);
    }
    ClampCount clamped() const override { return encoder_.clamped(); }

    void commit() override {
        if (dims_.back() == unknown_samples) {
            dims_.back() = end_;
            const std::string header = header_text(type_code_, dims_);
            if (header.size() != header_.size())
                throw InternalError("a header that grew with the number of samples");
            output_.write(0, header.data(), data_offset());
        }
        output_.commit();
        coordinates_.commit();
    }

  private:
    index_t data_offset() const { return static_cast<index_t>(header_.size()); }

    std::vector<index_t> dims_;
    std::string type_code_;
    SampleEncoder encoder_;
    index_t stored_bytes_;
    std::string header_;
    AtomicOutput output_;
    CoordinatesBeside coordinates_;
    index_t end_ = 0;  ///< one past the last sample written
};

std::unique_ptr<ImageReader> open_npy(const PathSpec& spec, const OpenOptions& options) {
    auto file = std::make_unique<const RawFile>(spec.file);
    const NpyHeader header = read_header(*file);
    ImageArray array{.element = header.element,
                     .layout = axis_layout(header.dims, "", options.axes, spec.file),
                     .offset = header.data_offset,
                     .swapped = header.swapped};
    array.strides = array_strides(array.layout.dims, header.fortran_order);
    ImageMetadata metadata;
    metadata.format = "NPY";
    if (array.layout.assumed && array.layout.axes.size() > 3)
        metadata.notes.push_back(message("NPY files do not name their axes; ", array.layout.axes,
                                         " are assumed, --axes gives others"));
    return open_array(std::move(file), std::move(array), std::move(metadata));
}

std::unique_ptr<ImageWriter> create_npy(const PathSpec& spec, const ImageMetadata& metadata,
                                        const CreateOptions& options) {
    const std::string header = header_text(type_code(metadata.type), written_dims(metadata));
    return create_array("NPY", spec.file, header, metadata, options);
}

}  // namespace

bool begins_as_npy(std::string_view head) {
    return head.starts_with("\x93NUMPY");
}

std::vector<ImageFormat> npy_formats() {
    return {{.name = "NPY",
             .endings = {".npy"},
             .recognizes = [](const std::string&,
                              std::string_view head) { return begins_as_npy(head); },
             .open = open_npy,
             .create = create_npy}};
}

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path) {
    return std::make_unique<NpySignalReader>(path);
}

std::unique_ptr<SignalWriter> create_npy_signal(const NewSignals& signals) {
    return std::make_unique<NpySignalWriter>(signals);
}

}  // namespace convolume::io
