// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>

#include "cli/picture/drawing.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"

using namespace convolume::cli;

namespace {

constexpr Color black{0, 0, 0};
constexpr Color white{255, 255, 255};

struct Pixels {
    int width = 0;
    int height = 0;
    std::vector<Color> colors;

    explicit Pixels(const std::vector<char>& bytes) {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) != 0);
        image.format = PNG_FORMAT_RGB;
        width = static_cast<int>(image.width);
        height = static_cast<int>(image.height);
        colors.resize(static_cast<std::size_t>(width * height));
        REQUIRE(png_image_finish_read(&image, nullptr, colors.data(), 0, nullptr) != 0);
    }
    Color at(int x, int y) const { return colors[static_cast<std::size_t>(y * width + x)]; }
    int count(Color color) const {
        return static_cast<int>(std::count(colors.begin(), colors.end(), color));
    }
};

}  // namespace

TEST_CASE("shapes outside the drawing have no effect") {
    Drawing drawing(10, 6, black);
    drawing.rectangle(-5, -5, 8, 8, white);
    CHECK(Pixels(drawing.png()).count(white) == 9);
    drawing.rectangle(9, 5, 100, 100, white);
    drawing.text(-500, 3, "far away", TextAnchor::begin, white, 30);
    CHECK(Pixels(drawing.png()).count(white) == 10);
}

TEST_CASE("pixels and shapes are drawn exactly, at any scale") {
    Drawing drawing(17, 5, black);
    const Color odd{10, 20, 30};
    drawing.pixels(3, 2, 2, {odd, white, black, odd});
    drawing.rectangle(8, 1, 2, 3, {201, 101, 1});
    drawing.rectangle(12, 1, 1, 1, white, 0.2);
    const Pixels once(drawing.png()), twice(drawing.png(2));
    REQUIRE(once.width == 17);
    REQUIRE(once.height == 5);
    CHECK(once.at(3, 2) == odd);
    CHECK(once.at(4, 2) == white);
    CHECK(once.at(4, 3) == odd);
    CHECK(once.count({201, 101, 1}) == 6);
    CHECK(once.at(12, 1) == Color{51, 51, 51});
    CHECK(once.count(black) == 17 * 5 - 3 - 6 - 1);
    REQUIRE(twice.width == 34);
    CHECK(twice.count(odd) == 8);
    CHECK(twice.at(9, 4) == white);
}

TEST_CASE("text is anchored, and as wide as its letters") {
    const auto columns = [](TextAnchor anchor) {
        Drawing drawing(200, 40, black);
        drawing.text(100, 20, "HHH", anchor, white, 20);
        const Pixels pixels(drawing.png());
        int first = 200, last = 0;
        for (int y = 0; y < 40; ++y)
            for (int x = 0; x < 200; ++x)
                if (pixels.at(x, y).red > 128) {
                    first = std::min(first, x);
                    last = std::max(last, x);
                    // DejaVu's capitals are 0.73 of the size high, here with their middle at 20.
                    CHECK(y >= 12);
                    CHECK(y <= 28);
                }
        return std::pair(first, last);
    };
    // An H of DejaVu Sans is 0.752 of the size wide.
    CHECK(drawn_width("HHH", 20) == Approx(3 * 0.752 * 20).margin(1.5));
    CHECK(drawn_width("", 20) == 0);
    CHECK(columns(TextAnchor::begin).first == Approx(102).margin(1.5));
    CHECK(columns(TextAnchor::end).second == Approx(98).margin(1.5));
    CHECK(columns(TextAnchor::middle).first == Approx(79).margin(2));
}

TEST_CASE("text of any bytes is drawn") {
    Drawing drawing(200, 20, black);
    drawing.text(0, 10, "\xe2\x86 \xff µm × →", TextAnchor::begin, white, 12);
    CHECK(Pixels(drawing.png()).count(black) < 200 * 20);
    // Characters that the font has are not drawn as the box of a missing one.
    const auto drawn = [](const char* text) {
        Drawing one(20, 20, black);
        one.text(2, 10, text, TextAnchor::begin, white, 12);
        return one.png();
    };
    for (const char* text : {"µ", "×", "…", "→"}) CHECK(drawn(text) != drawn("\U00020000"));
}
