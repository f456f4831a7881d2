// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include "cli/picture/canvas.hpp"
#include "tests/catch.hpp"

using namespace convolume::cli;

namespace {

constexpr Color black{0, 0, 0};
constexpr Color white{255, 255, 255};

int count_of(const Canvas& canvas, Color color) {
    int count = 0;
    for (int y = 0; y < canvas.height(); ++y)
        for (int x = 0; x < canvas.width(); ++x) count += canvas.at(x, y) == color;
    return count;
}

}  // namespace

TEST_CASE("drawing outside the canvas has no effect") {
    Canvas canvas(10, 6, black);
    canvas.fill(-5, -5, 8, 8, white);
    CHECK(count_of(canvas, white) == 9);
    canvas.fill(9, 5, 100, 100, white);
    CHECK(count_of(canvas, white) == 10);
    canvas.text(-500, 3, "far away", white, 3);
    CHECK(count_of(canvas, white) == 10);
}

TEST_CASE("text covers the pixels of its glyphs") {
    Canvas canvas(60, 20, black);
    canvas.text(2, 3, "L", white, 2);
    CHECK(count_of(canvas, white) == 4 * (7 + 4));
    CHECK(canvas.at(2, 3) == white);
    CHECK(canvas.at(2 + 9, 3 + 13) == white);
    CHECK(text_width("µm", 2) == 22);
    CHECK(text_width("", 2) == 0);
}

TEST_CASE("every printable character has a glyph") {
    const Glyph unknown = glyph_of(U'\u4e2d');
    for (char32_t c = U'!'; c <= U'~'; ++c) CHECK(glyph_of(c) != unknown);
    for (const char32_t c : U"×µ…→↓")
        if (c != 0) CHECK(glyph_of(c) != unknown);
    CHECK(decode_utf8("a→µ") == U"a→µ");
    CHECK(decode_utf8("\xe2\x86").size() == 1);  // an incomplete UTF-8 sequence
}

TEST_CASE("the PNG file has the pixels of the canvas") {
    Canvas canvas(17, 5, black);
    canvas.set(3, 2, {10, 20, 30});
    const std::vector<char> bytes = canvas.png();
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0);
    image.format = PNG_FORMAT_RGB;
    REQUIRE(image.width == 17);
    REQUIRE(image.height == 5);
    std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(image));
    REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) != 0);
    CHECK(pixels[3 * (2 * 17 + 3)] == 10);
    CHECK(pixels[3 * (2 * 17 + 3) + 2] == 30);
    CHECK(pixels[0] == 0);
}
