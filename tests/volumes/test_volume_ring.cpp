// SPDX-License-Identifier: Apache-2.0
// Volumes that come plane by plane while they are convolved.

#include <cstring>
#include <thread>

#include "convolume/convolver.hpp"
#include "convolume/volume_ring.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr Shape3 ring_shape{9, 31, 28};

/// Returns volumes, one after another along z.
Volume recorded(index_t volumes) {
    Volume all({volumes * ring_shape.z, ring_shape.y, ring_shape.x}, PixelType::uint16);
    Random random(11);
    auto* const values = all.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(all.shape()); ++i)
        values[i] = static_cast<std::uint16_t>(1000 * random.uniform());
    return all;
}

ConstImageView planes_of(const Volume& all, index_t begin, index_t end) {
    return subview(all.view(), {{begin, 0, 0}, {end, ring_shape.y, ring_shape.x}});
}

bool equal(const Volume& a, const Volume& b) {
    return std::memcmp(a.view().data, b.view().data, static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

TEST_CASE("volumes of a ring are convolved while their planes come") {
    const index_t places = GENERATE(1, 2, 5), at_once = GENERATE(1, 4, 30);
    constexpr index_t volumes = 7;
    INFO(places << " volumes, " << at_once << " planes at once");
    const Volume all = recorded(volumes);
    Volume kernel({3, 5, 5}, PixelType::float32);
    for (index_t i = 0; i < 75; ++i) kernel.elements<float>()[i] = static_cast<float>(i % 7);
    const Convolver blur(ring_shape, kernel.view());
    VolumeRing ring(ring_shape, PixelType::uint16, places);
    CHECK(ring.room() == places * ring_shape.z);
    bool is_taken = true;
    std::jthread camera([&] {
        const VolumeRing::EndScope ends(ring);
        for (index_t z = 0; z < all.shape().z; z += at_once)
            is_taken =
                ring.push(planes_of(all, z, std::min(z + at_once, all.shape().z))) && is_taken;
    });
    index_t number = 0;
    while (ImageSource* const image = ring.next()) {
        Volume want(ring_shape, PixelType::float32), got(ring_shape, PixelType::float32);
        ViewSink result(got.view());
        blur.execute(*image, result);
        blur.execute(planes_of(all, 9 * number, 9 * number + 9), want.view());
        CHECK(equal(got, want));
        ++number;
    }
    CHECK(number == volumes);
    camera.join();
    CHECK(is_taken);
}

TEST_CASE("a ring takes no more planes than it has room for, and says which will not come") {
    const Volume all = recorded(3);
    Volume read(ring_shape, PixelType::uint16), first(ring_shape, PixelType::uint16);
    convert_pixels(planes_of(all, 0, 9), first.view());
    const Box3 whole{{0, 0, 0}, ring_shape};
    VolumeRing ring(ring_shape, PixelType::uint16, 2);
    CHECK(ring.push(planes_of(all, 0, 13)));
    CHECK(ring.room() == 5);
    ImageSource* image = ring.next();
    REQUIRE(image != nullptr);
    CHECK(ring.room() == 5);  // the volume that was taken is kept
    image->read_box(0, 0, whole, read.view());
    CHECK(equal(read, first));
    std::jthread camera([&] { CHECK(ring.push(planes_of(all, 13, 27))); });
    while (ring.room() > 0) std::this_thread::yield();
    image->read_box(0, 0, whole, read.view());
    CHECK(equal(read, first));  // a push that waits has overwritten nothing
    image = ring.next();
    camera.join();
    convert_pixels(planes_of(all, 9, 18), first.view());
    image->read_box(0, 0, whole, read.view());
    CHECK(equal(read, first));
    image = ring.next();
    REQUIRE(image != nullptr);
    std::jthread ends([&] {
        ring.push(planes_of(all, 0, 2));
        ring.end();
    });
    image = ring.next();
    REQUIRE(image != nullptr);
    image->read_box(0, 0, {{0, 0, 0}, {2, 31, 28}}, subview(read.view(), {{0, 0, 0}, {2, 31, 28}}));
    CHECK(contains(message_of<BadData>([&] { image->read_box(0, 0, whole, read.view()); }),
                   "ended in volume 3 before plane 8 of 9"));
    CHECK_FALSE(ring.push(planes_of(all, 0, 1)));
    CHECK(ring.room() == 0);
    CHECK(ring.next() == nullptr);
    CHECK(ring.next() == nullptr);
}

TEST_CASE("a push that waits for room ends with the ring") {
    const Volume all = recorded(2);
    VolumeRing ring(ring_shape, PixelType::uint16, 1);
    bool is_taken = true;
    std::jthread camera([&] { is_taken = ring.push(all.view()); });
    while (ring.room() > 0) std::this_thread::yield();
    ring.end();
    camera.join();
    CHECK_FALSE(is_taken);
    CHECK(ring.is_ended());
    CHECK_THROWS_AS(VolumeRing({0, 31, 28}, PixelType::uint16, 2), InvalidArgument);
    CHECK_THROWS_AS(VolumeRing(ring_shape, PixelType::uint16, index_t{1} << 44), OutOfMemory);
    CHECK_THROWS_AS(VolumeRing(ring_shape, PixelType::uint16, index_t{1} << 62), Error);
    CHECK_THROWS_AS(VolumeRing(ring_shape, PixelType::uint16, 0), InvalidArgument);
    CHECK_THROWS_AS(ring.push(Volume({1, 31, 27}, PixelType::uint16).view()), InvalidArgument);
    CHECK_THROWS_AS(ring.push(Volume({1, 31, 28}, PixelType::uint8).view()), InvalidArgument);
}
