// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuFFT, opened at its first use: it has hundreds of megabytes and few convolutions need it. FFT
// plans have 64-bit sizes and a work area that the caller provides.

#include <cufftXt.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// The cuFFT functions in use, without their prefix.
struct CufftLibrary {
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetAutoAllocation) set_auto_allocation;
    decltype(&cufftMakePlanMany64) make_plan_many;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftSetWorkArea) set_work_area;
    decltype(&cufftXtExec) execute;
};

/// Returns the file names by which cuFFT is searched, in order: by the system's rules, in NVIDIA's
/// packages in the Python environment of the file `library`, and in the CUDA toolkit of the build.
std::vector<std::string> cufft_files(const std::filesystem::path& library);

/// Opens cuFFT; it stays open until the process ends. Throws Unavailable if it is missing.
const CufftLibrary& cufft_library();

/// Throws an exception unless `status` is a success: OutOfMemory (no device memory), DeviceFailure
/// (the device is lost or faulty) or InternalError. `what` says what was tried, e.g. "a cuFFT
/// plan".
void check(cufftResult status, const char* what);

class CufftPlan {
  public:
    /// Layout of a transform's input or output: extents in memory, and the distance between
    /// transforms.
    struct ArrayLayout {
        long long* extents;
        long long distance;
    };

    CufftPlan() = default;
    CufftPlan(int rank, long long* n, const ArrayLayout& from, const ArrayLayout& to,
              cufftType type, long long batch) {
        const CufftLibrary& cufft = cufft_library();
        check(cufft.create(&handle_), "a cuFFT plan");
        try {
            check(cufft.set_auto_allocation(handle_, 0), "a cuFFT plan");
            std::size_t bytes = 0;
            check(cufft.make_plan_many(handle_, rank, n, from.extents, 1, from.distance, to.extents,
                                       1, to.distance, type, batch, &bytes),
                  "a cuFFT plan");
            work_bytes_ = static_cast<index_t>(bytes);
        } catch (...) {
            static_cast<void>(cufft.destroy(handle_));
            throw;
        }
    }
    CufftPlan(CufftPlan&& other) noexcept
        : handle_(std::exchange(other.handle_, 0)),
          work_bytes_(std::exchange(other.work_bytes_, 0)) {}
    CufftPlan& operator=(CufftPlan&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(work_bytes_, other.work_bytes_);
        return *this;
    }
    ~CufftPlan() {
        if (handle_) static_cast<void>(cufft_library().destroy(handle_));
    }

    index_t work_bytes() const { return work_bytes_; }

    /// Enqueues the transforms. Not for concurrent threads: a cuFFT plan has one CUDA stream and
    /// one work area at a time.
    void execute(void* from, void* to, void* work, int direction, cudaStream_t stream) const {
        const CufftLibrary& cufft = cufft_library();
        check(cufft.set_stream(handle_, stream), "a transform by cuFFT");
        check(cufft.set_work_area(handle_, work), "a transform by cuFFT");
        check(cufft.execute(handle_, from, to, direction), "a transform by cuFFT");
    }

  private:
    cufftHandle handle_ = 0;
    index_t work_bytes_ = 0;
};

}  // namespace convolume::gpu
