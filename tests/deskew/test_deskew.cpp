// SPDX-License-Identifier: Apache-2.0
// Tests deskewing of images in memory and of streams: known results, types, memory, errors.
// tests/cli/check_deskew.py compares values with sums in double precision and with SciPy.

#include <cmath>
#include <limits>
#include <vector>

#include "convolume/deskew.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"
#include "tests/support/streams.hpp"
#include "tests/support/volumes.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// A scan that displaces planes by `shear` pixels.
DeskewOptions sheared_by(double shear) {
    DeskewOptions options;
    options.scan.angle_deg = 60;
    options.scan.pixel_y_um = options.scan.pixel_x_um = 0.1;
    options.scan.step_um = 2 * 0.1 * std::abs(shear);
    options.scan.opposite = shear < 0;
    return options;
}

Volume random_image(Random& random, const Shape3& shape, PixelType type) {
    Volume image(shape, PixelType::float64), typed(shape, type);
    for (index_t i = 0; i < element_count(shape); ++i)
        image.elements<double>()[i] = std::floor(random.uniform() * 200);
    convert_pixels(image.view(), typed.view());
    return typed;
}

double value_at(const Volume& image, index_t z, index_t y, index_t x) {
    Volume one({1, 1, 1}, PixelType::float64);
    convert_pixels(subview(image.view(), {{z, y, x}, {z + 1, y + 1, x + 1}}), one.view());
    return one.elements<double>()[0];
}

bool equal(const Volume& a, const Volume& b) {
    if (a.shape() != b.shape() || a.type() != b.type()) return false;
    for (index_t i = 0; i < element_count(a.shape()); ++i) {
        const Index3 at{i / (a.shape().y * a.shape().x), i / a.shape().x % a.shape().y,
                        i % a.shape().x};
        if (value_at(a, at.z, at.y, at.x) != value_at(b, at.z, at.y, at.x)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("whole pixels are moved, in every type", "[deskew]") {
    Random random(test_seed("moved pixels"));
    for (const PixelType type :
         {PixelType::uint8, PixelType::int8, PixelType::uint16, PixelType::int16, PixelType::uint32,
          PixelType::int32, PixelType::float32, PixelType::float64})
        for (const index_t shear : {2, -2}) {
            const Volume image = random_image(random, {4, 5, 6}, type);
            DeskewOptions options = sheared_by(static_cast<double>(shear));
            options.fill = 3;
            for (const Interpolation by : {Interpolation::linear, Interpolation::lanczos}) {
                options.interpolation = by;
                const Volume result = deskew(image.view(), options);
                REQUIRE(result.shape() == Shape3{4, 11, 6});
                REQUIRE(result.type() == type);
                for (index_t z = 0; z < 4; ++z)
                    for (index_t y = 0; y < 11; ++y) {
                        const index_t row = shear > 0 ? y - 2 * z : y - 6 + 2 * z;
                        for (index_t x = 0; x < 6; ++x)
                            CHECK(value_at(result, z, y, x) ==
                                  (row < 0 || row >= 5 ? 3 : value_at(image, z, row, x)));
                    }
            }
        }
}

TEST_CASE("integers are rounded half to even", "[deskew]") {
    Volume image({2, 3, 1}, PixelType::uint8);
    const std::uint8_t rows[] = {0, 0, 0, 10, 11, 14};
    std::copy(std::begin(rows), std::end(rows), image.elements<std::uint8_t>());
    const Volume result = deskew(image.view(), sheared_by(0.5));
    REQUIRE(result.shape() == Shape3{2, 4, 1});
    // Rows of plane 1 are at −0.5, 0.5, 1.5 and 2.5.
    CHECK(value_at(result, 1, 0, 0) == 0);
    CHECK(value_at(result, 1, 1, 0) == 10);
    CHECK(value_at(result, 1, 2, 0) == 12);
    CHECK(value_at(result, 1, 3, 0) == 0);
}

TEST_CASE("streams give the bits of one call, within their memory", "[deskew]") {
    Random random(test_seed("streams of stage scans"));
    const Shape3 shape{17, 23, 19};
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x})
        for (const bool rotate : {false, true})
            for (const int threads : {1, 3}) {
                DeskewOptions options = sheared_by(1.3);
                options.scan.axis = axis;
                options.rotate = rotate;
                options.threads = threads;
                if (rotate) options.output_voxel_um = {0.15, 0.12, 0.2};
                std::vector<Volume> images;
                std::vector<const Volume*> pointers;
                for (int i = 0; i < 6; ++i)
                    images.push_back(random_image(random, shape, PixelType::uint16));
                for (const Volume& image : images) pointers.push_back(&image);
                TestSource source(pointers, 2);
                StackFormat result = source.format();
                result.shape = deskewed_grid(shape, options).shape;
                for (const index_t limit : {index_t{1} << 30, index_t{60000}, index_t{12000}}) {
                    INFO("axis " << to_string(axis) << ", rotate " << rotate << ", limit "
                                 << limit);
                    options.max_host_bytes = limit;
                    const DeskewPlan plan =
                        plan_deskew(source.format(), PixelType::uint16, options);
                    CHECK(plan.host_bytes <= limit);
                    CHECK(plan.read_share > 0.9);
                    TestSink sink(result);
                    const index_t before = memory_use().current_bytes;
                    reset_memory_peak();
                    deskew(source, sink, options);
                    // Buffers are rounded up to whole pages.
                    CHECK(memory_use().peak_bytes - before <= plan.host_bytes + 6 * 4096);
                    CHECK(sink.defect().empty());
                    for (index_t i = 0; i < 6; ++i)
                        CHECK(equal(sink.volume(i),
                                    deskew(images[static_cast<std::size_t>(i)].view(), options)));
                }
            }
}

TEST_CASE("views with any strides are deskewed", "[deskew]") {
    Random random(test_seed("strided scans"));
    const Volume image = random_image(random, {5, 7, 6}, PixelType::float32);
    Volume turned({5, 6, 7}, PixelType::float32);
    const ConstImageView from = image.view();
    const ConstImageView view{from.data, from.type, {5, 6, 7}, {42, 1, 6}};
    convert_pixels(view, turned.view());
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x}) {
        DeskewOptions options = sheared_by(0.7);
        options.scan.axis = axis;
        CHECK(equal(deskew(view, options), deskew(turned.view(), options)));
    }
}

TEST_CASE("constant images stay constant", "[deskew]") {
    Volume image({12, 20, 9}, PixelType::float32);
    std::fill_n(image.elements<float>(), element_count(image.shape()), 5.0F);
    DeskewOptions options = sheared_by(1.7);
    options.fill = std::numeric_limits<double>::quiet_NaN();
    options.rotate = true;
    for (const double edge : {0.05, 0.1, 0.37})
        for (const Interpolation by : {Interpolation::linear, Interpolation::lanczos}) {
            options.output_voxel_um = {edge, edge, edge};
            options.interpolation = by;
            const Volume result = deskew(image.view(), options);
            index_t inside = 0;
            for (index_t i = 0; i < element_count(result.shape()); ++i) {
                const float value = result.elements<float>()[i];
                if (std::isnan(value)) continue;
                ++inside;
                CHECK(value == Approx(5));
            }
            CHECK(inside > 0);
        }
}

TEST_CASE("images that cannot be deskewed are refused", "[deskew]") {
    const DeskewOptions options = sheared_by(1);
    const Volume complex({3, 4, 5}, PixelType::complex64), image({3, 4, 5}, PixelType::uint8);
    CHECK(contains(message_of<BadData>([&] { deskew(complex.view(), options); }), "magnitude"));
    DeskewOptions filled = options;
    filled.fill = std::numeric_limits<double>::quiet_NaN();
    CHECK(contains(message_of<InvalidArgument>([&] { deskew(image.view(), filled); }), "uint8"));
    DeskewOptions small = options;
    small.max_host_bytes = 16;
    TestSource source({&image});
    TestSink sink({{3, 6, 5}, PixelType::uint8});
    CHECK(contains(message_of<OutOfMemory>([&] { deskew(source, sink, small); }), "at least"));
    TestSink other({{3, 7, 5}, PixelType::uint8});
    CHECK(contains(message_of<InvalidArgument>([&] { deskew(source, other, options); }), "3×6×5"));
    ExecutionContext context;
    std::stop_source stop;
    stop.request_stop();
    context.stop = stop.get_token();
    CHECK_THROWS_AS(deskew(source, sink, options, context), Cancelled);
}

TEST_CASE("blocks have the bits of the whole, from what they need", "[deskew]") {
    Random random(test_seed("blocks of stage scans"));
    const Shape3 shape{9, 14, 11};
    const Volume image = random_image(random, shape, PixelType::int16);
    for (const ShearAxis axis : {ShearAxis::y, ShearAxis::x})
        for (const bool rotate : {false, true})
            for (const bool inverse : {false, true})
                for (const Interpolation by : {Interpolation::linear, Interpolation::lanczos}) {
                    if (rotate && inverse) continue;
                    DeskewOptions options = sheared_by(rotate ? -1.3 : 1.3);
                    options.scan.axis = axis;
                    options.rotate = rotate;
                    options.inverse = inverse;
                    options.interpolation = by;
                    options.fill = 7;
                    if (rotate) options.output_voxel_um = {0.15, 0.12, 0.2};
                    const Volume whole = deskew(image.view(), options);
                    const Shape3 block{4, 5, 3};
                    Volume joined(whole.shape(), PixelType::int16);
                    index_t without_samples = 0;
                    for (index_t z = 0; z < whole.shape().z; z += block.z)
                        for (index_t y = 0; y < whole.shape().y; y += block.y)
                            for (index_t x = 0; x < whole.shape().x; x += block.x) {
                                const Box3 box = intersection({{z, y, x}, {z + 4, y + 5, x + 3}},
                                                              {{0, 0, 0}, whole.shape()});
                                const Box3 needed = deskew_needs(shape, box, options);
                                without_samples += needed.empty();
                                // Samples beside those that are needed must not matter.
                                const Shape3 extents = needed.empty() ? Shape3{} : needed.shape();
                                Volume part(extents, PixelType::int16);
                                if (!needed.empty())
                                    convert_pixels(subview(image.view(), needed), part.view());
                                deskew_block(shape, {part.view(), needed.begin}, box.begin,
                                             subview(joined.view(), box), options);
                            }
                    INFO("axis " << to_string(axis) << ", rotate " << rotate << ", inverse "
                                 << inverse << ", " << to_string(by));
                    CHECK(equal(joined, whole));
                    CHECK((rotate || without_samples > 0));
                }
}

TEST_CASE("blocks that miss samples or leave the result are refused", "[deskew]") {
    const DeskewOptions options = sheared_by(2);
    const Volume part({2, 5, 6}, PixelType::uint8);
    Volume block({2, 4, 6}, PixelType::uint8);
    CHECK_THROWS_WITH(
        deskew_block({4, 5, 6}, {part.view(), {2, 0, 0}}, {0, 0, 0}, block.view(), options),
        ContainsSubstring("does not have"));
    CHECK_THROWS_WITH(
        deskew_block({4, 5, 6}, {part.view(), {2, 0, 0}}, {3, 0, 0}, block.view(), options),
        ContainsSubstring("reaches out of"));
}
