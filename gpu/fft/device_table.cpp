// SPDX-License-Identifier: Apache-2.0
#include "gpu/fft/device_table.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include "gpu/fft/plan.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::gpu {

namespace {

std::mutex table_mutex;

// Whether the code of passes has a version for a device. All passes are compiled for the same
// devices, so that a look at one CUDA kernel is enough.
bool is_compiled_for(int device, const void* cuda_kernel) {
    const DeviceScope scope(device);
    cudaFuncAttributes attributes{};
    // Code of earlier versions is empty, see device_block.cuh.
    const bool compiled = cudaFuncGetAttributes(&attributes, cuda_kernel) == cudaSuccess &&
                          attributes.ptxVersion >= 80;
    // The CUDA kernel may have no code for this device, which is no error here.
    static_cast<void>(cudaGetLastError());
    return compiled;
}

}  // namespace

template <class Real>
const Complex<Real>* device_twiddles(const TransformPlan& plan, cudaStream_t stream) {
    using Key = std::tuple<int, int, int, int, int>;
    static std::map<Key, Complex<Real>*> tables;
    const std::lock_guard lock(table_mutex);
    Complex<Real>*& table =
        tables[{current_device(), plan.n, plan.radix[0], plan.radix[1], plan.radix[2]}];
    if (table != nullptr) return table;

    auto host = plan_twiddles<Real>(plan);
    const auto twiddles = pair_twiddles<Real>(plan.n);
    host.insert(host.end(), twiddles.begin(), twiddles.end());
    const std::size_t bytes = host.size() * sizeof(host[0]);
    void* const memory = allocate_on_current_device(static_cast<index_t>(bytes), "twiddle factors");
    cudaError_t status =
        cudaMemcpyAsync(memory, host.data(), bytes, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess) cudaFree(memory);
    check(status, "uploading twiddle factors");
    table = static_cast<Complex<Real>*>(memory);
    return table;
}

template const Complex<float>* device_twiddles(const TransformPlan&, cudaStream_t);
template const Complex<double>* device_twiddles(const TransformPlan&, cudaStream_t);

bool can_run(const void* cuda_kernel, index_t shared_bytes, int device) {
    // The planner asks for every length of every candidate.
    static std::map<int, index_t> shared_bytes_of;  // 0: passes have no code for the device
    const std::lock_guard lock(table_mutex);
    const auto [entry, added] = shared_bytes_of.try_emplace(device, 0);
    if (added && is_compiled_for(device, cuda_kernel))
        entry->second = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return shared_bytes <= entry->second;
}

index_t resident_blocks(const void* cuda_kernel, int threads, index_t shared_bytes) {
    static std::map<std::tuple<int, const void*, index_t>, index_t> resident_of;
    const std::lock_guard lock(table_mutex);
    const int device = current_device();
    const auto found = resident_of.find({device, cuda_kernel, shared_bytes});
    if (found != resident_of.end()) return found->second;
    if (shared_bytes > device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device)) return 0;

    allow_shared_bytes(cuda_kernel, shared_bytes, "setting the shared memory of a pass");
    int per_unit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, cuda_kernel, threads,
                                                        static_cast<std::size_t>(shared_bytes)),
          "asking for the occupancy of a pass");
    const index_t blocks =
        static_cast<index_t>(per_unit) * device_attribute(cudaDevAttrMultiProcessorCount, device);
    resident_of[{device, cuda_kernel, shared_bytes}] = blocks;
    return blocks;
}

index_t most_resident_blocks(int threads) {
    const int device = current_device();
    const index_t per_unit =
        device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device) / threads;
    return per_unit * device_attribute(cudaDevAttrMultiProcessorCount, device);
}

}  // namespace convolume::gpu
