#pragma once
// What happened when: the phases of an execution, per engine.

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume {

enum class Phase {
    read,
    pad,
    decompose,
    allocate,
    host_to_device,
    convolve,
    device_to_host,
    compose,
    write
};
const char* to_string(Phase);

/// Thread-safe recorder. Times are seconds since the timeline's construction.
class Timeline {
  public:
    struct Event {
        Phase phase;
        int engine;  ///< index of the engine; -1 is the host
        int task;    ///< index of the part or tile; -1 where there is none
        double begin_s;
        double end_s;
        index_t bytes;  ///< bytes moved, 0 where it is no transfer
    };

    double now_s() const;
    void record(const Event& event);
    /// What rows of that engine are called, such as "gpu:0".
    void name_engine(int engine, const std::string& name);
    std::vector<Event> events() const;  ///< ordered by begin
    /// Seconds spent in `phase`, summed over engines.
    double total_s(Phase phase) const;
    /// Chrome trace format ("traceEvents"): opens in Perfetto and chrome://tracing.
    std::string to_json() const;

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::map<int, std::string> engine_names_;
};

/// Records the span of its own life. `timeline` may be null.
class PhaseTimer {
  public:
    PhaseTimer(Timeline* timeline, Phase phase, int engine = -1, int task = -1, index_t bytes = 0)
        : timeline_(timeline), event_{phase, engine, task, timeline ? timeline->now_s() : 0,
                                      0,     bytes} {}
    ~PhaseTimer() {
        if (!timeline_) return;
        event_.end_s = timeline_->now_s();
        timeline_->record(event_);
    }
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;

  private:
    Timeline* timeline_;
    Timeline::Event event_;
};

}  // namespace convolume
