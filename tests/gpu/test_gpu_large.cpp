// SPDX-License-Identifier: Apache-2.0
// Convolves an image of more than 2^31 voxels that is in device memory as a whole.

#include <cmath>

#include "convolume/convolver.hpp"
#include "core/threads.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/random.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Returns the voxel at linear index i: cheap to compute, and different in every row and plane.
std::uint8_t pattern(index_t i) {
    return static_cast<std::uint8_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u) >> 56);
}

}  // namespace

TEST_CASE("in-core convolution of more than 2^31 voxels is correct", "[gpu]") {
    NEEDS_GPU();
    constexpr index_t gib = index_t{1} << 30;
    if (gpu_devices().front().free_bytes < 30 * gib) SKIP("it takes 30 GiB of device memory");
    const Shape3 shape{1300, 1297, 1301}, taps{3, 5, 7};
    REQUIRE(element_count(shape) > std::numeric_limits<std::int32_t>::max());
    Options options;
    options.method = Method::in_core;
    options.max_host_bytes = 40 * gib;
    Random random(test_seed("gpu large"));
    const Volume kernel = to_volume(random.array(taps, false), PixelType::float32);
    std::optional<Volume> image, result;
    try {
        image.emplace(shape, PixelType::uint8);
        result.emplace(shape, PixelType::float32);
    } catch (const OutOfMemory& refused) {
        SKIP(refused.what());
    }
    std::uint8_t* const pixels = image->elements<std::uint8_t>();
    const index_t planes = shape.z, plane = shape.y * shape.x;
    parallel_for(planes, thread_count(0), [&](index_t z, int) {
        for (index_t i = 0; i < plane; ++i) pixels[z * plane + i] = pattern(z * plane + i);
    });

    const Convolver convolver =
        ConvolverFactory::make(shape, kernel.view(), options, {gpu_engine()}, PixelType::uint8);
    INFO(convolver.plan().to_string());
    CHECK(convolver.plan().chosen.on_gpu);
    convolver.execute(image->view(), result->view());

    double difference = 0, norm = 0;
    for (int sample = 0; sample < 2000; ++sample) {
        // A third of the samples are at the end, where indices are largest.
        const index_t from_z = sample % 3 == 0 ? shape.z - 4 : 0;
        const Index3 at{random.integer(from_z, shape.z - 1), random.integer(0, shape.y - 1),
                        random.integer(0, shape.x - 1)};
        double sum = 0;
        for (index_t z = 0; z < taps.z; ++z)
            for (index_t y = 0; y < taps.y; ++y)
                for (index_t x = 0; x < taps.x; ++x) {
                    const Index3 from{at.z + taps.z / 2 - z, at.y + taps.y / 2 - y,
                                      at.x + taps.x / 2 - x};
                    if (from.z < 0 || from.z >= shape.z || from.y < 0 || from.y >= shape.y ||
                        from.x < 0 || from.x >= shape.x)
                        continue;
                    sum +=
                        static_cast<double>(*static_cast<const float*>(kernel.view().at(z, y, x))) *
                        pattern(from.z * plane + from.y * shape.x + from.x);
                }
        const double found = *static_cast<const float*>(
            static_cast<const Volume&>(*result).view().at(at.z, at.y, at.x));
        difference += (found - sum) * (found - sum);
        norm += sum * sum;
    }
    CHECK(std::sqrt(difference / norm) < 1e-6);
}
