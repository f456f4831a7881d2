// SPDX-License-Identifier: Apache-2.0
// Checks that merge undoes split, for every pixel type, layout and gather with holes.

#include "tests/catch.hpp"
#include "tests/decompose/split_support.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using decompose::SplitLayout;

namespace {

constexpr PixelType all_types[] = {PixelType::uint8,     PixelType::int8,    PixelType::uint16,
                                   PixelType::int16,     PixelType::uint32,  PixelType::int32,
                                   PixelType::float32,   PixelType::float64, PixelType::complex64,
                                   PixelType::complex128};

/// Allocates `storage`, and returns a view of `shape` in it with gaps and perhaps reversed axes.
ImageView strided_view(const Shape3& shape, PixelType type, Volume& storage, Random& random) {
    const Index3 step{random.integer(1, 2), random.integer(1, 2), random.integer(1, 3)};
    storage = Volume({shape.z * step.z, shape.y * step.y, shape.x * step.x}, type);
    ImageView view = storage.view();
    view.shape = shape;
    for (int axis = 0; axis < 3; ++axis) view.strides[axis] *= step[axis];
    for (int axis = 0; axis < 3; ++axis) {
        if (!random.chance(0.3)) continue;
        Index3 last;
        last[axis] = shape[axis] - 1;
        view.data = view.at(last.z, last.y, last.x);
        view.strides[axis] = -view.strides[axis];
    }
    return view;
}

/// Returns indices into [0, image) with runs, jumps and holes.
std::vector<index_t> random_gather(index_t count, index_t image, Random& random) {
    std::vector<index_t> gather;
    index_t next = random.integer(0, image - 1);
    while (static_cast<index_t>(gather.size()) < count) {
        if (random.chance(0.1)) next = random.integer(-1, image - 1);
        gather.push_back(next);
        if (next >= 0) next = (next + 1) % image;
    }
    return gather;
}

Array gathered(const Array& image, const BlockInput& input) {
    const auto size = [&](int axis) {
        return static_cast<index_t>(input.gather[static_cast<std::size_t>(axis)].size());
    };
    const auto index = [&](int axis, index_t i) {
        return input.gather[static_cast<std::size_t>(axis)][static_cast<std::size_t>(i)];
    };
    Array result({size(0), size(1), size(2)});
    for (index_t z = 0; z < size(0); ++z)
        for (index_t y = 0; y < size(1); ++y)
            for (index_t x = 0; x < size(2); ++x) {
                const Index3 i{index(0, z), index(1, y), index(2, x)};
                if (i.z >= 0 && i.y >= 0 && i.x >= 0) {
                    result(z, y, x) = image(i.z, i.y, i.x) - input.subtract;
                }
            }
    return result;
}

template <class Real>
void round_trip(PixelType type, Random& random) {
    constexpr bool single = std::is_same_v<Real, float>;
    const Precision precision = single ? Precision::float32 : Precision::float64;
    const bool complex_data = is_complex(type);
    const int parts = random.pick({1, 2, 4, 8, 16});
    const index_t grid = 2 * parts * random.integer(1, 3);
    const Shape3 image_shape{random.integer(1, 9), random.integer(1, 5),
                             random.pick({1, 7, 16, 37, 64, 300, 1100})};
    const Array image =
        is_integer(type)
            ? random.integers(image_shape, is_integer(type) && type != PixelType::int8 ? 0 : -100,
                              100)
            : random.array(image_shape, complex_data);
    Volume source_storage;
    const ImageView source = strided_view(image_shape, type, source_storage, random);
    store(image, source);

    BlockInput input;
    input.source = source;
    const Shape3 loaded{random.integer(1, grid), random.integer(1, 6), random.integer(1, 600)};
    for (int axis = 0; axis < 3; ++axis) {
        input.gather[static_cast<std::size_t>(axis)] =
            random_gather(loaded[axis], image_shape[axis], random);
    }
    input.subtract = random.chance(0.5) ? 3 : 0;
    const SplitLayout layout{complex_data, parts, grid, loaded.y + random.integer(0, 2),
                             loaded.x + random.integer(0, 20)};
    INFO(to_string(type) << ", P = " << parts << ", loaded " << to_string(loaded) << ", layout "
                         << to_string({grid, layout.rows, layout.columns}));
    Volume data({grid, layout.rows, layout.columns}, pixel_type(precision, complex_data));
    poison(data.view());
    auto* reals = static_cast<Real*>(data.view().data);
    const int threads = static_cast<int>(random.integer(1, 3));
    REQUIRE(decompose::split(input, layout, reals, threads, {}) == 0);

    for (int p = 0; p < parts; ++p) {
        const Array part = to_array(layout.part(reals, p, precision));
        for (index_t y = 0; y < layout.rows; ++y) {
            const bool written = y < loaded.y;
            REQUIRE(std::isnan(part(0, y, 0).real()) != written);
            REQUIRE(
                (layout.columns == loaded.x || std::isnan(part(0, y, layout.columns - 1).real())));
        }
    }

    Array want(Shape3{grid, loaded.y, loaded.x});
    const Array samples = gathered(image, input);
    std::copy(samples.values.begin(), samples.values.end(), want.values.begin());
    const index_t z_begin = random.integer(0, grid - 1);
    const Shape3 kept{random.integer(1, grid - z_begin), random.integer(1, loaded.y),
                      random.integer(1, loaded.x)};
    Volume target_storage;
    BlockOutput output{strided_view(kept, type, target_storage, random)};
    poison(output.target);
    output.add = input.subtract + (is_integer(type) ? 0.25 : 0);
    const auto clamped = decompose::merge(reals, layout, z_begin, output, threads, {});
    CHECK(clamped.low == 0);
    CHECK(clamped.high == 0);
    const Array got = to_array(output.target);
    const double tolerance = is_integer(type) ? 0 : (single ? 2e-6 : 4e-15);
    double worst = 0;
    for (index_t z = 0; z < kept.z; ++z)
        for (index_t y = 0; y < kept.y; ++y)
            for (index_t x = 0; x < kept.x; ++x) {
                const Complex expected = want(z + z_begin, y, x) + input.subtract;
                worst = std::max(worst, std::abs(expected - got(z, y, x)));
            }
    CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("bands of a split volume hold its planes, and merge to the same image",
          "[split][merge]") {
    Random random(20261122);
    for (int round = 0; round < 60; ++round) {
        const bool complex_data = random.integer(0, 1) == 1;
        const int parts = random.pick({1, 2, 4, 8, 16});
        const index_t multiple = complex_data || parts == 1 ? parts : 2 * parts;
        const index_t grid = multiple * random.integer(1, 6);
        const SplitLayout whole{complex_data, parts, grid, random.integer(1, 5),
                                random.integer(1, 70)};
        const Shape3 shape{random.integer(1, grid), whole.rows, whole.columns};
        const PixelType type = pixel_type(Precision::float32, complex_data);
        const Volume image = to_volume(random.array(shape, complex_data), type);
        const BlockInput input{
            image.view(),
            {identity_indices(shape.z), identity_indices(shape.y), identity_indices(shape.x)}};
        const auto data_of = [](Volume& volume) { return static_cast<float*>(volume.view().data); };
        Volume all({grid, whole.rows, whole.columns}, type);
        decompose::split(input, whole, data_of(all), 1, {});
        Volume merged(shape, type), by_bands(shape, type);
        decompose::merge(data_of(all), whole, 0, {merged.view()}, 1, {});
        poison(by_bands.view());

        const index_t steps = decompose::split_steps(whole);
        for (index_t begin = 0; begin < steps;) {
            const index_t end = std::min(begin + random.integer(1, 3), steps);
            SplitLayout band = whole;
            band.stored = {begin, end};
            Volume some({band.samples() / (whole.rows * whole.columns), whole.rows, whole.columns},
                        type);
            poison(some.view());
            decompose::split(input, band, data_of(some), 2, {});
            std::vector<index_t> scatter(static_cast<std::size_t>(shape.z), -1);
            for (int p = 0; p < parts; ++p) {
                const Array expected = to_array(whole.part(data_of(all), p, Precision::float32));
                const Array got = to_array(band.part(data_of(some), p, Precision::float32));
                for (index_t z = 0; z < got.shape.z; ++z) {
                    const index_t plane = z / (end - begin) * steps + begin + z % (end - begin);
                    for (index_t y = 0; y < whole.rows; ++y)
                        for (index_t x = 0; x < whole.columns; ++x)
                            REQUIRE(got(z, y, x) == expected(plane, y, x));
                }
            }
            for (index_t z = 0; z < shape.z; ++z)
                if (z % steps >= begin && z % steps < end) scatter[static_cast<std::size_t>(z)] = z;
            decompose::merge(data_of(some), band, scatter, {by_bands.view()}, 2, {});
            begin = end;
        }
        REQUIRE(to_array(merged.view()).values == to_array(by_bands.view()).values);
    }
}

TEST_CASE("merge undoes split for every type, stride and gather", "[split][merge]") {
    Random random(test_seed("round_trip"));
    for (const PixelType type : all_types) {
        for (int trial = 0; trial < 16; ++trial) {
            if (type != PixelType::float64 && type != PixelType::complex128) {
                round_trip<float>(type, random);
            }
            round_trip<double>(type, random);
        }
    }
}

TEST_CASE("runs are read in place, and no sample beside them is read", "[split]") {
    Random random(test_seed("runs"));
    const Shape3 shape{32, 2, 1600};
    const Array image = random.integers(shape, -500, 500);
    const Volume source = to_volume(image, PixelType::float32);
    for (const int parts : {1, 2, 4, 8, 16}) {
        for (const index_t before : {0, 5, 512}) {
            for (const index_t after : {0, 11, 528}) {
                BlockInput input = whole_input(source.view());
                auto& columns = input.gather[2];
                columns = identity(1600 - before - after);
                for (index_t& x : columns) x += before;
                for (index_t x = 0; x < before; ++x) columns.insert(columns.begin(), x);
                for (index_t x = 0; x < after; ++x) columns.push_back(x % 2 == 0 ? -1 : 1599 - x);
                INFO("P = " << parts << ", " << before << " before, " << after << " after");
                const SplitLayout layout{false, parts, 32, 2, 1600};
                Volume data(shape, PixelType::float32);
                auto* reals = data.elements<float>();
                decompose::split(input, layout, reals, 1, {});
                Volume merged(shape, PixelType::int16);
                decompose::merge(static_cast<const float*>(reals), layout, 0, {merged.view()}, 1,
                                 {});
                CHECK(distance(gathered(image, input), to_array(merged.view())) == 0);
            }
        }
    }
}

TEST_CASE("real images can be split as complex data", "[split]") {
    Random random(test_seed("real_as_complex"));
    const Array image = random.integers({6, 2, 40}, 0, 255);
    const Volume source = to_volume(image, PixelType::uint8);
    const SplitLayout layout{true, 4, 8, 2, 40};
    Volume data({8, 2, 40}, PixelType::complex64);
    auto* reals = static_cast<float*>(data.view().data);
    decompose::split(whole_input(source.view()), layout, reals, 2, {});
    Volume merged({6, 2, 40}, PixelType::complex64);
    decompose::merge(reals, layout, 0, {merged.view()}, 2, {});
    CHECK(distance(image, to_array(merged.view())) < 1e-6);
}

TEST_CASE("replaced and clamped samples are counted over all threads", "[split][merge]") {
    Volume source({4, 3, 50}, PixelType::float32);
    float* values = source.elements<float>();
    for (index_t i = 0; i < 600; ++i) values[i] = i % 3 == 0 ? 300.0f : i % 3 == 1 ? -5.0f : 7.0f;
    values[5] = NAN;
    values[308] = -INFINITY;
    for (const int threads : {1, 2, 3}) {
        BlockInput input = whole_input(source.view());
        input.nonfinite_to_zero = true;
        const SplitLayout layout{false, 2, 4, 3, 50};
        Volume data({4, 3, 50}, PixelType::float32);
        auto* reals = data.elements<float>();
        CHECK(decompose::split(input, layout, reals, threads, {}) == 2);
        Volume bytes({4, 3, 50}, PixelType::uint8);
        const auto clamped = decompose::merge(reals, layout, 0, {bytes.view()}, threads, {});
        CHECK(clamped.low == 200);
        CHECK(clamped.high == 200);
        CHECK(bytes.elements<std::uint8_t>()[5] == 0);
    }
}

TEST_CASE("split and merge refuse sizes that do not fit", "[split][merge]") {
    const Volume source({4, 3, 5}, PixelType::float32);
    const Volume complex({4, 3, 5}, PixelType::complex64);
    Volume data({4, 3, 5}, PixelType::float32);
    auto* reals = data.elements<float>();
    const BlockInput input = whole_input(source.view());
    using decompose::split;
    CHECK_THROWS_AS(split(input, {false, 2, 4, 2, 5}, reals, 1, {}), InvalidArgument);
    CHECK_THROWS_AS(split(input, {false, 2, 4, 3, 4}, reals, 1, {}), InvalidArgument);
    CHECK_THROWS_AS(split(input, {false, 1, 3, 3, 5}, reals, 1, {}), InvalidArgument);
    CHECK_THROWS_AS(split(input, {false, 4, 4, 3, 5}, reals, 1, {}), InvalidArgument);
    CHECK_THROWS_AS(split(whole_input(complex.view()), {false, 2, 4, 3, 5}, reals, 1, {}),
                    InvalidArgument);
    Volume out({4, 3, 5}, PixelType::float32);
    using decompose::merge;
    const float* parts = reals;
    CHECK_THROWS_AS(merge(parts, {false, 2, 4, 3, 5}, 1, {out.view()}, 1, {}), InvalidArgument);
    CHECK_THROWS_AS(merge(parts, {true, 2, 4, 3, 5}, 0, {out.view()}, 1, {}), InvalidArgument);
}

TEST_CASE("a stop request ends split and merge", "[split][merge]") {
    const Volume source({4, 3, 5}, PixelType::float32);
    Volume data({4, 3, 5}, PixelType::float32);
    std::stop_source stop;
    stop.request_stop();
    ExecutionContext context;
    context.stop = stop.get_token();
    const SplitLayout layout{false, 2, 4, 3, 5};
    auto* reals = data.elements<float>();
    CHECK_THROWS_AS(decompose::split(whole_input(source.view()), layout, reals, 2, context),
                    Cancelled);
    Volume out({4, 3, 5}, PixelType::float32);
    CHECK_THROWS_AS(
        decompose::merge(static_cast<const float*>(reals), layout, 0, {out.view()}, 2, context),
        Cancelled);
}
