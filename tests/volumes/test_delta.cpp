// SPDX-License-Identifier: Apache-2.0
// Tests delta images and kernels: a delta kernel returns the image, a delta image the kernel.

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const auto methods_with_automatic = {Method::automatic, Method::in_core, Method::dif, Method::tiled,
                                     Method::direct};

}  // namespace

TEST_CASE("a delta kernel returns the image") {
    Random random(test_seed("delta kernel"));
    const EngineList engines = cpu_engines();
    for (const Method method : methods_with_automatic)
        for (const auto kind : {KernelCenter::Kind::middle, KernelCenter::Kind::scipy})
            for (const Shape3& kernel :
                 {Shape3{1, 1, 1}, Shape3{3, 4, 5}, Shape3{2, 2, 2}, Shape3{1, 6, 20}}) {
                ConvolverCase c = make_case(random, {5, 8, 11}, kernel);
                c.options.method = method;
                c.options.center.kind = kind;
                const Index3 center = center_index(c.options.center, kernel);
                c.kernel = Array(kernel);
                c.kernel(center.z, center.y, center.x) = 1;
                const auto comparison = compare(c.image, result_of(c, engines));
                INFO(c.describe() << "\n" << comparison.report);
                CHECK(comparison.within(Precision::float32));
            }
}

TEST_CASE("a delta image returns the kernel") {
    Random random(test_seed("delta image"));
    const EngineList engines = cpu_engines();
    for (const Method method : methods_with_automatic) {
        ConvolverCase c = make_case(random, {1, 1, 1}, {4, 5, 6});
        c.options.method = method;
        c.options.mode = Mode::full;
        c.image.values[0] = 1;
        const auto comparison = compare(c.kernel, result_of(c, engines));
        INFO(c.describe() << "\n" << comparison.report);
        CHECK(comparison.within(Precision::float32));

        ConvolverCase shifted = make_case(random, {6, 7, 9}, {3, 4, 5});
        shifted.options.method = method;
        shifted.image = Array(shifted.image_shape);
        shifted.image(2, 3, 4) = 1;
        const Array result = result_of(shifted, engines);
        for (index_t z = 0; z < 3; ++z)
            for (index_t y = 0; y < 4; ++y)
                for (index_t x = 0; x < 5; ++x)  // full[2+z…] is same[2+z-1…], with k/2 = 1, 2, 2
                    CHECK(std::abs(result(2 + z - 1, 3 + y - 2, 4 + x - 2) -
                                   shifted.kernel(z, y, x)) < 1e-6);
    }
}

TEST_CASE("zeros stay zeros and constants scale by the kernel's sum") {
    Random random(test_seed("constants"));
    const EngineList engines = cpu_engines();
    for (const Method method : methods_with_automatic)
        for (const BoundaryKind boundary :
             {BoundaryKind::nearest, BoundaryKind::reflect, BoundaryKind::mirror,
              BoundaryKind::wrap, BoundaryKind::constant}) {
            ConvolverCase c = make_case(random, {6, 5, 7}, {3, 3, 4});
            c.options.method = method;
            c.options.boundary = {boundary, 7};
            Complex sum = 0;
            for (const Complex& tap : c.kernel.values) sum += tap;
            for (Complex& value : c.image.values) value = 7;
            Array want(c.image_shape);
            for (Complex& value : want.values) value = 7.0 * sum;
            const auto comparison =
                compare(want, result_of(c, engines), c.norm_floor(want.count()));
            INFO(c.describe() << "\n" << comparison.report);
            CHECK(comparison.within(Precision::float32));

            c.options.boundary = {};
            for (Complex& value : c.image.values) value = 0;
            CHECK(norm(result_of(c, engines)) == 0);
        }
}
