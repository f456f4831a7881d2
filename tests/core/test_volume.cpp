// SPDX-License-Identifier: Apache-2.0
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using convolume::testing::contains;
using convolume::testing::message_of;

static_assert(!std::is_copy_constructible_v<Buffer> && !std::is_copy_assignable_v<Buffer>);
static_assert(std::is_nothrow_move_constructible_v<Buffer>);
static_assert(!std::is_copy_constructible_v<Volume> && !std::is_copy_assignable_v<Volume>);
static_assert(std::is_nothrow_move_constructible_v<Volume>);

TEST_CASE("buffers are counted, also when moved") {
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    CHECK(memory_use().peak_bytes == before);
    {
        Buffer a(1000), b(5000000, "a large one");
        CHECK(memory_use().current_bytes >= before + 5001000);
        CHECK(memory_use().current_bytes <= before + 5001000 + 2 * 4096 + (index_t{2} << 20));
        const index_t held = memory_use().current_bytes;
        Buffer moved(std::move(b));
        CHECK(memory_use().current_bytes == held);
        CHECK(b.data() == nullptr);
        CHECK(b.bytes() == 0);
        CHECK(moved.bytes() >= 5000000);
        a = std::move(moved);
        CHECK(memory_use().current_bytes < held);
        CHECK(a.bytes() >= 5000000);
        Buffer& self = a;
        a = std::move(self);
        CHECK(a.bytes() >= 5000000);
    }
    CHECK(memory_use().current_bytes == before);
    CHECK(memory_use().peak_bytes >= before + 5001000);
    reset_memory_peak();
    CHECK(memory_use().peak_bytes == before);
}

TEST_CASE("a volume in a file starts as zeros, keeps its elements and counts as no memory") {
    const index_t before = memory_use().current_bytes;
    const Shape3 shape{3, 50, 7};
    Volume stored = Volume::in_file(shape, PixelType::float32, {});
    CHECK(stored.is_in_file());
    CHECK(stored.memory_bytes() == 0);
    CHECK(stored.bytes() == element_count(shape) * 4);
    float* const elements = stored.elements<float>();
    CHECK(std::count(elements, elements + element_count(shape), 0.0F) == element_count(shape));
    elements[element_count(shape) - 1] = 5;
    const Volume moved = std::move(stored);
    CHECK(moved.elements<float>()[element_count(shape) - 1] == 5);
    CHECK(memory_use().current_bytes == before);
    CHECK_THROWS_AS(Volume::in_file(shape, PixelType::float32, "/no/such/folder"), CannotCreate);
}

TEST_CASE("buffers are aligned and writable to the last byte") {
    for (const index_t bytes : {1, 63, 64, 65, 4095, 100000, 3000001}) {
        Buffer buffer(bytes);
        CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % Buffer::alignment == 0);
        CHECK(buffer.bytes() >= bytes);
        CHECK(buffer.bytes() < bytes + (index_t{2} << 20));
        for (const int threads : {1, 3}) {
            buffer.as<char>()[0] = buffer.as<char>()[bytes - 1] = 1;
            buffer.touch(threads);
            CHECK(buffer.as<char>()[0] == 0);
            CHECK(buffer.as<char>()[bytes - 1] == 0);
        }
    }
    CHECK_NOTHROW(Buffer(0).spread());
    CHECK(Buffer().data() == nullptr);
}

// Pages of a mapping that have been touched are resident.
#ifndef _WIN32  // mincore()
TEST_CASE("large buffers that one thread fills are placed by all threads, small ones are not") {
    const auto touched_bytes = [](const Buffer& buffer) {
        std::vector<unsigned char> pages(static_cast<std::size_t>(buffer.bytes() / 4096));
        REQUIRE(mincore(buffer.data(), static_cast<std::size_t>(buffer.bytes()), pages.data()) ==
                0);
        return 4096 * std::count_if(pages.begin(), pages.end(), [](int page) { return page & 1; });
    };
    Buffer small(60000000), large(70000000);
    small.spread();
    large.spread();
    CHECK(touched_bytes(small) == 0);
    CHECK(touched_bytes(large) == large.bytes());
}
#endif

TEST_CASE(
    "memory that cannot be allocated is an error that names its purpose, and is not counted") {
    const index_t before = memory_use().current_bytes;
    const std::string text =
        message_of<OutOfMemory>([] { Buffer(index_t{1} << 60, "the scratch volume"); });
    CHECK(contains(text, "the scratch volume"));
    CHECK_THROWS_AS(Buffer(-1), Error);
    CHECK_THROWS_AS(
        Volume({index_t{1} << 20, index_t{1} << 20, index_t{1} << 20}, PixelType::complex128),
        Error);
    CHECK_THROWS_AS(
        Volume({index_t{1} << 30, index_t{1} << 30, index_t{1} << 10}, PixelType::uint8), Error);
    CHECK_THROWS_AS(Volume({-1, 2, 2}, PixelType::uint8), InvalidArgument);
    CHECK(memory_use().current_bytes == before);
}

TEST_CASE("volumes start as zeros, and know their type") {
    Volume volume({3, 4, 5}, PixelType::uint16);
    CHECK(volume.bytes() >= 120);
    const std::uint16_t* elements = volume.elements<std::uint16_t>();
    for (int i = 0; i < 60; ++i) CHECK(elements[i] == 0);
    CHECK_THROWS_AS(volume.elements<float>(), InvalidArgument);
    CHECK(contains(message_of<InvalidArgument>([&] { volume.elements<float>(); }), "uint16"));
    CHECK(volume.view().strides == Index3{20, 5, 1});
    CHECK(volume.view().at(2, 3, 4) == static_cast<const void*>(elements + 59));
    const Volume moved = std::move(volume);
    CHECK(moved.shape() == Shape3{3, 4, 5});
    CHECK(moved.view().data == static_cast<const void*>(elements));
    CHECK_NOTHROW(Volume({0, 4, 5}, PixelType::float32));
}
