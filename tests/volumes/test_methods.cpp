// SPDX-License-Identifier: Apache-2.0
// Checks that every method, number of parts, tiles and engines gives the same result.

#include <cmath>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Options with(Method method, int parts = 0) {
    Options options;
    options.method = method;
    options.parts = parts;
    return options;
}

}  // namespace

TEST_CASE("all methods agree, for every boundary and mode") {
    Random random(test_seed("methods agree"));
    const EngineList engines = cpu_engines(2);
    for (const Mode mode : {Mode::full, Mode::same, Mode::valid})
        for (int b = 0; b < 6; ++b) {
            ConvolverCase c = make_case(random, {14, 15, 17}, {5, 4, 7});
            c.options.mode = mode;
            c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? 2.5 : 0};
            for (const Precision precision : {Precision::float32, Precision::float64})
                for (const Method method :
                     {Method::in_core, Method::dif, Method::tiled, Method::direct})
                    for (const int parts : {1, 2, 4, 8, 16}) {
                        if (method != Method::dif && parts > 1) continue;
                        c.options.precision = precision;
                        c.options.method = method;
                        c.options.parts = method == Method::dif ? parts : 0;
                        const std::string wrong = defect(c, engines);
                        INFO(c.describe() << "\n" << wrong);
                        CHECK(wrong.empty());
                    }
        }
}

TEST_CASE("a kernel of one plane convolves planes by every method and division") {
    Random random(test_seed("kernels of one plane"));
    int number = 0;
    for (const Shape3& image : {Shape3{13, 20, 27}, Shape3{1, 22, 31}})
        for (const Operation operation :
             {Operation::convolve, Operation::correlate, Operation::adjoint})
            for (int b = 0; b < 6; ++b) {
                ConvolverCase c = make_case(random, image, {1, 4, 7});
                c.options.operation = operation;
                c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? 2.5 : 0};
                if (operation == Operation::adjoint && b == 1) continue;
                if (++number % 2 == 0) {
                    c.image = random.array(c.image.shape, true);
                    c.image_type = PixelType::complex64;
                }
                if (number % 3 == 0) c.options.precision = Precision::float64;
                for (const Method method : {Method::in_core, Method::dif, Method::tiled}) {
                    c.options.method = method;
                    c.options.parts = method == Method::dif ? 4 : 0;
                    const EngineList engines =
                        method == Method::tiled ? cpu_engines(2, 40000) : cpu_engines(2);
                    const std::string wrong = defect(c, engines);
                    INFO(c.describe() << "\n" << wrong);
                    CHECK(wrong.empty());
                }
            }
}

TEST_CASE("memory limits divide the output into tiles in z, y and x, and the result is the same",
          "[long]") {
    Random random(test_seed("tiles"));
    bool cut[3] = {};
    bool cut_all = false;
    for (const Operation operation :
         {Operation::convolve, Operation::correlate, Operation::adjoint})
        for (int b = 0; b < 6; ++b) {
            // The operations and the boundaries each have real and complex images.
            const bool complex = (b + static_cast<int>(operation)) % 2 != 0;
            ConvolverCase c = make_case(random, {30, 37, 41}, {4, 5, 3});
            c.options = with(Method::tiled);
            c.options.operation = operation;
            c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? -1.5 : 0};
            if (complex) {
                c.image = random.array(c.image.shape, true);
                c.image_type = PixelType::complex64;
            }
            const Volume kernel = to_volume(c.kernel, c.kernel_type());
            const index_t needed = ConvolverFactory::make(c.image_shape, kernel.view(),
                                                          with(Method::in_core), cpu_engines(1))
                                       .plan()
                                       .chosen.engine_bytes;
            for (const index_t divisor : {2, 5, 12, 25}) {
                const EngineList engines =
                    cpu_engines(1 + static_cast<int>(divisor) % 3, needed / divisor);
                try {
                    const Convolver convolver =
                        ConvolverFactory::make(c.image_shape, kernel.view(), c.options, engines,
                                               c.image_type, c.output_type());
                    const Index3 tiles = convolver.plan().chosen.tiles;
                    for (int a = 0; a < 3; ++a) cut[a] |= tiles[a] > 1;
                    cut_all |= tiles.z > 1 && tiles.y > 1 && tiles.x > 1;
                    CHECK(convolver.plan().chosen.engine_bytes <= needed / divisor);
                    const std::string wrong = defect(c, convolver);
                    INFO(c.describe() << ", limit " << needed / divisor << "\n" << wrong);
                    CHECK(wrong.empty());
                } catch (const OutOfMemory& error) {
                    INFO(error.what());
                    CHECK(divisor > 5);
                }
            }
        }
    CHECK((cut[0] && cut[1] && cut[2]));
    CHECK(cut_all);
}

TEST_CASE("automatic plans within small limits agree with the oracle") {
    Random random(test_seed("automatic within limits"));
    for (const index_t limit : {index_t{200} << 10, index_t{400} << 10, index_t{2} << 20})
        for (const int count : {1, 2, 3}) {
            const ConvolverCase c = make_case(random, {40, 33, 35}, {9, 10, 11});
            const std::string wrong = defect(c, cpu_engines(count, limit));
            INFO(c.describe() << ", limit " << limit << "\n" << wrong);
            CHECK(wrong.empty());
        }
}

TEST_CASE("errors of dif grow neither with the parts nor with prime sizes") {
    Random random(test_seed("dif errors"));
    const EngineList engines = cpu_engines(1);
    for (const Precision precision : {Precision::float32, Precision::float64}) {
        double base = 0;
        for (const Shape3& image : {Shape3{48, 24, 24}, Shape3{47, 23, 29}})
            for (const int parts : {1, 2, 4, 8, 16}) {
                ConvolverCase c = make_case(random, image, {5, 7, 5}, with(Method::dif, parts));
                c.options.precision = precision;
                double error = 0;
                const std::string wrong = defect(c, engines, &error);
                INFO(wrong);
                CHECK(wrong.empty());
                std::cout << "dif " << to_string(precision) << " " << to_string(image)
                          << " P=" << parts << ": relative L2 error " << error << '\n';
                if (base == 0) base = error;
                // The butterflies of the split add log2 P roundings to those of the transforms.
                CHECK(error < 2 * base + (precision == Precision::float32 ? 5e-8 : 1e-16));
            }
    }
}

TEST_CASE("kernels as large as the image and larger agree with the oracle", "[long]") {
    Random random(test_seed("large kernels"));
    const EngineList engines = cpu_engines(2, index_t{512} << 10);
    for (const Shape3& kernel :
         {Shape3{6, 7, 8}, Shape3{13, 7, 20}, Shape3{6, 31, 8}, Shape3{25, 1, 1}})
        for (const Mode mode : {Mode::full, Mode::same})
            for (int b = 0; b < 6; ++b)
                for (const Method method :
                     {Method::automatic, Method::dif, Method::tiled, Method::direct}) {
                    ConvolverCase c = make_case(random, {6, 7, 8}, kernel, with(method));
                    c.options.mode = mode;
                    c.options.boundary = {static_cast<BoundaryKind>(b), b == 1 ? 0.5 : 0};
                    const std::string wrong = defect(c, engines);
                    INFO(c.describe() << "\n" << wrong);
                    CHECK(wrong.empty());
                }
}

TEST_CASE("volumes large enough for stores past the caches agree with the oracle", "[long]") {
    // Above 32 MiB, split and merge use the code whose stores bypass the caches.
    const Shape3 image_shape{150, 249, 261}, kernel_shape{5, 7, 6};
    const EngineList engines = cpu_engines(1);
    for (const PixelType type : {PixelType::float32, PixelType::uint16, PixelType::complex64}) {
        Random random(test_seed("streamed stores"));
        const Volume kernel = to_volume(random.array(kernel_shape, false), PixelType::float32);
        Shape3 shape = image_shape;
        if (type == PixelType::complex64) shape.z /= 2;
        Volume image(shape, type);
        store(random.integers(shape, 0, 999), image.view());
        const auto convolved = [&](const Options& options) {
            const Convolver convolver =
                ConvolverFactory::make(shape, kernel.view(), options, engines, type);
            Volume result(shape, convolver.natural_output_type());
            poison(result.view());
            convolver.execute(image.view(), result.view());
            return to_array(result.view());
        };
        const Array want = convolved(with(Method::in_core));
        for (const int parts : {2, 4, 16}) {
            if ((parts == 4) != (type == PixelType::complex64)) continue;
            const auto comparison = compare(want, convolved(with(Method::dif, parts)));
            INFO(to_string(type) << " P=" << parts << " " << comparison.report);
            CHECK(comparison.within(Precision::float32));
        }
    }
}
