// NumPy's array files: a magic, a header that is a Python dictionary, the elements.

#include <algorithm>
#include <bit>
#include <charconv>

#include "axis_layout.hpp"
#include "formats.hpp"
#include "strided.hpp"

namespace convolume::io {
namespace {

constexpr index_t longest_header = 1 << 20;

struct NpyHeader {
    PixelType type = PixelType::float32;
    bool swapped = false;
    bool fortran_order = false;
    std::vector<index_t> dims;
    index_t data_offset = 0;
};

[[noreturn]] void refuse(const RawFile& file, const std::string& what) {
    throw BadData(message(file.path(), " is an NPY file with ", what,
                          "; save the array again with numpy.save"));
}

/// What follows 'key': in the dictionary.
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

PixelType parse_type(const RawFile& file, std::string_view text, bool& swapped) {
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
    for (const auto& [suffix, type] : types)
        if (code.substr(1) == suffix) {
            const bool big = code[0] == '>';
            const bool little = code[0] == '<';
            swapped = std::endian::native == std::endian::little ? big : little;
            return type;
        }
    throw BadData(message(file.path(), " holds elements of type ", code,
                          ", which are not supported; convert them to float32 or uint16"));
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
        dims.push_back(extent);
        at = parsed.ptr;
        if (at < end && *at == 'L') ++at;  // Python 2 wrote (3L, 4L)
    }
}

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
    header.type = parse_type(file, value_after(file, text, "descr"), header.swapped);
    header.fortran_order = value_after(file, text, "fortran_order").substr(0, 4) == "True";
    header.dims = parse_shape(file, value_after(file, text, "shape"));
    header.data_offset = prefix + length;

    index_t bytes = static_cast<index_t>(size_of(header.type));
    for (const index_t extent : header.dims) {
        if (extent == 0) refuse(file, "no elements");
        if (bytes > file.size() / extent)
            throw BadData(message(file.path(), " says that it holds ", dims_text(header.dims), " ",
                                  name_of(header.type), " in a file of ", file.size(),
                                  " bytes; it is truncated or damaged"));
        bytes *= extent;
    }
    if (bytes > file.size() - header.data_offset)
        throw BadData(message(file.path(), " holds ", file.size() - header.data_offset, " of the ",
                              bytes, " bytes its header names; it is truncated, copy it again"));
    return header;
}

class NpyReader : public ImageReader {
  public:
    NpyReader(const std::string& path, const OpenOptions& options)
        : file_(path),
          header_(read_header(file_)),
          layout_(axis_layout(header_.dims, "", options.axes, path)) {
        metadata_.format = "NPY";
        metadata_.type = header_.type;
        set_extents(metadata_, layout_);
        strides_.assign(layout_.dims.size(), 1);
        const std::size_t rank = strides_.size();
        for (std::size_t i = 1; i < rank; ++i) {
            // The fastest dimension is the last in C order, the first in Fortran's.
            const std::size_t d = header_.fortran_order ? i : rank - 1 - i;
            const std::size_t faster = header_.fortran_order ? i - 1 : rank - i;
            strides_[d] = strides_[faster] * layout_.dims[faster];
        }
    }

    const ImageMetadata& metadata() const override { return metadata_; }

    void read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target) override {
        check_request(metadata_, t, c, z_begin, target);
        index_t first = 0;
        const std::vector<index_t> at = layout_.position(t, c, z_begin);
        for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides_[d];
        const FileArray array{
            header_.data_offset + first * static_cast<index_t>(size_of(header_.type)),
            {stride('Z'), stride('Y'), stride('X')},
            header_.swapped};
        read_array(file_, array, target);
    }

  private:
    index_t stride(char axis) const {
        const int d = layout_.dimension(axis);
        return d < 0 ? 0 : strides_[static_cast<std::size_t>(d)];
    }

    RawFile file_;
    NpyHeader header_;
    AxisLayout layout_;
    std::vector<index_t> strides_;
    ImageMetadata metadata_;
};

}  // namespace

std::unique_ptr<ImageReader> open_npy(const std::string& path, const OpenOptions& options) {
    return std::make_unique<NpyReader>(path, options);
}

}  // namespace convolume::io
