// SPDX-License-Identifier: Apache-2.0
#include "cli/picture/drawing.hpp"

#include <cairo-ft.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "convolume/error.hpp"

// The font that CMake found, in the program itself: pictures then look alike on all machines, and
// none needs a font.
// clang-format off
asm(".pushsection .rodata\n"
    "convolume_font_begin: .incbin \"" CONVOLUME_FONT_FILE "\"\n"
    "convolume_font_end:\n"
    ".popsection\n");
// clang-format on
// Hidden, so that no table of addresses is needed: the linker of ARM gives both the same entry.
extern const unsigned char font_begin asm("convolume_font_begin")
    __attribute__((visibility("hidden")));
extern const unsigned char font_end asm("convolume_font_end") __attribute__((visibility("hidden")));

namespace convolume::cli {

namespace {

constexpr Color white{255, 255, 255};

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

void check(cairo_status_t status) {
    if (status == CAIRO_STATUS_SUCCESS) return;
    const std::string text = message("Cairo could not draw: ", cairo_status_to_string(status));
    // Pictures are encoded to memory, so that libpng can fail only if it gets no memory.
    if (status == CAIRO_STATUS_NO_MEMORY || status == CAIRO_STATUS_PNG_ERROR)
        throw OutOfMemory(text);
    throw InternalError(text);
}

Surface checked(cairo_surface_t* surface) {
    Surface owner(surface, cairo_surface_destroy);
    check(cairo_surface_status(surface));
    return owner;
}

std::shared_ptr<cairo_t> context_of(const Surface& surface) {
    std::shared_ptr<cairo_t> context(cairo_create(surface.get()), cairo_destroy);
    check(cairo_status(context.get()));
    return context;
}

/// Returns the font, which is kept until the program ends.
cairo_font_face_t* font() {
    static cairo_font_face_t* const face = [] {
        FT_Library library = nullptr;
        FT_Face loaded = nullptr;
        if (FT_Init_FreeType(&library) != 0 ||
            FT_New_Memory_Face(library, &font_begin, static_cast<FT_Long>(&font_end - &font_begin),
                               0, &loaded) != 0)
            throw OutOfMemory("the font of pictures could not be loaded; free some memory");
        cairo_font_face_t* const created = cairo_ft_font_face_create_for_ft_face(loaded, 0);
        check(cairo_font_face_status(created));
        return created;
    }();
    return face;
}

/// Returns the text with U+FFFD in place of bytes that are not UTF-8, which Cairo refuses.
std::string valid_utf8(std::string_view text) {
    using nlohmann::json;
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

double width_of(cairo_t* context, const std::string& text, double size) {
    cairo_set_font_face(context, font());
    cairo_set_font_size(context, size);
    cairo_text_extents_t extents;
    cairo_text_extents(context, text.c_str(), &extents);
    return extents.x_advance;
}

void set_color(cairo_t* context, Color color, double opacity = 1) {
    cairo_set_source_rgba(context, color.red / 255.0, color.green / 255.0, color.blue / 255.0,
                          opacity);
}

/// Writes a file in parts to the vector at `target`. Cairo is in C, so no exception may leave it.
cairo_status_t append(void* target, const unsigned char* data, unsigned size) {
    auto& bytes = *static_cast<std::vector<char>*>(target);
    try {
        bytes.insert(bytes.end(), data, data + size);
    } catch (const std::exception&) {
        return CAIRO_STATUS_NO_MEMORY;
    }
    return CAIRO_STATUS_SUCCESS;
}

/// Draws what `drawing` has recorded on another surface.
void replay(cairo_t* drawing, const Surface& target, double scale) {
    const auto context = context_of(target);
    cairo_scale(context.get(), scale, scale);
    cairo_set_source_surface(context.get(), cairo_get_target(drawing), 0, 0);
    cairo_paint(context.get());
    check(cairo_status(context.get()));
}

}  // namespace

bool can_draw() {
    return true;
}

void require_drawing() {}

double drawn_width(std::string_view utf8, double size) {
    const auto context =
        context_of(checked(cairo_recording_surface_create(CAIRO_CONTENT_COLOR, nullptr)));
    return width_of(context.get(), valid_utf8(utf8), size);
}

Drawing::Drawing(double width, double height, Color background) : width_(width), height_(height) {
    const cairo_rectangle_t extents{0, 0, width, height};
    context_ = context_of(checked(cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents)));
    rectangle(0, 0, width, height, background);
}

void Drawing::rectangle(double x, double y, double width, double height, Color color,
                        double opacity) {
    set_color(context_.get(), color, opacity);
    cairo_rectangle(context_.get(), x, y, width, height);
    cairo_fill(context_.get());
}

void Drawing::text(double x, double y, std::string_view utf8, TextAnchor anchor, Color color,
                   double size) {
    constexpr double capital_height = 0.73;
    const std::string text = valid_utf8(utf8);
    const double width = width_of(context_.get(), text, size);
    const double before = anchor == TextAnchor::begin    ? 0
                          : anchor == TextAnchor::middle ? width / 2
                                                         : width;
    set_color(context_.get(), color);
    cairo_move_to(context_.get(), x - before, std::round(y + capital_height * size / 2));
    cairo_show_text(context_.get(), text.c_str());
}

void Drawing::pixels(double x, double y, int columns, const std::vector<Color>& colors) {
    const int rows = static_cast<int>(colors.size()) / columns;
    const Surface image = checked(cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows));
    unsigned char* const data = cairo_image_surface_get_data(image.get());
    const int stride = cairo_image_surface_get_stride(image.get());
    cairo_surface_flush(image.get());
    for (int row = 0; row < rows; ++row) {
        auto* const target = reinterpret_cast<std::uint32_t*>(data + std::ptrdiff_t{row} * stride);
        const Color* const source =
            &colors[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns)];
        for (int column = 0; column < columns; ++column)
            target[column] = std::uint32_t{source[column].red} << 16 |
                             std::uint32_t{source[column].green} << 8 | source[column].blue;
    }
    cairo_surface_mark_dirty(image.get());
    cairo_set_source_surface(context_.get(), image.get(), x, y);
    cairo_pattern_set_filter(cairo_get_source(context_.get()), CAIRO_FILTER_NEAREST);
    cairo_rectangle(context_.get(), x, y, columns, rows);
    cairo_fill(context_.get());
    check(cairo_status(context_.get()));
}

std::vector<char> Drawing::png(double scale) const {
    const Surface image = checked(cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width_ * scale)),
        static_cast<int>(std::lround(height_ * scale))));
    replay(context_.get(), image, scale);
    std::vector<char> bytes;
    check(cairo_surface_write_to_png_stream(image.get(), append, &bytes));
    return bytes;
}

}  // namespace convolume::cli
