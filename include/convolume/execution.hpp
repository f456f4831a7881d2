// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a caller may pass along with an execution (progress, cancellation, a timeline), and what it
// learns from it.

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <vector>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

enum class Phase {
    start,  ///< of the program, before its timeline
    open,   ///< inputs are opened, outputs created
    plan,
    prepare,  ///< kernels are transformed, FFTs planned
    read,     ///< from files; samples are looked through for NaN
    pad,
    decompose,
    allocate,
    host_to_device,
    convolve,
    device_to_host,
    compose,
    write,
    commit  ///< outputs are brought to disk and named
};
inline constexpr Phase all_phases[] = {
    Phase::start,          Phase::open,     Phase::plan,           Phase::prepare,
    Phase::read,           Phase::pad,      Phase::decompose,      Phase::allocate,
    Phase::host_to_device, Phase::convolve, Phase::device_to_host, Phase::compose,
    Phase::write,          Phase::commit};
CONVOLUME_API const char* to_string(Phase);

/// Thread-safe recorder. Times are seconds since the timeline's construction, or since what came
/// before it.
class CONVOLUME_API Timeline {
  public:
    struct Event {
        Phase phase;
        int engine;  ///< index of the engine; -1 is the host
        int task;    ///< index of the part or tile; -1 where there is none
        double begin_s;
        double end_s;
        index_t bytes;  ///< bytes moved, 0 where it is no transfer
    };

    Timeline() = default;
    /// Begins with a phase `start` of that length, which is over; 0: without.
    explicit Timeline(double started_s);

    double now_s() const;
    void record(const Event& event);
    /// What rows of that engine are called, such as "gpu:0".
    void name_engine(int engine, const std::string& name);
    std::vector<Event> events() const;  ///< ordered by begin
    /// Seconds spent in `phase`, summed over engines.
    double total_s(Phase phase) const;
    /// Seconds in which anything was recorded. The totals of all phases are more where phases ran
    /// side by side.
    double covered_s() const;
    /// Records `phase` for what nothing else was recorded of the time from `begin_s` to now.
    void record_rest(Phase phase, double begin_s);
    /// Chrome trace format ("traceEvents"): opens in Perfetto and chrome://tracing.
    std::string to_json() const;

  private:
    /// Calls `visit(begin, end)` for every stretch in which something was recorded.
    template <class Visit>
    void for_each_covered(const Visit& visit) const;

    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::map<int, std::string> engine_names_;
};

/// Records the span of its own life. `timeline` may be null.
class CONVOLUME_API PhaseTimer {
  public:
    PhaseTimer(Timeline* timeline, Phase phase, int engine = -1, int task = -1, index_t bytes = 0)
        : timeline_(timeline), event_{phase, engine, task, timeline ? timeline->now_s() : 0,
                                      0,     bytes} {}
    ~PhaseTimer() {
        if (!timeline_) return;
        event_.end_s = timeline_->now_s();
        try {
            timeline_->record(event_);
        } catch (const std::bad_alloc&) {
            // An event less; what failed for the same reason is on its way to the caller.
        }
    }
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;

  private:
    Timeline* timeline_;
    Timeline::Event event_;
};

/// Passed by reference to every stage of one execution.
struct ExecutionContext {
    Timeline* timeline = nullptr;
    /// Called with the fraction done, from any thread, one call at a time.
    std::function<void(double)> progress;
    /// When a stop is requested the execution throws Cancelled soon after; outputs are then
    /// undefined.
    std::stop_token stop;
};

/// Throws Cancelled when a stop was requested.
CONVOLUME_API void throw_if_stopped(const ExecutionContext& context);

/// Stops what is given no ExecutionContext, such as the constructors of Convolver, FilterBank and
/// Deconvolver: while it lives, whatever this thread asks of the library throws Cancelled soon
/// after a stop was requested. Scopes may be nested: each of them stops.
class CONVOLUME_API StopScope {
  public:
    explicit StopScope(std::stop_token stop);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    /// Whether a stop was requested in it or in those around it.
    bool stop_requested() const noexcept;

  private:
    friend class StopCallbacks;
    std::stop_token stop_;
    const StopScope* outer_;
};

/// Facts about one finished execution.
struct ExecutionReport {
    double seconds = 0;
    index_t clamped_low = 0;       ///< outputs below the integer type's range (NaN counts here)
    index_t clamped_high = 0;      ///< outputs above it
    index_t nonfinite_inputs = 0;  ///< NaN and infinities read as 0 (NanPolicy::zero)
};

}  // namespace convolume
