// SPDX-License-Identifier: Apache-2.0
// Tests integer images and results, all kinds of strides, and complex results.

#include <cmath>
#include <limits>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineList two_cpu_engines(std::optional<index_t> memory = {}) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.cpu_engines = 2;
    choice.max_cpu_engine_bytes = memory;
    return make_engines(choice);
}

constexpr PixelType integers[] = {PixelType::uint8, PixelType::int8,   PixelType::uint16,
                                  PixelType::int16, PixelType::uint32, PixelType::int32};

/// Stores `array` in `memory` with gaps and reversed axes, and returns a view of it.
ImageView scattered(const Array& array, PixelType type, std::vector<char>& memory, bool reverse_z,
                    bool reverse_x, index_t x_step) {
    const Shape3 s = array.shape;
    Index3 strides{(s.y + 2) * (s.x * x_step + 3), s.x * x_step + 3, x_step};
    memory.assign(static_cast<std::size_t>(s.z * strides.z) * size_of(type) + 64, 0x55);
    index_t first = 0;
    if (reverse_z) {
        first += (s.z - 1) * strides.z;
        strides.z = -strides.z;
    }
    if (reverse_x) {
        first += (s.x - 1) * strides.x;
        strides.x = -strides.x;
    }
    const ImageView view{memory.data() + first * static_cast<index_t>(size_of(type)), type, s,
                         strides};
    store(array, view);
    return view;
}

}  // namespace

TEST_CASE("integer images give the result of equal float images, for every method") {
    Random random(test_seed("integer images"));
    const EngineList engines = two_cpu_engines();
    for (const PixelType type : integers)
        for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct})
            for (int b = 0; b < 6; ++b) {
                ConvolverCase c = make_case(random, {7, 9, 10}, {3, 4, 2});
                const bool is_signed =
                    type == PixelType::int8 || type == PixelType::int16 || type == PixelType::int32;
                c.image = random.integers(c.image_shape, is_signed ? -128 : 0, 127);
                c.image_type = type;
                c.options.method = method;
                c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? 11.0 : 0.0};
                // int32 and uint32 beyond 2^24 would be rounded to float32: this range is exact.
                const std::string wrong = [&] {
                    const Volume kernel = to_volume(c.kernel, PixelType::float32),
                                 image = to_volume(c.image, type);
                    const Convolver convolver = ConvolverFactory::make(c.image_shape, kernel.view(),
                                                                       c.options, engines, type);
                    Volume output(c.image_shape, PixelType::float32);
                    poison(output.view());
                    convolver.execute(image.view(), output.view());
                    const auto comparison = compare(c.expected(), to_array(output.view()),
                                                    c.norm_floor(c.image.count()));
                    return comparison.within(Precision::float32) ? std::string()
                                                                 : comparison.report;
                }();
                INFO(c.describe() << "\n" << wrong);
                CHECK(wrong.empty());
            }
}

TEST_CASE("integer results are rounded, clamped and counted, for every method and boundary") {
    Random random(test_seed("integer results"));
    const EngineList engines = two_cpu_engines();
    for (const PixelType type : integers)
        for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct})
            for (const double beyond : {0.0, 5.0}) {
                ConvolverCase c = make_case(random, {8, 9, 11}, {2, 3, 3});
                c.image = random.integers(c.image_shape, -50, 50);
                c.kernel = random.integers(c.kernel.shape, -3, 3);
                if (method == Method::tiled && norm(c.kernel) == 0) c.kernel.values[0] = 1;
                c.options.method = method;
                if (beyond != 0) c.options.boundary = {BoundaryKind::constant, beyond};
                Array want = c.expected();
                index_t low = 0, high = 0;
                visit_pixel_type(type, [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    if constexpr (std::is_integral_v<T>)
                        for (Complex& value : want.values) {
                            low +=
                                value.real() < static_cast<double>(std::numeric_limits<T>::min());
                            high +=
                                value.real() > static_cast<double>(std::numeric_limits<T>::max());
                            value = std::min(
                                std::max(value.real(),
                                         static_cast<double>(std::numeric_limits<T>::min())),
                                static_cast<double>(std::numeric_limits<T>::max()));
                        }
                });
                const Volume kernel = to_volume(c.kernel, PixelType::float32),
                             image = to_volume(c.image, PixelType::int16);
                const Convolver convolver = ConvolverFactory::make(
                    c.image_shape, kernel.view(), c.options, engines, PixelType::int16, type);
                for (int execution = 0; execution < 2; ++execution) {
                    Volume output(c.image_shape, type);
                    poison(output.view());
                    const auto report = convolver.execute(image.view(), output.view());
                    const auto comparison = compare(want, to_array(output.view()));
                    INFO(c.describe() << " into " << to_string(type) << "\n" << comparison.report);
                    CHECK(comparison.error == 0);
                    CHECK(report.clamped_low == low);
                    CHECK(report.clamped_high == high);
                }
            }
}

TEST_CASE("halves are rounded to even") {
    const EngineList engines = two_cpu_engines();
    Array image(Shape3{1, 1, 9});
    for (index_t x = 0; x < 9; ++x) image(0, 0, x) = static_cast<double>(x - 4);
    const Volume volume = to_volume(image, PixelType::int16);
    const float half = 0.5f;
    Options options;
    options.method = Method::direct;  // direct sums are exact here
    const Convolver convolver =
        ConvolverFactory::make({1, 1, 9}, view_of(&half, Shape3{1, 1, 1}), options, engines);
    Volume output({1, 1, 9}, PixelType::int8);
    convolver.execute(volume.view(), output.view());
    const int want[] = {-2, -2, -1, 0, 0, 0, 1, 2, 2};
    for (int x = 0; x < 9; ++x) CHECK(int{output.elements<std::int8_t>()[x]} == want[x]);
}

TEST_CASE("inputs and outputs may have gaps and negative strides") {
    Random random(test_seed("strides"));
    const EngineList whole = two_cpu_engines(), tiles = two_cpu_engines(index_t{40} << 10);
    for (const Method method :
         {Method::automatic, Method::in_core, Method::dif, Method::tiled, Method::direct})
        for (const PixelType type :
             {PixelType::uint8, PixelType::int16, PixelType::float32, PixelType::complex64})
            for (const Operation operation : {Operation::convolve, Operation::adjoint})
                for (int s = 0; s < 8; ++s) {
                    ConvolverCase c = make_case(random, {9, 10, 11}, {3, 2, 4});
                    c.image = type == PixelType::complex64 ? random.array(c.image.shape, true)
                                                           : random.integers(c.image.shape, 0, 100);
                    c.image_type = type;
                    c.options.method = method;
                    c.options.operation = operation;
                    c.options.boundary.kind = BoundaryKind::mirror;
                    const Volume kernel = to_volume(c.kernel, PixelType::float32);
                    std::vector<char> in, out, kernel_memory;
                    const ImageView input =
                        scattered(c.image, type, in, s & 1, s & 2, s & 4 ? 2 : 1);
                    const Array want = c.expected();
                    const ImageView output =
                        scattered(want, c.output_type(), out, s & 2, s & 1, s & 4 ? 3 : 1);
                    const ImageView taps = scattered(c.kernel, PixelType::float32, kernel_memory,
                                                     s & 1, s & 4, s & 2 ? 2 : 1);
                    poison(output);
                    std::vector<char> untouched = out;
                    const Convolver convolver =
                        ConvolverFactory::make(c.image_shape, taps, c.options,
                                               method == Method::tiled ? tiles : whole, type);
                    convolver.execute(input, output);
                    const auto comparison =
                        compare(want, to_array(output), c.norm_floor(want.count()));
                    INFO(c.describe() << " strides " << s << "\n" << comparison.report);
                    CHECK(comparison.within(Precision::float32));
                    poison(output);
                    CHECK((out == untouched));  // bytes between the voxels were not written
                }
}

TEST_CASE("a stride of zero repeats a plane") {
    const EngineList engines = two_cpu_engines();
    Random random(test_seed("zero stride"));
    const Array plane = random.array({1, 6, 7}, false);
    const Volume memory = to_volume(plane, PixelType::float32);
    ConvolverCase c = make_case(random, {5, 6, 7}, {3, 3, 3});
    for (index_t i = 0; i < c.image.count(); ++i)
        c.image.values[static_cast<std::size_t>(i)] =
            plane.values[static_cast<std::size_t>(i % 42)];
    const Volume kernel = to_volume(c.kernel, PixelType::float32);
    const ConstImageView repeated{memory.view().data, PixelType::float32, c.image_shape, {0, 7, 1}};
    Volume output(c.image_shape, PixelType::float32);
    ConvolverFactory::make(c.image_shape, kernel.view(), {}, engines)
        .execute(repeated, output.view());
    CHECK(compare(c.expected(), to_array(output.view())).within(Precision::float32));
}

TEST_CASE("kernels of every pixel type agree with the oracle") {
    Random random(test_seed("kernel types"));
    const EngineList engines = two_cpu_engines();
    for (int t = 0; t < 10; ++t) {
        const auto type = static_cast<PixelType>(t);
        ConvolverCase c = make_case(random, {5, 6, 7}, {2, 3, 4});
        c.kernel =
            is_complex(type) ? random.array({2, 3, 4}, true) : random.integers({2, 3, 4}, 0, 100);
        const Volume kernel = to_volume(c.kernel, type),
                     image = to_volume(c.image, PixelType::float32);
        const Convolver convolver =
            ConvolverFactory::make(c.image_shape, kernel.view(), {}, engines);
        CHECK(convolver.natural_output_type() == pixel_type(Precision::float32, is_complex(type)));
        Volume output(c.image_shape, convolver.natural_output_type());
        convolver.execute(image.view(), output.view());
        const auto comparison = compare(c.expected(), to_array(output.view()));
        INFO(to_string(type) << "\n" << comparison.report);
        CHECK(comparison.within(Precision::float32));
    }
}
