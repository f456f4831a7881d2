// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transfers of images between host and device. The device accesses page-locked memory directly.
// Ordinary memory passes through staging buffers, which host threads copy while transfers run.

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_view.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

/// Phases of work on a device, converted to the host's timeline. Each phase is a pair of CUDA
/// events, which are read when the work has ended.
class DeviceTimeline {
  public:
    /// If `timeline` is null, nothing is recorded. Otherwise waits for `stream` once, to relate the
    /// device's clock to the host's.
    DeviceTimeline(Timeline* timeline, int engine, int task, cudaStream_t stream)
        : timeline_(timeline), engine_(engine), task_(task), start_(timeline != nullptr) {
        if (!timeline_) return;
        start_.record(stream);
        start_.wait();
        start_s_ = timeline_->now_s();
    }

    /// Records what `work()` enqueues on `stream` as one phase.
    template <class Work>
    void phase(Phase phase, cudaStream_t stream, index_t bytes, const Work& work) {
        if (!timeline_) {
            work();
            return;
        }
        CudaEvent begin(true), end(true);
        begin.record(stream);
        work();
        end.record(stream);
        const std::lock_guard lock(mutex_);
        spans_.push_back({phase, bytes, std::move(begin), std::move(end)});
    }

    /// Adds all phases to the timeline; everything enqueued must have ended.
    void finish() {
        if (!timeline_) return;
        for (const PhaseEvents& span : spans_) {
            timeline_->record({span.phase, engine_, task_, start_s_ + seconds_until(span.begin),
                               start_s_ + seconds_until(span.end), span.bytes});
        }
        spans_.clear();
    }

  private:
    struct PhaseEvents {
        Phase phase;
        index_t bytes;
        CudaEvent begin, end;
    };

    double seconds_until(const CudaEvent& event) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_, event), "reading an event's time");
        return milliseconds / 1e3;
    }

    Timeline* timeline_;
    int engine_;
    int task_;
    CudaEvent start_;
    double start_s_ = 0;
    std::mutex mutex_;
    std::deque<PhaseEvents> spans_;
};

enum class BusDirection { to_device, to_host };

/// Arbitrates transfers between host and devices. lock_link() covers all transfers of a task in one
/// direction, and lock_bus() covers one transfer. The policy decides which of the two locks.
class BusGate {
  public:
    using Lock = std::unique_lock<std::mutex>;

    /// `policy` must not be automatic.
    explicit BusGate(TransferGate policy) : policy_(policy) {}

    TransferGate policy() const { return policy_; }

    /// With the policy `per_link`, locks the device's link in one direction for a whole task. The
    /// task's transfers must have ended when the lock is released.
    Lock lock_link(int device, BusDirection direction);
    /// With the policy `global`, locks the one bus. The transfer must have ended when the lock is
    /// released.
    Lock lock_bus();

  private:
    TransferGate policy_;
    std::mutex bus_;
    std::mutex links_mutex_;
    std::map<int, std::array<std::mutex, 2>> links_;
};

/// Copy `count` samples of a view in C order, from number `first` on, to or from contiguous memory.
void copy_from_view(const ConstImageView& view, index_t first, index_t count, char* target,
                    int threads);
void copy_to_view(const char* source, index_t first, index_t count, const ImageView& view,
                  int threads);

/// Functions that read or write a box of an image that is not in memory.
using BoxReader = std::function<void(const Box3&, const ImageView&)>;
using BoxWriter = std::function<void(const Box3&, const ConstImageView&)>;

/// Resources that the transfers of one task share.
struct TransferContext {
    int device = 0;
    int host_threads = 1;
    BusGate* gate = nullptr;
    StagingPool* staging = nullptr;  ///< staging buffers of this direction
    DeviceTimeline* timeline = nullptr;
};

/// Copies views to the device, in order, on its CUDA stream.
class Uploader {
  public:
    Uploader(const TransferContext& context, cudaStream_t stream)
        : context_(context), stream_(stream) {}
    ~Uploader();

    /// Copies the samples of `source` to contiguous memory at `target`. Returns when `source` was
    /// read, or when the device is going to read it directly.
    void upload(const ConstImageView& source, char* target);
    /// Copies the samples in `box`, read into staging buffers, to `target`. Returns when they were
    /// read.
    void upload(const BoxReader& read, const Box3& box, PixelType type, char* target);
    /// Returns the staging buffers to the pool when their transfers have ended.
    void finish() { reclaim(0); }

  private:
    void upload_staged(const ConstImageView& source, char* target);
    /// Copies to `target` the `bytes` that `fill(buffer)` writes to a staging buffer.
    template <class Fill>
    void upload_filled(index_t bytes, char* target, const Fill& fill);
    void reclaim(std::size_t keep);

    struct PendingUpload {
        StagingPool::StagingBuffer buffer;
        CudaEvent copied;
    };
    TransferContext context_;
    cudaStream_t stream_;
    std::deque<PendingUpload> in_flight_;
};

/// Copies from the device into views, in order. Threads of this object empty the staging buffers:
/// one for ordinary memory, several for images that are not in memory.
class Downloader {
  public:
    Downloader(const TransferContext& context, cudaStream_t stream)
        : context_(context), stream_(stream) {}
    ~Downloader();

    /// Copies the contiguous samples at `source` into `target`, on the CUDA stream.
    void download(const char* source, const ImageView& target);
    /// Passes the contiguous samples at `source`, which are those in `box`, to `write`, which must
    /// outlive this object.
    void download(const char* source, const BoxWriter& write, const Box3& box, PixelType type);
    /// Returns when all targets are written. Throws the first error of any transfer.
    void finish();

  private:
    void download_staged(const char* source, const ImageView& target);
    /// Copies `bytes` to a staging buffer. Then a thread of this object calls `deliver(buffer)`,
    /// which consumes them.
    void stage(const char* source, index_t bytes, std::function<void(const char*)> deliver);
    void start_drainers(int count);
    void drain();

    struct PendingDownload {
        StagingPool::StagingBuffer buffer;
        CudaEvent copied;
        std::function<void(const char*)> deliver;
    };
    TransferContext context_;
    cudaStream_t stream_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<PendingDownload> in_flight_;
    bool is_ending_ = false;
    std::exception_ptr error_;
    std::vector<std::jthread> drainers_;
};

}  // namespace convolume::gpu
