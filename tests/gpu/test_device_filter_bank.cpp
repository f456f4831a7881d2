// SPDX-License-Identifier: Apache-2.0
// Tests filtering from device memory to device memory, on a CUDA stream of the caller.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>

#include "convolume/device.hpp"
#include "convolume/filter_options.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "tests/gpu/device.hpp"
#include "tests/signals/bank_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

DeviceFilterBank make_device_bank(const BankCase& c) {
    std::vector<Volume> filters;
    std::vector<ConstImageView> views;
    for (const Row& taps : c.bank) {
        Array array({1, 1, static_cast<index_t>(taps.size())});
        std::copy(taps.begin(), taps.end(), array.values.begin());
        filters.push_back(to_volume(array, c.sample_type()));
    }
    for (const Volume& filter : filters) views.push_back(filter.view());
    DeviceFilterOptions device;
    device.signal_type = pixel_type(Precision::float32, c.complex_data);
    return DeviceFilterBank(c.shape(), views, c.options, device);
}

gpu::DeviceMemory bytes_on_device(const void* data, index_t bytes) {
    gpu::DeviceMemory memory(0, bytes);
    copy_to_device(memory.data(), data, bytes);
    return memory;
}

void from_device(void* data, const gpu::DeviceMemory& memory, index_t bytes) {
    REQUIRE(cudaMemcpy(data, memory.data(), static_cast<std::size_t>(bytes),
                       cudaMemcpyDeviceToHost) == cudaSuccess);
}

// Executes twice into poisoned memory. Returns a description of the first defect, or "".
std::string device_defect(const BankCase& c, const DeviceFilterBank& bank) {
    if (bank.sample_type() != c.sample_type()) return "signals of another type";
    const Volume signals = signals_of(c, bank.sample_type());
    const gpu::DeviceMemory source = bytes_on_device(signals.view().data, signals.bytes());
    Volume results({c.shape().signals, bank.filters(), bank.result_samples()}, bank.result_type());
    const bool peaks = c.options.window.kind == WindowPost::Kind::peak;
    const index_t count = element_count(results.shape());
    const gpu::CudaStream stream;
    for (int execution = 1; execution <= 2; ++execution) {
        poison(results.view());
        std::vector<index_t> positions(static_cast<std::size_t>(count), -12345);
        const index_t positions_bytes = count * static_cast<index_t>(sizeof(index_t));
        const gpu::DeviceMemory target = bytes_on_device(results.view().data, results.bytes());
        const gpu::DeviceMemory places = bytes_on_device(positions.data(), positions_bytes);
        bank.execute(source.data(), target.data(),
                     peaks ? reinterpret_cast<index_t*>(places.data()) : nullptr,
                     static_cast<cudaStream_t>(stream));
        stream.wait();
        from_device(results.view().data, target, results.bytes());
        from_device(positions.data(), places, positions_bytes);
        const std::string wrong = defect(c, results.view(), peaks ? positions.data() : nullptr);
        if (!wrong.empty())
            return message("execution ", execution, ", ", bank.plan().to_string(), ": ", wrong);
    }
    return {};
}

BankCase random_case(Random& random) {
    std::vector<index_t> taps;
    for (index_t f = random.pick<index_t>({1, 2, 3, 7}); f > 0; --f)
        taps.push_back(random.chance(0.1) ? random.integer(100, 3000) : random.integer(1, 90));
    const index_t samples =
        random.chance(0.8) ? random.integer(1, 2000) : random.integer(2000, 30000);
    BankCase c = make_bank_case(random, samples, taps, random.chance(0.4));
    for (index_t s = random.pick<index_t>({0, 0, 1, 4}); s > 0; --s)
        c.signals.push_back(make_bank_case(random, samples, {1}, c.complex_data).signals[0]);
    FilterOptions& options = c.options;
    options.precision = random.pick({Precision::float32, Precision::float64});
    options.origin.kind = random.pick(
        {FilterOrigin::Kind::center, FilterOrigin::Kind::causal, FilterOrigin::Kind::anticausal});
    options.mode = random.pick({Mode::full, Mode::same});
    options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
    options.method = random.pick({FilterMethod::automatic, FilterMethod::direct,
                                  FilterMethod::overlap_save, FilterMethod::partitioned});
    const double window = random.uniform();
    if (window < 0.2) options.window = {WindowPost::Kind::decimate, random.integer(1, 90)};
    // Peaks are tested in double only, where rounding does not move the oracle's peak.
    if (window > 0.6 && options.precision == Precision::float64 &&
        (!c.complex_data || options.post == PointPost::power))
        options.window = {WindowPost::Kind::peak, random.pick<index_t>({1, 3, 50, 700})};
    if (random.chance(0.4)) {
        SampleRange range;
        const index_t count = samples + *std::max_element(taps.begin(), taps.end()) - 1;
        range.begin = random.integer(0, count - 1);
        range.end = random.integer(range.begin + 1, count);
        options.range = range;
    }
    return c;
}

}  // namespace

TEST_CASE(
    "device filter bank: every origin, mode, range, post-processing, window, method and batch "
    "agrees",
    "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("filter banks on device memory");
    int failures = 0, refusals = 0;
    const std::uint64_t cases = case_count(300);
    for (std::uint64_t number = 0; number < cases && failures < 5; ++number) {
        Random random(seed, number);
        const BankCase c = random_case(random);
        std::string wrong;
        try {
            wrong = device_defect(c, make_device_bank(c));
        } catch (const Unavailable&) {
            // The automatic method always finds a solution; a given method has limits.
            if (c.options.method == FilterMethod::automatic)
                wrong = "no way was found";
            else
                ++refusals;
        } catch (const std::exception& thrown) {
            wrong = thrown.what();
        }
        if (wrong.empty()) continue;
        ++failures;
        UNSCOPED_INFO("case " << number << ": " << c.describe() << "\n" << wrong);
        CHECK(wrong.empty());
    }
    CHECK(3 * refusals < static_cast<int>(cases));
}

TEST_CASE("device filter bank: banks of fewer taps leave others their shared memory", "[gpu]") {
    NEEDS_GPU();
    Random random(test_seed("banks of different lengths"));
    BankCase many = make_bank_case(random, 5000, {300, 300, 300, 300});
    BankCase few = make_bank_case(random, 5000, {3});
    many.options.method = few.options.method = FilterMethod::direct;
    const DeviceFilterBank first = make_device_bank(many), second = make_device_bank(few);
    CHECK(device_defect(many, first).empty());
    CHECK(device_defect(few, second).empty());
}

TEST_CASE("device filter bank: the position of a peak counts samples as the caller does", "[gpu]") {
    NEEDS_GPU();
    // A spike at sample 500, which the filter delays to 502: the result rises most around 501.
    const index_t samples = 1000;
    std::vector<float> signal(static_cast<std::size_t>(samples), 0.0F);
    signal[500] = 8;
    const float taps[] = {0, 0, 1};
    FilterOptions options;
    options.mode = Mode::full;
    options.origin.kind = FilterOrigin::Kind::causal;
    options.post = PointPost::derivative;
    options.window = {WindowPost::Kind::peak, 600};
    for (const FilterMethod method : {FilterMethod::overlap_save, FilterMethod::partitioned}) {
        options.method = method;
        DeviceFilterBank bank({1, samples}, {view_of(taps, {1, 1, 3})}, options);
        REQUIRE(bank.result_samples() == 2);
        CHECK(bank.taps() == 3);
        CHECK(bank.range() == SampleRange{0, 1002});
        CHECK(bank.device_bytes() > 0);
        CHECK(bank.plan().method == method);
        const gpu::DeviceMemory source = bytes_on_device(signal.data(), samples * 4);
        const gpu::DeviceMemory target(0, 2 * 4), places(0, 2 * 8);
        bank.execute(source.data(), target.data(), reinterpret_cast<index_t*>(places.data()));
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        float peaks[2] = {};
        index_t positions[2] = {};
        from_device(peaks, target, sizeof(peaks));
        from_device(positions, places, sizeof(positions));
        CHECK(std::abs(peaks[0] - 4) < 1e-5F);
        CHECK(positions[0] == 501);
        CHECK(positions[1] >= 600);
        CHECK(positions[1] < 1002);
    }
}

TEST_CASE("device filter bank: requests that cannot be fulfilled are refused with a reason") {
    const float taps[] = {1, 2, 3};
    const std::vector<ConstImageView> filters{view_of(taps, {1, 1, 3})};
    if (!gpu_unavailable().empty()) {
        CHECK_THROWS_AS(DeviceFilterBank({1, 8}, filters), Unavailable);
        return;
    }
    DeviceFilterOptions device;
    device.device = 99;
    CHECK_THROWS_AS(DeviceFilterBank({1, 8}, filters, {}, device), Unavailable);
    FilterOptions options;
    options.nan = NanPolicy::zero;
    CHECK_THROWS_AS(DeviceFilterBank({1, 8}, filters, options), InvalidArgument);
    options = {};
    options.function = sample_function<float>([](const float* y) { return 2 * *y; });
    CHECK(contains(message_of<InvalidArgument>([&] {
                       DeviceFilterBank({1, 8}, filters, options);
                   }),
                   "device_sample_function"));
    options = {};
    options.method = FilterMethod::overlap_add;
    CHECK_THROWS_AS(DeviceFilterBank({1, 8}, filters, options), Unavailable);
    CHECK_THROWS_AS(DeviceFilterBank({1, 0}, filters), InvalidArgument);
    DeviceFilterBank bank({1, 8}, filters);
    index_t position = 0;
    CHECK_THROWS_AS(bank.execute(&position, &position, &position), InvalidArgument);
}
