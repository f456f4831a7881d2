// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/peer_memory.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "convolume/error.hpp"
#include "core/plan_cache.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/fault.hpp"

namespace convolume::gpu {

namespace {

/// Functions of the driver, which the CUDA runtime finds: libcuda is not linked.
struct DriverFunctions {
    decltype(&cuDeviceGetAttribute) get_attribute = nullptr;
    decltype(&cuMemGetAllocationGranularity) get_granularity = nullptr;
    decltype(&cuMemAddressReserve) reserve = nullptr;
    decltype(&cuMemAddressFree) free_addresses = nullptr;
    decltype(&cuMemCreate) create = nullptr;
    decltype(&cuMemRelease) release = nullptr;
    decltype(&cuMemMap) map = nullptr;
    decltype(&cuMemUnmap) unmap = nullptr;
    decltype(&cuMemSetAccess) set_access = nullptr;
};

template <class Function>
void find_function(const char* name, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    constexpr unsigned version = 11000;  // the functions are as they were in CUDA 11
    check(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result),
          "asking the driver for a function");
#else
    check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result),
          "asking the driver for a function");
#endif
    if (result != cudaDriverEntryPointSuccess || found == nullptr)
        throw GpuUnavailable(message("the GPUs' driver has no function ", name,
                                     ": update the driver, or use one GPU"));
    function = reinterpret_cast<Function>(found);
}

const DriverFunctions& driver() {
    static const DriverFunctions functions = [] {
        DriverFunctions found;
        find_function("cuDeviceGetAttribute", found.get_attribute);
        find_function("cuMemGetAllocationGranularity", found.get_granularity);
        find_function("cuMemAddressReserve", found.reserve);
        find_function("cuMemAddressFree", found.free_addresses);
        find_function("cuMemCreate", found.create);
        find_function("cuMemRelease", found.release);
        find_function("cuMemMap", found.map);
        find_function("cuMemUnmap", found.unmap);
        find_function("cuMemSetAccess", found.set_access);
        return found;
    }();
    return functions;
}

/// Codes of the driver are those of the CUDA runtime.
void check_driver(CUresult status, const char* what) {
    check(static_cast<cudaError_t>(status), what);
}

CUmemAllocationProp pages_on(int device) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}

/// Returns the least common multiple of the devices' page sizes, which are powers of two.
std::size_t page_bytes_of(const std::vector<PeerMemory::Part>& parts) {
    std::size_t largest = 1;
    for (const PeerMemory::Part& part : parts) {
        const CUmemAllocationProp properties = pages_on(part.device);
        std::size_t bytes = 0;
        check_driver(
            driver().get_granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
            "asking for the size of pages");
        largest = std::max(largest, bytes);
    }
    return largest;
}

bool has_virtual_memory(int device) {
    int has = 0;
    check_driver(driver().get_attribute(
                     &has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
                 "asking what a GPU can do");
    return has != 0;
}

}  // namespace

std::string why_no_peer_memory(const std::vector<int>& devices) {
    for (const int device : devices) {
        const DeviceScope scope(device);
        check(cudaFree(nullptr), "starting a GPU");
        if (!has_virtual_memory(device))
            return message("GPU ", device,
                           " cannot map memory of other GPUs: use another GPU, or one alone");
        for (const int peer : devices) {
            int reaches = device == peer ? 1 : 0;
            if (reaches == 0)
                check(cudaDeviceCanAccessPeer(&reaches, device, peer),
                      "asking which GPUs reach each other");
            if (reaches == 0)
                return message("GPU ", device, " does not reach the memory of GPU ", peer,
                               ": take GPUs that NVLink connects (nvidia-smi topo -m shows them), "
                               "or one GPU alone");
        }
    }
    return {};
}

bool has_fast_links(const std::vector<int>& devices) {
    for (const int device : devices)
        for (const int peer : devices) {
            int has_atomics = device == peer ? 1 : 0;  // PCI Express has none
            if (has_atomics == 0)
                check(cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported,
                                                device, peer),
                      "asking how GPUs reach each other");
            if (has_atomics == 0) return false;
        }
    return true;
}

void enable_peer_access(const std::vector<int>& devices) {
    static std::mutex mutex;
    static std::set<std::pair<int, int>> seen;  // pairs of GPUs that were asked in this process
    const std::lock_guard lock(mutex);
    for (const int from : devices)
        for (const int to : devices) {
            if (from == to || seen.contains({from, to})) continue;
            int possible = 0;
            check(cudaDeviceCanAccessPeer(&possible, from, to),
                  "asking which GPUs reach each other");
            if (possible != 0) {
                const DeviceScope scope(from);
                // The program around the library may have enabled the access. Without it, copies
                // go through the host.
                if (cudaDeviceEnablePeerAccess(to, 0) != cudaSuccess)
                    static_cast<void>(cudaGetLastError());
            }
            seen.insert({from, to});
        }
}

void wait_for_device(int device) {
    int before = 0;
    static_cast<void>(cudaGetDevice(&before));
    static_cast<void>(cudaSetDevice(device));
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaSetDevice(before));
}

/// Addresses, and the pages that are mapped to them so far.
class PeerMemory::Mapping {
  public:
    explicit Mapping(const std::vector<Part>& parts) : page_bytes_(page_bytes_of(parts)) {
        // Every part ends at the page that is nearest to its end, the last one after its end.
        const auto page = static_cast<index_t>(page_bytes_);
        index_t end = 0, all_bytes = 0;
        for (const Part& part : parts) all_bytes = checked_add(all_bytes, part.bytes);
        index_t begin = 0;
        for (const Part& part : parts) {
            end += part.bytes;
            const index_t nearest = (end + page / 2) / page * page;
            const index_t last = std::max(begin, end == all_bytes ? round_up(end, page) : nearest);
            ranges_.push_back({part.device, begin, last - begin});
            begin = last;
        }
        bytes_ = static_cast<std::size_t>(begin);
        if (bytes_ > 0)
            check_driver(driver().reserve(&address_, bytes_, page_bytes_, 0, 0),
                         "reserving addresses");
    }
    ~Mapping() {
        for (const Range& range : ranges_) wait_for_device(range.device);
        // Failures were reported before, or the devices are lost.
        for (std::size_t i = 0; i < mapped_; ++i) {
            const Range& range = ranges_[i];
            if (range.bytes == 0) continue;
            static_cast<void>(driver().unmap(at(range), static_cast<std::size_t>(range.bytes)));
            count_device_bytes(-range.bytes);
        }
        if (address_ != 0) static_cast<void>(driver().free_addresses(address_, bytes_));
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    void allocate(const char* purpose) {
        for (const Range& range : ranges_) {
            map_pages(range, purpose);
            ++mapped_;
        }
        if (bytes_ == 0) return;
        std::vector<CUmemAccessDesc> access;
        for (const Range& range : ranges_) {
            CUmemAccessDesc of_device{};
            of_device.location = pages_on(range.device).location;
            of_device.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            const bool is_known = std::any_of(
                access.begin(), access.end(),
                [&](const CUmemAccessDesc& known) { return known.location.id == range.device; });
            if (!is_known) access.push_back(of_device);
        }
        check_driver(driver().set_access(address_, bytes_, access.data(), access.size()),
                     "letting GPUs reach each other's memory");
        for (const Range& range : ranges_) clear(range);
    }

    char* data() const { return reinterpret_cast<char*>(address_); }
    index_t bytes_of_part(std::size_t part) const { return ranges_[part].bytes; }

  private:
    /// Pages on one device.
    struct Range {
        int device = 0;
        index_t begin = 0, bytes = 0;
    };

    CUdeviceptr at(const Range& range) const {
        return address_ + static_cast<CUdeviceptr>(range.begin);
    }

    void map_pages(const Range& range, const char* purpose) const {
        if (range.bytes == 0) return;
        const CUmemAllocationProp properties = pages_on(range.device);
        CUmemGenericAllocationHandle pages{};
        const auto create = [&] {
            return fault_due(InjectedFault::allocation)
                       ? CUDA_ERROR_OUT_OF_MEMORY
                       : driver().create(&pages, static_cast<std::size_t>(range.bytes), &properties,
                                         0);
        };
        CUresult status = create();
        if (status == CUDA_ERROR_OUT_OF_MEMORY && PlanCache::instance().release_gpu_memory())
            status = create();
        check_driver(status, purpose);
        status = driver().map(at(range), static_cast<std::size_t>(range.bytes), 0, pages, 0);
        static_cast<void>(driver().release(pages));  // a mapping keeps its pages
        check_driver(status, "mapping memory");
        count_device_bytes(range.bytes);
    }

    void clear(const Range& range) const {
        if (range.bytes == 0) return;
        const DeviceScope scope(range.device);
        check(cudaMemset(data() + range.begin, 0, static_cast<std::size_t>(range.bytes)),
              "clearing memory");
        check(cudaStreamSynchronize(nullptr), "clearing memory");
    }

    std::size_t page_bytes_ = 1, bytes_ = 0;
    std::vector<Range> ranges_;
    std::size_t mapped_ = 0;  ///< number of ranges whose pages are mapped
    CUdeviceptr address_ = 0;
};

PeerMemory::PeerMemory() = default;
PeerMemory::~PeerMemory() = default;
PeerMemory::PeerMemory(PeerMemory&&) noexcept = default;
PeerMemory& PeerMemory::operator=(PeerMemory&&) noexcept = default;

PeerMemory::PeerMemory(const std::vector<Part>& parts, const char* purpose)
    : mapping_(std::make_unique<Mapping>(parts)) {
    mapping_->allocate(purpose);
}

char* PeerMemory::data() const {
    return mapping_ ? mapping_->data() : nullptr;
}
index_t PeerMemory::bytes_of_part(std::size_t part) const {
    return mapping_ ? mapping_->bytes_of_part(part) : 0;
}

}  // namespace convolume::gpu
