// SPDX-License-Identifier: Apache-2.0
#include "convolume/execution.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "convolume/error.hpp"

namespace convolume {

void throw_if_stopped(const ExecutionContext& context) {
    if (context.stop.stop_requested())
        throw Cancelled("the convolution was stopped as requested; its output is incomplete");
}

namespace {

constexpr struct {
    Phase phase;
    const char* name;
} phase_names[] = {{Phase::start, "start"},
                   {Phase::open, "open"},
                   {Phase::plan, "plan"},
                   {Phase::prepare, "prepare"},
                   {Phase::read, "read"},
                   {Phase::pad, "pad"},
                   {Phase::decompose, "decompose"},
                   {Phase::allocate, "allocate"},
                   {Phase::host_to_device, "host_to_device"},
                   {Phase::convolve, "convolve"},
                   {Phase::device_to_host, "device_to_host"},
                   {Phase::compose, "compose"},
                   {Phase::write, "write"},
                   {Phase::commit, "commit"},
                   {Phase::other, "other"}};

}  // namespace

const char* to_string(Phase phase) {
    for (const auto& entry : phase_names)
        if (entry.phase == phase) return entry.name;
    throw InternalError("a phase outside its enumeration");
}

Timeline::Timeline(double started_s)
    : start_(std::chrono::steady_clock::now() -
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(started_s))) {
    if (started_s > 0) record({Phase::start, -1, -1, 0, started_s, 0});
}

double Timeline::now_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Timeline::record(const Event& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
}

void Timeline::name_engine(int engine, const std::string& name) {
    const std::lock_guard lock(mutex_);
    engine_names_[engine] = name;
}

std::vector<Timeline::Event> Timeline::events() const {
    std::vector<Event> sorted;
    {
        const std::lock_guard lock(mutex_);
        sorted = events_;
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Event& a, const Event& b) { return a.begin_s < b.begin_s; });
    return sorted;
}

double Timeline::total_s(Phase phase) const {
    const std::lock_guard lock(mutex_);
    double total = 0;
    for (const Event& event : events_)
        if (event.phase == phase) total += event.end_s - event.begin_s;
    return total;
}

template <class Visit>
void Timeline::for_each_covered(const Visit& visit) const {
    double begin = 0, end = 0;
    for (const Event& event : events()) {
        if (event.begin_s > end) {
            if (end > begin) visit(begin, end);
            begin = event.begin_s;
        }
        end = std::max(end, event.end_s);
    }
    if (end > begin) visit(begin, end);
}

double Timeline::covered_s() const {
    double covered = 0;
    for_each_covered([&](double begin, double end) { covered += end - begin; });
    return covered;
}

void Timeline::record_rest(Phase phase, double begin_s) {
    const double end_s = now_s();
    double at = begin_s;
    std::vector<Event> rest;
    for_each_covered([&](double begin, double end) {
        if (end <= at || begin >= end_s) return;
        if (begin > at) rest.push_back({phase, -1, -1, at, begin, 0});
        at = end;
    });
    if (at < end_s) rest.push_back({phase, -1, -1, at, end_s, 0});
    for (const Event& event : rest) record(event);
}

std::string Timeline::to_json() const {
    nlohmann::json events = nlohmann::json::array();
    for (const Event& event : this->events())
        events.push_back(
            {{"name", to_string(event.phase)},
             {"ph", "X"},
             {"ts", event.begin_s * 1e6},
             {"dur", (event.end_s - event.begin_s) * 1e6},
             {"pid", 0},
             {"tid", event.engine + 1},  // row 0 is the host
             {"args", {{"engine", event.engine}, {"task", event.task}, {"bytes", event.bytes}}}});
    const std::lock_guard lock(mutex_);
    for (const auto& [engine, name] : engine_names_)
        events.push_back({{"name", "thread_name"},
                          {"ph", "M"},
                          {"pid", 0},
                          {"tid", engine + 1},
                          {"args", {{"name", name}}}});
    return nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(1);
}

}  // namespace convolume
