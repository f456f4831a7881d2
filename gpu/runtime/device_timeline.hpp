// SPDX-License-Identifier: Apache-2.0
#pragma once
// Phases of work on a device, in the time of the host's timeline: pairs of events, read when the
// work has ended.

#include <deque>
#include <mutex>

#include "convolume/execution.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

class DeviceTimeline {
  public:
    /// `timeline` may be null: nothing is recorded then. Otherwise waits for `stream` once, to
    /// learn what the device's time is on the host's clock.
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
        Event begin(true), end(true);
        begin.record(stream);
        work();
        end.record(stream);
        const std::lock_guard lock(mutex_);
        spans_.push_back({phase, bytes, std::move(begin), std::move(end)});
    }

    /// Hands all phases to the timeline; everything enqueued must have ended.
    void finish() {
        if (!timeline_) return;
        for (const Span& span : spans_) {
            timeline_->record({span.phase, engine_, task_, start_s_ + seconds_to(span.begin),
                               start_s_ + seconds_to(span.end), span.bytes});
        }
        spans_.clear();
    }

  private:
    struct Span {
        Phase phase;
        index_t bytes;
        Event begin, end;
    };

    double seconds_to(const Event& event) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_, event), "reading an event's time");
        return milliseconds / 1e3;
    }

    Timeline* timeline_;
    int engine_;
    int task_;
    Event start_;
    double start_s_ = 0;
    std::mutex mutex_;
    std::deque<Span> spans_;
};

}  // namespace convolume::gpu
