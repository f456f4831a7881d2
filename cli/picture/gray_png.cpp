// SPDX-License-Identifier: Apache-2.0
#include "cli/picture/gray_png.hpp"

#include <png.h>

#include <array>
#include <bit>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "cli/picture/projection.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

constexpr index_t longest_png_side = 1000000;  // libpng's own limit

struct EncodedPng {
    std::vector<char> bytes;
    std::array<char, 100> error{};
};

// libpng reports errors by longjmp, which runs no destructors. So the functions below own nothing.
void on_error(png_structp png, png_const_charp text) {
    auto& error = static_cast<EncodedPng*>(png_get_error_ptr(png))->error;
    std::snprintf(error.data(), error.size(), "%s", text);
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void append(png_structp png, png_bytep data, std::size_t size) {
    bool refused = false;
    try {
        auto& bytes = static_cast<EncodedPng*>(png_get_io_ptr(png))->bytes;
        bytes.insert(bytes.end(), data, data + size);
    } catch (const std::exception&) {
        refused = true;
    }
    if (refused) png_error(png, "out of memory");
}

bool encode(const ConstImageView& plane, EncodedPng& encoded) {
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoded, on_error, on_warning);
    if (png == nullptr) return false;
    png_infop info = png_create_info_struct(png);
    if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    const int bits = plane.type == PixelType::uint8 ? 8 : 16;
    png_set_write_fn(png, &encoded, append, nullptr);
    png_set_IHDR(png, info, static_cast<png_uint_32>(plane.shape.x),
                 static_cast<png_uint_32>(plane.shape.y), bits, PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
    for (index_t y = 0; y < plane.shape.y; ++y)
        png_write_row(png, static_cast<png_const_bytep>(plane.at(0, y, 0)));
    png_write_end(png, nullptr);
    png_destroy_write_struct(&png, &info);
    return true;
}

GrayLimits finite_range(const ConstImageView& plane) {
    GrayLimits range{std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()};
    visit_pixel_type(plane.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* values = static_cast<const T*>(plane.data);
        for (index_t i = 0; i < element_count(plane.shape); ++i) {
            const double value = real_or_magnitude(values[i]);
            if (!std::isfinite(value)) continue;
            range.low = std::min(range.low, value);
            range.high = std::max(range.high, value);
        }
    });
    return range.low <= range.high ? range : GrayLimits{0, 0};
}

Volume scaled_to_16_bits(const ConstImageView& plane, const GrayLimits& range) {
    Volume scaled(plane.shape, PixelType::uint16);
    auto* levels = scaled.elements<std::uint16_t>();
    const double step = range.high > range.low ? 65535 / (range.high - range.low) : 0;
    visit_pixel_type(plane.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* values = static_cast<const T*>(plane.data);
        for (index_t i = 0; i < element_count(plane.shape); ++i) {
            const double level = (real_or_magnitude(values[i]) - range.low) * step;
            // NaN fails this comparison and becomes 0.
            levels[i] = level > 0
                            ? static_cast<std::uint16_t>(std::lround(std::min(level, 65535.0)))
                            : std::uint16_t{0};
        }
    });
    return scaled;
}

}  // namespace

bool is_png(const std::string& path) {
    return lower_case(std::filesystem::path(path).extension().string()) == ".png";
}

void check_fits_png(const std::string& path, const io::ImageMetadata& image) {
    if (image.frames * image.channels * image.shape.z != 1)
        throw InvalidArgument(
            message("\"", path, "\" would be one picture, but there are ", image.channels,
                    image.channels == 1 ? " channel, " : " channels, ", image.frames,
                    image.frames == 1 ? " time and " : " times and ", image.shape.z,
                    image.shape.z == 1 ? " plane" : " planes",
                    "; choose one with --channel, --frame and --crop, or write "
                    ".tif"));
    if (image.shape.y > longest_png_side || image.shape.x > longest_png_side)
        throw InvalidArgument(message("a PNG cannot hold ", image.shape.y, "×", image.shape.x,
                                      " pixels; write .tif, or choose a part with --crop"));
}

GrayPng::GrayPng(std::string path, const io::ImageMetadata& image)
    : path_(std::move(path)), metadata_(image), plane_(image.shape, image.type) {}

StackFormat GrayPng::format() const {
    return {metadata_.shape, metadata_.type, metadata_.frames, metadata_.channels, {1, 1, 1}};
}

void GrayPng::write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) {
    check_box(format(), t, c, box, source);
    static_cast<void>(convert_pixels(source, subview(plane_.view(), box)));
}

void GrayPng::commit() {
    const ConstImageView plane = std::as_const(plane_).view();
    const bool unscaled = metadata_.type == PixelType::uint8 || metadata_.type == PixelType::uint16;
    Volume scaled;
    if (unscaled) {
        limits_ = {0, metadata_.type == PixelType::uint8 ? 255.0 : 65535.0};
    } else {
        limits_ = finite_range(plane);
        scaled = scaled_to_16_bits(plane, limits_);
    }
    EncodedPng encoded;
    if (!encode(unscaled ? plane : std::as_const(scaled).view(), encoded))
        // The picture was checked before, so only memory can be missing.
        throw OutOfMemory(message("libpng could not make a picture of ", metadata_.shape.x, "×",
                                  metadata_.shape.y, " pixels: ", encoded.error.data()));
    io::write_whole_file(path_, encoded.bytes);
}

std::string GrayPng::gray_text() const {
    return message("black ", format_number(limits_.low), ", white ", format_number(limits_.high));
}

}  // namespace convolume::cli
