// SPDX-License-Identifier: Apache-2.0
// Tests filter banks on a GPU whose signals and results are stored in 16 bits.

#include <cuda_runtime_api.h>

#include "convolume/device.hpp"
#include "engines/engines.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/gpu/device.hpp"
#include "tests/signals/short_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

FilterEngineList gpu_engines(std::optional<index_t> limit_bytes = {}) {
    GpuOptions options;
    options.devices = {0};
    options.memory_limit_bytes = limit_bytes;
    return gpu::make_filter_engines(options);
}

// Executes on arrays in device memory. Returns a description of the first defect, or "".
std::string device_defect(const ShortCase& c) {
    std::vector<Volume> filters;
    std::vector<ConstImageView> views;
    for (const Row& taps : c.bank.bank) {
        Array array({1, 1, static_cast<index_t>(taps.size())});
        std::copy(taps.begin(), taps.end(), array.values.begin());
        filters.push_back(to_volume(array, c.bank.sample_type()));
    }
    for (const Volume& filter : filters) views.push_back(filter.view());
    const DeviceFilterBank bank(c.bank.shape(), views, c.bank.options,
                                {0, pixel_type(Precision::float32, c.bank.complex_data)});
    if (bank.sample_type() != c.signals.view().type) return "signals of another type";
    Volume results(
        {c.bank.shape().signals, bank.filters(), bank.result_samples() * bank.result_elements()},
        bank.result_type());
    const gpu::DeviceMemory source(0, c.signals.bytes()), target(0, results.bytes());
    copy_to_device(source.data(), c.signals.view().data, c.signals.bytes());
    const gpu::CudaStream stream;
    ClampCount before;
    for (int execution = 1; execution <= 2; ++execution) {
        poison(results.view());
        copy_to_device(target.data(), results.view().data, results.bytes());
        bank.execute(source.data(), target.data(), nullptr, static_cast<cudaStream_t>(stream));
        const ClampCount all = bank.clamped(static_cast<cudaStream_t>(stream));
        stream.wait();
        if (cudaMemcpy(results.view().data, target.data(),
                       static_cast<std::size_t>(results.bytes()),
                       cudaMemcpyDeviceToHost) != cudaSuccess)
            return "results were not copied";
        const std::string wrong =
            short_defect(c, results.view().data, {all.low - before.low, all.high - before.high});
        if (!wrong.empty())
            return message("execution ", execution, ", ", bank.plan().to_string(), ": ", wrong);
        before = all;
    }
    return {};
}

}  // namespace

TEST_CASE("GPU filters: signals and results of 16 bits in host memory agree with the oracle",
          "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("storage of 16 bits on a GPU");
    const FilterEngineList engines = gpu_engines(), small = gpu_engines(index_t{6} << 20);
    for (std::uint64_t number = 0; number < case_count(100); ++number) {
        Random random(seed, number);
        ShortCase c = random_short_case(random);
        c.bank.options.method = random.pick(
            {FilterMethod::automatic, FilterMethod::overlap_save, FilterMethod::partitioned});
        INFO("case " << number << ": " << c.describe());
        REQUIRE(run_short(c, number % 2 == 0 ? engines : small) == "");
    }
}

TEST_CASE("GPU filters: every segment length takes signals and results of 16 bits", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("segments of 16 bits"));
    const FilterEngineList engines = gpu_engines();
    for (const index_t segment : {256, 512, 1024, 2048, 4096, 8192, 16384, 20000})
        for (int kind = 0; kind < 6; ++kind) {
            ShortCase c = random_short_case(random);
            c.bank.bank.resize(1);
            c.bank.bank[0].resize(std::min<std::size_t>(c.bank.bank[0].size(), 90));
            c.bank.options.method = FilterMethod::overlap_save;
            c.bank.options.segment = segment;
            INFO("segments of " << segment << ", " << c.describe());
            REQUIRE(run_short(c, engines) == "");
        }
}

TEST_CASE("device filter bank: signals and results of 16 bits agree with the oracle", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("storage of 16 bits in device memory");
    const std::uint64_t cases = case_count(200);
    std::uint64_t refusals = 0;
    for (std::uint64_t number = 0; number < cases; ++number) {
        Random random(seed, number);
        ShortCase c = random_short_case(random);
        c.bank.options.method =
            random.pick({FilterMethod::automatic, FilterMethod::automatic, FilterMethod::direct,
                         FilterMethod::overlap_save, FilterMethod::partitioned});
        INFO("case " << number << ": " << c.describe());
        std::string wrong;
        try {
            wrong = device_defect(c);
        } catch (const Unavailable&) {  // a given method has limits
            if (c.bank.options.method == FilterMethod::automatic) wrong = "no way was found";
            ++refusals;
        }
        REQUIRE(wrong == "");
    }
    CHECK(3 * refusals < cases);
}

TEST_CASE("device filter bank: complex samples of 16 bits are aligned", "[gpu]") {
    NEEDS_GPU();
    const float taps[] = {1, 2, 3};
    FilterOptions options;
    options.signal_storage = SampleStorage::int16;
    const DeviceFilterBank bank({1, 8}, {view_of(taps, {1, 1, 3})}, options,
                                {0, PixelType::complex64});
    CHECK(bank.sample_elements() == 2);
    const gpu::DeviceMemory memory(0, 256);
    CHECK(contains(
        message_of<InvalidArgument>([&] { bank.execute(memory.data() + 2, memory.data() + 64); }),
        "multiple of 4 bytes"));
}
