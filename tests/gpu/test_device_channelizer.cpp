// SPDX-License-Identifier: Apache-2.0
// Tests the division of signals in device memory into channels. The host runs both CUDA kernels
// against their definition in tests/gpu/signals.

#include <cstring>

#include "convolume/device.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("Frames on a GPU do not depend on the length of their signal", "[gpu]") {
    NEEDS_GPU();
    // Only long signals take walk_frames(); 30 frames take channelize_frames().
    constexpr index_t samples = (index_t{1} << 24) + 77, few = 30;
    Random random(5);
    Volume numbers({1, 1, 2 * samples}, PixelType::float32);
    for (index_t i = 0; i < 2 * samples; ++i)
        numbers.elements<float>()[i] = static_cast<float>(random.uniform() - 0.5);
    const gpu::DeviceMemory signal = on_device(numbers);
    for (const index_t channels : {256, 512, 1024})
        for (const index_t terms : {5, 16})
            for (const auto type :
                 {PixelType::complex64, PixelType::float32, PixelType::int16, PixelType::int8}) {
                INFO(channels << " channels, " << terms << " terms, " << to_string(type));
                ChannelizerOptions options;
                options.channels = channels;
                options.taps_per_channel = terms;
                options.first = 7;
                options.interleaved = is_integer(type);
                const DeviceChannelizer whole(options, samples, {0, type, 1, false});
                const auto walks = [](const DeviceChannelizer& one) {
                    return one.plan().method.rfind("one pass", 0) == 0;
                };
                // Other GPUs may have too little memory for the thread blocks that are planned.
                if (gpu::device_properties(0).compute_major == 9) CHECK(walks(whole));
                const index_t row = whole.plan().stored_channels, row_bytes = row * 8;
                const gpu::DeviceMemory all(0, whole.frames() * row_bytes);
                const gpu::DeviceMemory part(0, few * row_bytes);
                whole.execute(signal.data(), all.data());
                const Volume want = fetched(all, {1, whole.frames(), row}, PixelType::complex64);
                for (const index_t from : {index_t{0}, whole.frames() / 3, whole.frames() - few}) {
                    options.first = 7 + from * channels;
                    const index_t end = std::min(samples, 7 + (from + few) * channels);
                    const DeviceChannelizer cut(options, end, {0, type, 1, false});
                    REQUIRE(cut.frames() == few);
                    CHECK(!walks(cut));
                    cut.execute(signal.data(), part.data());
                    const Volume got = fetched(part, {1, few, row}, PixelType::complex64);
                    CHECK(std::memcmp(got.view().data,
                                      static_cast<const char*>(want.view().data) + from * row_bytes,
                                      static_cast<std::size_t>(few * row_bytes)) == 0);
                }
            }
}
