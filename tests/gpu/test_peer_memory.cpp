// SPDX-License-Identifier: Apache-2.0
// Tests memory whose pages lie on several GPUs.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "convolume/error.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/gpu/slabs.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Writes from one device and reads from another, across the border of two parts.
void check_border(const std::vector<int>& devices) {
    const index_t bytes = (index_t{5} << 20) + 12345;
    gpu::PeerMemory memory({{devices[0], bytes}, {devices[1], bytes}}, "a test");
    const index_t page = index_t{2} << 20;
    for (std::size_t part = 0; part < 2; ++part) {
        CHECK(memory.bytes_of_part(part) % page == 0);
        CHECK(std::abs(memory.bytes_of_part(part) - bytes) <= page);
    }
    CHECK(memory.bytes_of_part(0) + memory.bytes_of_part(1) >= 2 * bytes);
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<char> written(size), read(size, 1);
    {
        const gpu::DeviceScope scope(devices[1]);
        gpu::check(cudaMemcpy(read.data(), memory.data(), size, cudaMemcpyDeviceToHost), "reading");
        CHECK(std::all_of(read.begin(), read.end(), [](char value) { return value == 0; }));
    }
    for (std::size_t i = 0; i < size; ++i) written[i] = static_cast<char>(i * 7 + i / 251);
    char* const middle = memory.data() + bytes / 2;
    const gpu::DeviceScope scope(devices[0]);
    const gpu::DeviceMemory from(devices[0], bytes), to(devices[0], bytes);
    copy_to_device(from.data(), written.data(), bytes);
    gpu::check(cudaMemcpy(middle, from.data(), size, cudaMemcpyDeviceToDevice), "writing");
    gpu::check(cudaDeviceSynchronize(), "writing");
    gpu::check(cudaMemcpy(to.data(), middle, size, cudaMemcpyDeviceToDevice), "reading");
    gpu::check(cudaMemcpy(read.data(), to.data(), size, cudaMemcpyDeviceToHost), "reading");
    CHECK(read == written);
}

}  // namespace

TEST_CASE("peer memory on one GPU: parts follow each other", "[gpu]") {
    NEEDS_GPU();
    check_border({0, 0});
}

TEST_CASE("peer memory: a GPU reads and writes pages of another", "[gpu]") {
    NEEDS_TWO_GPUS();
    check_border({0, 1});
    check_border({1, 0});
}

TEST_CASE("peer memory: counts its bytes, and frees them when memory is refused", "[gpu]") {
    NEEDS_GPU();
    const index_t before = gpu::device_memory_use().current_bytes;
    {
        gpu::PeerMemory memory({{0, 1}, {0, index_t{3} << 20}}, "a test");
        CHECK(gpu::device_memory_use().current_bytes - before >= index_t{3} << 20);
        gpu::PeerMemory moved = std::move(memory);
        CHECK(moved.data() != nullptr);
    }
    CHECK(gpu::device_memory_use().current_bytes == before);
    CHECK_THROWS_AS(gpu::PeerMemory({{0, index_t{1} << 20}, {0, index_t{1} << 50}}, "a test"),
                    OutOfMemory);
    CHECK(gpu::device_memory_use().current_bytes == before);
    CHECK(gpu::PeerMemory({{0, 0}, {0, 0}}, "a test").data() == nullptr);
}
