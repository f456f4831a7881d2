#include "fft/device_table.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include "check.hpp"
#include "fft/twiddles.hpp"

namespace convolume::gpu {

namespace {

std::mutex mutex;

int current_device() {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
    return device;
}

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "asking a device for its limits");
    return value;
}

}  // namespace

template <class Real>
const Complex<Real>* device_twiddles(const Plan& plan, cudaStream_t stream) {
    using Key = std::tuple<int, int, int, int, int>;
    static std::map<Key, Complex<Real>*> tables;
    const std::lock_guard lock(mutex);
    Complex<Real>*& table =
        tables[{current_device(), plan.n, plan.radix[0], plan.radix[1], plan.radix[2]}];
    if (table != nullptr) return table;

    auto host = plan_twiddles<Real>(plan);
    const auto turns = pair_turns<Real>(plan.n);
    host.insert(host.end(), turns.begin(), turns.end());
    const std::size_t bytes = host.size() * sizeof(host[0]);
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "twiddle factors");
    cudaError_t status =
        cudaMemcpyAsync(memory, host.data(), bytes, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess) cudaFree(memory);
    check(status, "uploading twiddle factors");
    table = static_cast<Complex<Real>*>(memory);
    return table;
}

template const Complex<float>* device_twiddles(const Plan&, cudaStream_t);
template const Complex<double>* device_twiddles(const Plan&, cudaStream_t);

index_t shared_memory_limit(int device) {
    return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

index_t resident_blocks(const void* kernel, int threads, index_t shared_bytes) {
    static std::map<std::tuple<int, const void*, index_t>, index_t> known;
    const std::lock_guard lock(mutex);
    const int device = current_device();
    const auto [entry, added] = known.try_emplace({device, kernel, shared_bytes}, 0);
    if (!added) return entry->second;
    if (shared_bytes > shared_memory_limit(device)) return 0;
    int& largest = [&]() -> int& {
        static std::map<std::pair<int, const void*>, int> limits;
        return limits[{device, kernel}];
    }();
    if (shared_bytes > largest) largest = static_cast<int>(shared_bytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, largest),
          "setting the shared memory of a pass");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared),
          "setting the shared memory of a pass");
    int per_unit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, kernel, threads,
                                                        static_cast<std::size_t>(shared_bytes)),
          "asking for the occupancy of a pass");
    entry->second =
        static_cast<index_t>(per_unit) * attribute(cudaDevAttrMultiProcessorCount, device);
    return entry->second;
}

bool has_async_copies() {
    return attribute(cudaDevAttrComputeCapabilityMajor, current_device()) >= 8;
}

}  // namespace convolume::gpu
