// SPDX-License-Identifier: Apache-2.0
#include "cli/picture/canvas.hpp"

#include <png.h>

#include <algorithm>

#include "cli/picture/font.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

Canvas::Canvas(int width, int height, Color background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

void Canvas::set(int x, int y, Color color) {
    if (x >= 0 && x < width_ && y >= 0 && y < height_) pixels_[offset(x, y)] = color;
}

void Canvas::fill(int x, int y, int width, int height, Color color) {
    for (int row = y; row < y + height; ++row)
        for (int column = x; column < x + width; ++column) set(column, row, color);
}

void Canvas::text(int x, int y, std::string_view utf8, Color color, int size) {
    for (const char32_t character : decode_utf8(utf8)) {
        const Glyph glyph = glyph_of(character);
        for (int row = 0; row < glyph_height; ++row)
            for (int column = 0; column < glyph_width; ++column)
                if ((glyph[static_cast<std::size_t>(row)] >> (glyph_width - 1 - column) & 1) != 0)
                    fill(x + column * size, y + row * size, size, size, color);
        x += (glyph_width + 1) * size;
    }
}

int text_width(std::string_view utf8, int size) {
    const auto characters = static_cast<int>(decode_utf8(utf8).size());
    return std::max(0, characters * (glyph_width + 1) - 1) * size;
}

std::vector<char> Canvas::png() const {
    static_assert(sizeof(Color) == 3, "rows of colors are handed to libpng as they are");
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<char> bytes(size);
    if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels_.data(), 0, nullptr) == 0)
        throw OutOfMemory(message("libpng could not make a picture of ", width_, "×", height_,
                                  " pixels: ", image.message));
    bytes.resize(size);
    return bytes;
}

}  // namespace convolume::cli
