// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams and events that end with their owner. Of the current device.

#include <cuda_runtime_api.h>

#include <mutex>
#include <optional>
#include <utility>

#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

class Stream {
  public:
    Stream() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    }
    ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

    void wait() const { check(cudaStreamSynchronize(stream_), "working on the GPU"); }

  private:
    cudaStream_t stream_ = nullptr;
};

class Event {
  public:
    explicit Event(bool timed = false) {
        check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
              "creating an event");
    }
    ~Event() {
        if (event_) static_cast<void>(cudaEventDestroy(event_));
    }
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    operator cudaEvent_t() const { return event_; }

    void record(cudaStream_t stream) const {
        check(cudaEventRecord(event_, stream), "recording an event");
    }
    /// Later work of `stream` waits for what was recorded (nothing yet: does not wait).
    void hold_back(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, event_, 0), "waiting for an event");
    }
    void wait() const { check(cudaEventSynchronize(event_), "working on the GPU"); }

  private:
    cudaEvent_t event_ = nullptr;
};

/// Keeps uses of one memory in order on the device, whatever streams and threads they come from.
class StreamOrder {
  public:
    /// Enqueues `work` on `stream`, after what was enqueued before.
    template <class Work>
    void run(cudaStream_t stream, const Work& work) {
        const std::lock_guard lock(mutex_);
        // Not the handle: that of cudaStreamPerThread is another stream in each thread, and one of
        // a stream that was destroyed may be given to a new one.
        unsigned long long id = 0;
        check(cudaStreamGetId(stream, &id), "asking for a stream's number");
        if (done_ && id != last_) done_->hold_back(stream);
        if (!done_) done_.emplace();
        last_ = id;
        try {
            work();
        } catch (...) {  // what it had enqueued until then is under way
            static_cast<void>(cudaEventRecord(*done_, stream));
            throw;
        }
        done_->record(stream);
    }

    /// Calls `work` while nobody enqueues. What was enqueued may still be under way.
    template <class Work>
    void between(const Work& work) {
        const std::lock_guard lock(mutex_);
        work();
    }

  private:
    std::mutex mutex_;
    std::optional<Event> done_;
    unsigned long long last_ = 0;
};

}  // namespace convolume::gpu
