// SPDX-License-Identifier: Apache-2.0
#pragma once
// Companions of an execution: progress callback, cancellation and timeline, which a caller passes
// in, and the report that it gets back.

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

/// Phase of an execution that a Timeline records.
enum class Phase {
    start,           ///< the program starts, before it makes its timeline
    open,            ///< inputs are opened, outputs created
    plan,            ///< plans are compared
    prepare,         ///< kernels are transformed, FFTs planned
    read,            ///< samples are read from files and searched for NaN
    pad,             ///< images are continued beyond their edges
    decompose,       ///< an image is split into the parts of Method::dif
    allocate,        ///< memory is allocated
    host_to_device,  ///< data are copied to a GPU
    convolve,        ///< an engine computes
    device_to_host,  ///< data are copied from a GPU
    compose,         ///< parts of Method::dif are merged
    write,           ///< samples are written to files
    commit,          ///< outputs are flushed to disk and get their final names
    other            ///< anything else, such as the drawing of a phantom
};
/// All phases, in the order of their enumeration.
inline constexpr Phase all_phases[] = {
    Phase::start,          Phase::open,     Phase::plan,           Phase::prepare,
    Phase::read,           Phase::pad,      Phase::decompose,      Phase::allocate,
    Phase::host_to_device, Phase::convolve, Phase::device_to_host, Phase::compose,
    Phase::write,          Phase::commit,   Phase::other};
/// Returns the phase's name, such as "convolve" or "host_to_device".
CONVOLUME_API const char* to_string(Phase);

/// Thread-safe recorder of the phases of an execution. Times are seconds since the timeline's
/// construction, or since the start that its constructor was given.
/// @code{.cpp}
/// Timeline timeline;
/// ExecutionContext context;
/// context.timeline = &timeline;
/// Volume image({16, 32, 32}, PixelType::float32), blurred(image.shape(), PixelType::float32);
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// kernel.elements<float>()[13] = 1;
/// Convolver(image.shape(), kernel.view()).execute(image.view(), blurred.view(), context);
/// std::cout << timeline.total_s(Phase::convolve) << " s\n" << timeline.to_json();
/// @endcode
class CONVOLUME_API Timeline {
  public:
    /// One phase of one engine, from its begin to its end.
    struct Event {
        Phase phase;
        int engine;  ///< index of the engine; -1 is the host
        int task;    ///< index of the part or tile; -1 if there is none
        double begin_s;
        double end_s;
        index_t bytes;  ///< bytes moved; 0 if it is not a transfer
    };

    Timeline() = default;
    /// Records a phase `start` that took `started_s` seconds before now, if that is not 0. Times
    /// then count from the begin of that phase.
    explicit Timeline(double started_s);

    /// Returns the seconds since the start.
    double now_s() const;
    void record(const Event& event);
    /// Sets the name of an engine's rows in to_json(), such as "gpu:0".
    void name_engine(int engine, const std::string& name);
    std::vector<Event> events() const;  ///< all events, ordered by begin
    /// Returns the seconds spent in `phase`, summed over engines.
    double total_s(Phase phase) const;
    /// Returns the seconds in which at least one phase was recorded. The totals of all phases add
    /// up to more if phases ran side by side.
    double covered_s() const;
    /// Records `phase` for every stretch from `begin_s` to now in which nothing else is recorded.
    void record_rest(Phase phase, double begin_s);
    /// Returns the events in Chrome's trace format ("traceEvents"), which Perfetto and
    /// chrome://tracing open.
    std::string to_json() const;

  private:
    /// Calls `visit(begin, end)` for every stretch of time in which an event was recorded.
    template <class Visit>
    void for_each_covered(const Visit& visit) const;

    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::map<int, std::string> engine_names_;
};

/// Records a phase that lasts from its construction to its destruction. `timeline` may be null.
/// @code{.cpp}
/// Timeline timeline;
/// {
///     const PhaseTimer timer(&timeline, Phase::read);
///     // read something
/// }
/// assert(timeline.events().size() == 1);
/// @endcode
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
            // The event is dropped. The error with the same cause reaches the caller.
        }
    }
    PhaseTimer(const PhaseTimer&) = delete;
    PhaseTimer& operator=(const PhaseTimer&) = delete;

  private:
    Timeline* timeline_;
    Timeline::Event event_;
};

/// Progress callback, cancellation and timeline of one execution.
/// @code{.cpp}
/// std::stop_source stop;
/// ExecutionContext context;
/// context.progress = [](double done) { std::cout << 100 * done << " %\n"; };
/// context.stop = stop.get_token();  // stop.request_stop() ends the execution
/// PsfOptions options;
/// options.size = {9, 9, 9};
/// const Psf psf = make_psf(options, context);
/// @endcode
struct ExecutionContext {
    Timeline* timeline = nullptr;  ///< records phases, if not null
    /// Is called with the fraction done, from any thread, one call at a time.
    std::function<void(double)> progress;
    /// When a stop is requested, the execution throws Cancelled soon after. Its outputs are then
    /// undefined.
    std::stop_token stop;
};

/// Throws Cancelled if a stop was requested.
CONVOLUME_API void throw_if_stopped(const ExecutionContext& context);

/// Cancels calls that take no ExecutionContext, such as the constructors of Convolver, FilterBank
/// and Deconvolver. While the scope exists, calls of this thread into the library throw Cancelled
/// soon after a stop was requested. Scopes may be nested: a request to any of them cancels.
/// @code{.cpp}
/// Volume kernel({3, 3, 3}, PixelType::float32);
/// kernel.elements<float>()[13] = 1;
/// std::stop_source stop;
/// stop.request_stop();
/// try {
///     const StopScope scope(stop.get_token());
///     const Convolver blur({64, 256, 256}, kernel.view());
/// } catch (const Cancelled&) {
/// }
/// @endcode
class CONVOLUME_API StopScope {
  public:
    explicit StopScope(std::stop_token stop);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    /// Returns whether a stop was requested of this scope or of one around it.
    bool stop_requested() const noexcept;

  private:
    friend class StopCallbacks;
    std::stop_token stop_;
    const StopScope* outer_;
};

/// Figures about one finished execution.
struct ExecutionReport {
    double seconds = 0;
    index_t clamped_low = 0;   ///< outputs below the integer type's range; NaN counts here
    index_t clamped_high = 0;  ///< outputs above the integer type's range
    /// Inputs that are NaN or infinite: read as 0 (NanPolicy::zero), or left out (missing).
    index_t nonfinite_inputs = 0;
};

}  // namespace convolume
