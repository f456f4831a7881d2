// SPDX-License-Identifier: Apache-2.0
// Tests that a GPU that fails during a convolution over several leaves an error, and that nothing
// waits forever.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "gpu/runtime/device.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/gpu/slabs.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("spread convolver: a GPU that fails leaves an error on all streams") {
    NEEDS_GPU();
    const Shape3 shape{32, 64, 64};
    Volume kernel({5, 5, 5}, PixelType::float32), image(shape, PixelType::float32);
    std::fill_n(kernel.elements<float>(), 125, 1.0F);
    std::fill_n(image.elements<float>(), element_count(shape), 1.0F);
    DeviceOptions options;
    options.devices = {0, gpu::device_count() > 1 ? 1 : 0};
    const DeviceConvolver convolver(shape, kernel.view(), {}, options);
    const VolumeSlabs slabs = input_slabs(convolver, image);
    const SlabStreams streams(convolver);
    std::vector<void*> outputs = slabs.outputs();
    outputs[1] = reinterpret_cast<void*>(std::uintptr_t{4096});  // no memory is there
    bool is_reported = false;
    try {
        convolver.execute(slabs.inputs(), outputs, streams.get());
    } catch (const Error&) {
        is_reported = true;
    }
    for (const DeviceStream& stream : streams.get()) {
        const cudaError_t status = cudaStreamSynchronize(stream.get());
        is_reported = is_reported || status != cudaSuccess;
    }
    CHECK(is_reported);
    CHECK_THROWS_AS(convolver.execute(slabs.inputs(), slabs.outputs(), streams.get()), Error);
    // Destructors do not wait forever, either.
}
