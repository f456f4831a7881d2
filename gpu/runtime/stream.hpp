// SPDX-License-Identifier: Apache-2.0
#pragma once
// Owners of CUDA streams and CUDA events on the current device, and the set of them that one task
// uses.

#include <cuda_runtime_api.h>

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

enum class StreamPriority { usual, highest };

class CudaStream {
  public:
    CudaStream() : CudaStream(StreamPriority::usual) {}
    explicit CudaStream(StreamPriority priority) {
        int least = 0, greatest = 0;
        if (priority == StreamPriority::highest)
            check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "creating a stream");
        check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
              "creating a stream");
    }
    ~CudaStream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;
    operator cudaStream_t() const { return stream_; }

    void wait() const { check(cudaStreamSynchronize(stream_), "working on the GPU"); }

  private:
    cudaStream_t stream_ = nullptr;
};

class CudaEvent {
  public:
    explicit CudaEvent(bool timed = false) {
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
              "creating an event");
        event_.reset(event);
    }
    operator cudaEvent_t() const { return event_.get(); }

    void record(cudaStream_t stream) const {
        check(cudaEventRecord(*this, stream), "recording an event");
    }
    /// Makes later work of `stream` wait for the recorded point (no wait if nothing is recorded).
    void make_wait(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, *this, 0), "waiting for an event");
    }
    void wait() const { check(cudaEventSynchronize(*this), "working on the GPU"); }

  private:
    struct EventDeleter {
        void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
    };
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EventDeleter> event_;
};

/// Keeps uses of shared memory in order on the device, across CUDA streams and host threads.
class StreamOrder {
  public:
    /// Enqueues `work` on `stream`, after all earlier work.
    template <class Work>
    void run(cudaStream_t stream, const Work& work) {
        const std::lock_guard lock(mutex_);
        // The number of the CUDA stream, not its handle: cudaStreamPerThread is another CUDA stream
        // in each thread, and a new one may have the handle of a destroyed one.
        unsigned long long id = 0;
        check(cudaStreamGetId(stream, &id), "asking for a stream's number");
        if (last_use_ && id != last_stream_id_) last_use_->make_wait(stream);
        if (!last_use_) last_use_.emplace();
        last_stream_id_ = id;
        try {
            work();
        } catch (...) {  // the work enqueued before the exception is running
            static_cast<void>(cudaEventRecord(*last_use_, stream));
            throw;
        }
        last_use_->record(stream);
    }

    /// Calls `work` while no work is being enqueued. Earlier work may still be running.
    template <class Work>
    void after_last_use(const Work& work) {
        const std::lock_guard lock(mutex_);
        work();
    }

  private:
    std::mutex mutex_;
    std::optional<CudaEvent> last_use_;
    unsigned long long last_stream_id_ = 0;
};

struct DeviceStreams {
    CudaStream upload, compute, download;
};

/// The CUDA streams and events with which one task works on a device.
struct TaskStreams : DeviceStreams {
    /// Events of a transfer buffer: it was filled, and it may be filled again.
    struct TransferBufferEvents {
        CudaEvent full, free;
    };
    std::array<TransferBufferEvents, 3> source, target;
};

/// A pool of task streams. Thread-safe.
class TaskStreamsPool {
  public:
    /// Returns borrowed CUDA streams to their pool.
    struct StreamsReturner {
        TaskStreamsPool* pool;
        void operator()(TaskStreams* streams) const { pool->put_back(streams); }
    };
    using BorrowedStreams = std::unique_ptr<TaskStreams, StreamsReturner>;

    /// Returns the pool of a device, which all its engines share. It is never destroyed, because
    /// CUDA may end before.
    static TaskStreamsPool& of_device(int device) {
        static std::mutex mutex;
        static auto& pools = *new std::map<int, TaskStreamsPool>;
        const std::lock_guard lock(mutex);
        return pools[device];
    }

    /// Returns task streams of the current device, which must always be the same.
    BorrowedStreams take() {
        const std::lock_guard lock(mutex_);
        if (idle_streams_.empty()) return BorrowedStreams(new TaskStreams, {this});
        TaskStreams* const streams = idle_streams_.back().release();
        idle_streams_.pop_back();
        return BorrowedStreams(streams, {this});
    }

  private:
    void put_back(TaskStreams* streams) {
        const std::lock_guard lock(mutex_);
        idle_streams_.emplace_back(streams);
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<TaskStreams>> idle_streams_;
};

/// Waits for CUDA streams at the end of its scope, even after an exception. Then the memory that
/// their work uses can be reused.
class WaitAtEnd {
  public:
    /// Null CUDA streams are ignored.
    WaitAtEnd(std::initializer_list<cudaStream_t> streams) : streams_(streams) {}
    explicit WaitAtEnd(const DeviceStreams& streams)
        : WaitAtEnd{streams.upload, streams.compute, streams.download} {}
    ~WaitAtEnd() {
        for (cudaStream_t stream : streams_)
            if (stream)
                // failures were reported before
                static_cast<void>(cudaStreamSynchronize(stream));
    }
    WaitAtEnd(const WaitAtEnd&) = delete;
    WaitAtEnd& operator=(const WaitAtEnd&) = delete;

  private:
    std::vector<cudaStream_t> streams_;
};

}  // namespace convolume::gpu
