// SPDX-License-Identifier: Apache-2.0
// Checks that scratch images keep what was written, in memory and in an unnamed file.

#include <filesystem>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/scratch_image.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

float value_at(index_t t, index_t c, index_t z, index_t y, index_t x) {
    return static_cast<float>((((t * 10 + c) * 10 + z) * 10 + y) * 10 + x);
}

void fill(const ImageView& view, index_t t, index_t c, const Box3& box) {
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                *static_cast<float*>(view.at(z - box.begin.z, y - box.begin.y, x - box.begin.x)) =
                    value_at(t, c, z, y, x);
}

index_t wrong(const ConstImageView& view, index_t t, index_t c, const Box3& box) {
    index_t count = 0;
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                count +=
                    *static_cast<const float*>(view.at(z - box.begin.z, y - box.begin.y,
                                                       x - box.begin.x)) != value_at(t, c, z, y, x);
    return count;
}

}  // namespace

TEST_CASE("boxes of any shape and stride are written and read by several threads") {
    const Shape3 shape{5, 6, 7};
    for (const auto place : {ScratchImage::Place::memory, ScratchImage::Place::file}) {
        ScratchImage image({shape, PixelType::float32, 2, 3}, place);
        {
            std::vector<std::jthread> writers;
            for (index_t number = 0; number < 6; ++number)
                writers.emplace_back([&image, number] {
                    const index_t t = number / 3, c = number % 3;
                    // Tiles along y and x, and one in memory with every second sample of its rows.
                    const Box3 boxes[] = {{{0, 0, 0}, {5, 6, 3}},
                                          {{0, 0, 3}, {5, 2, 7}},
                                          {{0, 2, 3}, {2, 6, 7}},
                                          {{2, 2, 3}, {5, 6, 7}}};
                    for (const Box3& box : boxes) {
                        const Shape3 part = box.shape();
                        std::vector<float> samples(
                            static_cast<std::size_t>(2 * element_count(part)));
                        const ImageView view{samples.data(),
                                             PixelType::float32,
                                             part,
                                             {2 * part.y * part.x, 2 * part.x, 2}};
                        fill(view, t, c, box);
                        image.write_box(t, c, box, view);
                    }
                });
        }
        for (index_t t = 0; t < 2; ++t)
            for (index_t c = 0; c < 3; ++c)
                for (const Box3& box : {Box3{{0, 0, 0}, {5, 6, 7}}, Box3{{1, 2, 3}, {4, 5, 6}},
                                        Box3{{2, 0, 0}, {3, 6, 7}}, Box3{{1, 1, 1}, {1, 2, 2}}}) {
                    Volume read(box.shape(), PixelType::float32);
                    image.read_box(t, c, box, read.view());
                    CHECK(wrong(read.view(), t, c, box) == 0);
                }
        Volume plane({1, 6, 7}, PixelType::float32);
        CHECK_THROWS_AS(image.read_box(2, 0, {{0, 0, 0}, {1, 6, 7}}, plane.view()),
                        InvalidArgument);
        CHECK_THROWS_AS(image.write_box(0, 0, {{5, 0, 0}, {6, 6, 7}}, plane.view()),
                        InvalidArgument);
    }
}

TEST_CASE("a scratch image reserves its disk space at once, and frees it") {
    const index_t before = memory_use().current_bytes;
    {
        const ScratchImage image({{10, 100, 100}, PixelType::float64}, ScratchImage::Place::memory);
        CHECK(memory_use().current_bytes - before >= 800000);
    }
    CHECK(memory_use().current_bytes == before);
    {
        const ScratchImage image({{10, 100, 100}, PixelType::float64}, ScratchImage::Place::file);
        CHECK(memory_use().current_bytes == before);
    }
    CHECK_THROWS_AS(ScratchImage({{1, 1, 1}, PixelType::uint8}, ScratchImage::Place::file,
                                 "/folder/that/is/not/there"),
                    CannotCreate);
    CHECK_THROWS_AS(
        ScratchImage({{1 << 20, 1 << 20, 1 << 20}, PixelType::uint8}, ScratchImage::Place::file),
        Error);
}
