#include "cli/convolve/request.hpp"

#include <array>
#include <utility>

namespace convolume::cli {

int parse_parts(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, int>, 6> choices{
        {{"auto", 0}, {"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}}};
    for (const auto& [name, parts] : choices)
        if (text == name) return parts;
    throw InvalidArgument(
        message("--parts is auto, 1, 2, 4, 8 or 16, not \"", text, "\"; choose one of these"));
}

io::Compression parse_compression(std::string_view text) {
    using io::Compression;
    constexpr std::array<std::pair<std::string_view, Compression>, 5> choices{
        {{"none", Compression::none},
         {"deflate", Compression::deflate},
         {"lzw", Compression::lzw},
         {"zstd", Compression::zstd},
         {"packbits", Compression::packbits}}};
    for (const auto& [name, compression] : choices)
        if (text == name) return compression;
    throw InvalidArgument(message("--compression is none, deflate, lzw, zstd or packbits, not \"",
                                  text, "\"; choose one of these"));
}

PixelType resolve_output_type(std::string_view name, PixelType image, PixelType kernel,
                              Precision precision) {
    const bool complex = is_complex(image) || is_complex(kernel);
    PixelType type = PixelType::float32;
    if (name.empty()) {
        if (precision == Precision::float64)
            type = complex ? PixelType::complex128 : PixelType::float64;
        else
            type = complex ? PixelType::complex64 : PixelType::float32;
    } else {
        type = name == "same" ? image : pixel_type_from_name(name);
    }
    if (complex && !is_complex(type))
        throw InvalidArgument(message("the result is complex since ",
                                      is_complex(image) ? "the image" : "the kernel",
                                      " is, and cannot be written as ", name_of(type),
                                      "; choose --output-type complex64 or complex128"));
    return type;
}

Shape3 planned_image_shape(const Shape3& input, const Shape3& kernel, const Options& options) {
    if (options.operation != Operation::adjoint || options.mode == Mode::same) return input;
    Shape3 image;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t extra = kernel[axis] - 1;
        image[axis] =
            options.mode == Mode::full ? input[axis] - extra : checked_add(input[axis], extra);
        if (image[axis] < 1)
            throw InvalidArgument(
                message("the adjoint of mode full takes images at least as large "
                        "as the kernel, but along ",
                        axis_name(axis), " the image has ", input[axis], " and the kernel ",
                        kernel[axis], " samples; choose another --mode"));
    }
    return image;
}

}  // namespace convolume::cli
