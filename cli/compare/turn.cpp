// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/turn.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "cli/compare/memory_probe.hpp"
#include "cli/run/progress.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

/// Requests a stop when the caller's is requested, or when the time is over.
class Deadline {
  public:
    Deadline(double seconds, const std::stop_token& stop)
        : passed_on_(stop, [this] { source_.request_stop(); }),
          clock_([this, seconds](const std::stop_token& ended) {
              std::unique_lock lock(mutex_);
              // Ends early with the destructor of the thread.
              if (!over_.wait_for(lock, ended, std::chrono::duration<double>(seconds),
                                  [&ended] { return ended.stop_requested(); }))
                  if (!ended.stop_requested()) source_.request_stop();
          }) {}

    std::stop_token stop() const { return source_.get_token(); }

  private:
    std::stop_source source_;
    std::stop_callback<std::function<void()>> passed_on_;
    std::mutex mutex_;
    std::condition_variable_any over_;
    std::jthread clock_;
};

double execute(const PlannedWay& planned, Volume& result, Timeline* timeline, double limit_s,
               const std::stop_token& stop) {
    const Deadline deadline(limit_s, stop);
    ExecutionContext context;
    context.timeline = timeline;
    context.stop = deadline.stop();
    const double begin_s = steady_clock_s();
    try {
        planned.execute(result.view(), context);
        throw_if_stopped(context);
    } catch (const Cancelled&) {
        if (stop.stop_requested()) throw;
        throw WayLeftOut(message("an execution took longer than --time-limit ",
                                 format_number(limit_s), " and was stopped"));
    }
    return steady_clock_s() - begin_s;
}

void read_timeline(const Timeline& timeline, Turn& turn, Traffic& traffic) {
    traffic.to_gpu_bytes = 0;
    traffic.from_gpu_bytes = 0;
    for (const Timeline::Event& event : timeline.events()) {
        if (event.phase == Phase::host_to_device) traffic.to_gpu_bytes += event.bytes;
        if (event.phase == Phase::device_to_host) traffic.from_gpu_bytes += event.bytes;
        const std::string name = to_string(event.phase);
        const auto place = std::find_if(turn.phases.begin(), turn.phases.end(),
                                        [&name](const auto& phase) { return phase.first == name; });
        if (place == turn.phases.end())
            turn.phases.emplace_back(name, event.end_s - event.begin_s);
        else
            place->second += event.end_s - event.begin_s;
    }
}

Volume measure(const Subject& subject, Measurement& measurement, const TurnLimits& limits,
               const GpuLinks& links, const std::stop_token& stop) {
    const std::vector<int> gpus = gpus_of(engines_of(measurement.way));
    const MemoryProbe probe(gpus);
    Turn turn;
    const double begin_s = steady_clock_s();
    const auto planned = subject.plan(measurement.way, limits.host_bytes);
    turn.plan_s = steady_clock_s() - begin_s;
    const double predicted_s = planned->predicted_s();
    if (predicted_s > limits.time_limit_s)
        throw WayLeftOut(message("it is predicted to take ", format_duration(predicted_s),
                                 ", longer than --time-limit ",
                                 format_number(limits.time_limit_s)));
    Volume result = planned->make_result();
    turn.first_s = execute(*planned, result, nullptr, limits.time_limit_s, stop);
    const std::optional<index_t> held_gpu = probe.held_gpu_bytes();
    Timeline timeline;
    turn.seconds = execute(*planned, result, &timeline, limits.time_limit_s, stop);

    read_timeline(timeline, turn, measurement.traffic);
    measurement.traffic.least_s = least_transfer_s(measurement.traffic, gpus, links);
    // Of the plan in the end: a GPU that ran out of memory has made another.
    measurement.plan = planned->plan();
    measurement.predicted_s = planned->predicted_s();
    MemoryFigures& memory = measurement.memory;
    const MemoryFigures declared = planned->declared();
    memory.declared_host = declared.declared_host;
    memory.declared_gpu = declared.declared_gpu;
    const index_t input = subject.input_bytes();
    memory.counted_host = std::max(memory.counted_host, input + probe.counted_bytes());
    if (const auto resident = probe.resident_bytes())
        memory.resident_host = std::max(memory.resident_host.value_or(0), input + *resident);
    if (held_gpu) memory.held_gpu = std::max(memory.held_gpu.value_or(0), *held_gpu);
    measurement.turns.push_back(std::move(turn));
    return result;
}

}  // namespace

Volume take_turn(const Subject& subject, Measurement& measurement, const TurnLimits& limits,
                 const GpuLinks& links, const std::stop_token& stop) {
    try {
        return measure(subject, measurement, limits, links, stop);
    } catch (const InvalidArgument& error) {
        throw WayLeftOut(error.what());
    } catch (const Unavailable& error) {
        throw WayLeftOut(error.what());
    } catch (const OutOfMemory& error) {
        throw WayLeftOut(error.what());
    } catch (const std::bad_alloc&) {
        throw WayLeftOut("the system refused memory");
    }
}

}  // namespace convolume::cli
