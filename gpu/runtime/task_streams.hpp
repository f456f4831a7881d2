// SPDX-License-Identifier: Apache-2.0
#pragma once
// The streams and events with which one task works on a device.

#include <array>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

struct TaskStreams {
    Stream up, compute, down;
    /// Of every transfer buffer: it was filled, it may be filled again.
    struct TransferBuffer {
        Event full, free;
    };
    std::array<TransferBuffer, 3> source, target;
};

/// Streams kept from task to task. Thread-safe.
class TaskStreamsPool {
  public:
    /// Streams on loan; give themselves back.
    struct GiveBack {
        TaskStreamsPool* pool;
        void operator()(TaskStreams* streams) const { pool->give_back(streams); }
    };
    using Lease = std::unique_ptr<TaskStreams, GiveBack>;

    /// Of the current device, which is always the same.
    Lease take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return Lease(new TaskStreams, {this});
        TaskStreams* const streams = idle_.back().release();
        idle_.pop_back();
        return Lease(streams, {this});
    }

  private:
    void give_back(TaskStreams* streams) {
        const std::lock_guard lock(mutex_);
        idle_.emplace_back(streams);
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<TaskStreams>> idle_;
};

/// Waits, at the end of its scope, for what streams were given, whatever happened meanwhile: the
/// memory they work on may be used again then.
class WaitAtEnd {
  public:
    /// Null streams are left out.
    WaitAtEnd(std::initializer_list<cudaStream_t> streams) : streams_(streams) {}
    explicit WaitAtEnd(const TaskStreams& streams)
        : WaitAtEnd{streams.up, streams.compute, streams.down} {}
    ~WaitAtEnd() {
        for (cudaStream_t stream : streams_)
            if (stream)
                static_cast<void>(cudaStreamSynchronize(stream));  // failures were met before
    }
    WaitAtEnd(const WaitAtEnd&) = delete;
    WaitAtEnd& operator=(const WaitAtEnd&) = delete;

  private:
    std::vector<cudaStream_t> streams_;
};

}  // namespace convolume::gpu
