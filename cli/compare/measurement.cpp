// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/measurement.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/run/progress.hpp"
#include "cli/run/report.hpp"
#include "cli/text/quantity.hpp"
#include "core/order_statistics.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Resets VmHWM to the memory that is resident now. Returns true if the system did so.
bool reset_resident_peak() {
    std::ofstream clear_refs("/proc/self/clear_refs");
    clear_refs << "5" << std::flush;
    return clear_refs.good();
}

std::vector<index_t> free_bytes(const std::vector<int>& gpus) {
    std::vector<index_t> bytes;
    if (gpus.empty()) return bytes;
    for (const GpuDevice& device : gpu_devices())
        if (std::find(gpus.begin(), gpus.end(), device.number) != gpus.end())
            bytes.push_back(device.free_bytes);
    return bytes;
}

/// Measures the memory that is allocated after its construction. Only one may live at a time.
class MemoryProbe {
  public:
    /// `gpus` are the GPUs whose memory is measured.
    explicit MemoryProbe(const std::vector<int>& gpus) : gpus_(gpus), gpu_free_(free_bytes(gpus)) {
        reset_memory_peak();
        counted_before_ = memory_use().current_bytes;
        if (reset_resident_peak()) resident_before_ = process_status_bytes("VmRSS:");
    }

    /// Returns the peak of the bytes in buffers (convolume::Buffer) beyond those at construction.
    index_t counted_bytes() const { return memory_use().peak_bytes - counted_before_; }

    /// Returns the peak of resident bytes beyond those at construction; nothing if the system
    /// cannot reset its counter (VmHWM and /proc/self/clear_refs of Linux).
    std::optional<index_t> resident_bytes() const {
        const auto peak = process_status_bytes("VmHWM:");
        if (!resident_before_ || !peak) return std::nullopt;
        return std::max<index_t>(0, *peak - *resident_before_);
    }

    /// Returns the drop in free GPU memory since construction, maximum over GPUs; nothing without
    /// GPUs. Memory of other programs counts too.
    std::optional<index_t> held_gpu_bytes() const {
        std::optional<index_t> most;
        const std::vector<index_t> now = free_bytes(gpus_);
        for (std::size_t i = 0; i < std::min(now.size(), gpu_free_.size()); ++i)
            most = std::max(most.value_or(0), gpu_free_[i] - now[i]);
        return most;
    }

  private:
    const std::vector<int>& gpus_;
    std::vector<index_t> gpu_free_;
    index_t counted_before_;
    std::optional<index_t> resident_before_;
};

/// Requests a stop when the caller requests one, or when the time is over.
class Deadline {
  public:
    Deadline(double seconds, const std::stop_token& stop)
        : passed_on_(stop, [this] { source_.request_stop(); }),
          clock_([this, seconds](const std::stop_token& ended) {
              std::unique_lock lock(mutex_);
              // The destructor of the thread ends this wait early.
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

/// Executes a plan, and returns the seconds that it takes.
double execute(const PlannedWay& planned, const ImageView& result, Timeline* timeline,
               double limit_s, const std::stop_token& stop) {
    const Deadline deadline(limit_s, stop);
    ExecutionContext context;
    context.timeline = timeline;
    context.stop = deadline.stop();
    const double begin_s = steady_clock_s();
    try {
        planned.execute(result, context);
        throw_if_stopped(context);
    } catch (const Cancelled&) {
        if (stop.stop_requested()) throw;
        throw TimeLimitExceeded(message("an execution took longer than --time-limit ",
                                        format_number(limit_s), " and was stopped"));
    }
    return steady_clock_s() - begin_s;
}

/// Returns the seconds of each phase, summed over parallel work.
Json phases_json(const Timeline& timeline) {
    Json phases = Json::object();
    for (const Timeline::Event& event : timeline.events()) {
        const char* const name = to_string(event.phase);
        phases[name] = phases.value(name, 0.0) + event.end_s - event.begin_s;
    }
    return phases;
}

/// Returns the least time for each of `gpus` to transfer its share; null if a link is unknown.
Json least_transfer_s(index_t to_bytes, index_t from_bytes, const std::vector<int>& gpus,
                      const Json& machine) {
    double to_rate = 0, from_rate = 0, both_rate = 0;
    std::size_t known = 0;
    const Json devices = machine.value("cuda", Json::object()).value("devices", Json::array());
    for (const Json& device : devices) {
        if (std::find(gpus.begin(), gpus.end(), device.at("number")) == gpus.end() ||
            !device.contains("bytes_per_s"))
            continue;
        const Json& rates = device.at("bytes_per_s");
        to_rate += rates.at("host_to_device").get<double>();
        from_rate += rates.at("device_to_host").get<double>();
        both_rate += rates.at("both").get<double>();
        ++known;
    }
    const auto to = static_cast<double>(to_bytes), from = static_cast<double>(from_bytes);
    if (known < gpus.size() || to + from == 0 || !(to_rate > 0 && from_rate > 0 && both_rate > 0))
        return nullptr;
    return std::max({to / to_rate, from / from_rate, (to + from) / both_rate});
}

Json traffic_json(const Timeline& timeline, const std::vector<int>& gpus, const Json& machine) {
    index_t to = 0, from = 0;
    for (const Timeline::Event& event : timeline.events()) {
        if (event.phase == Phase::host_to_device) to += event.bytes;
        if (event.phase == Phase::device_to_host) from += event.bytes;
    }
    return {{"to_gpu_bytes", to},
            {"from_gpu_bytes", from},
            {"least_s", least_transfer_s(to, from, gpus, machine)}};
}

/// Returns the larger one of two figures of which each may be unknown.
Json larger(const Json& known, const std::optional<index_t>& measured) {
    if (known.is_null() || !measured) return known.is_null() ? or_null(measured) : known;
    return std::max(known.get<index_t>(), *measured);
}

}  // namespace

std::vector<int> gpus_of(const EngineChoice& engines) {
    if (engines.device == EngineChoice::Device::cpu || !gpu_unavailable().empty()) return {};
    if (!engines.gpus.empty()) return engines.gpus;
    std::vector<int> numbers;
    for (const GpuDevice& device : gpu_devices())
        if (device.usable) numbers.push_back(device.number);
    return numbers;
}

Json unmeasured(const Way& way) {
    Json figures = to_json(way);
    // Their order is that of the file.
    for (const char* name : {"plan", "finished", "median_s", "spread", "per_s", "predicted_s",
                             "plan_s", "first_s", "phases_s", "memory_bytes", "traffic", "errors"})
        figures[name] = nullptr;
    figures["memory_bytes"] = {{"host_declared", 0},
                               {"host_counted", nullptr},
                               {"host_resident", nullptr},
                               {"gpu_declared", 0},
                               {"gpu_held", nullptr}};
    figures["turns"] = Json::array();
    return figures;
}

void summarize(Json& figures, index_t work, int repeats) {
    const Json& turns = figures.at("turns");
    const auto median_of = [&turns](const auto& value_of) {
        std::vector<double> values;
        for (const Json& turn : turns) values.push_back(value_of(turn));
        return median(values);
    };
    std::vector<double> seconds;
    for (const Json& turn : turns) seconds.push_back(turn.at("seconds"));
    const double middle = median(seconds);
    double spread = 0;
    if (middle > 0) {
        const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
        spread = (*slowest - *fastest) / middle;
    }
    figures["finished"] = turns.size() >= static_cast<std::size_t>(repeats);
    figures["median_s"] = middle;
    figures["spread"] = spread;
    figures["per_s"] = middle > 0 ? Json(static_cast<double>(work) / middle) : Json();
    for (const char* name : {"plan_s", "first_s"})
        figures[name] = median_of([name](const Json& turn) { return turn.at(name).get<double>(); });
    figures["phases_s"] = Json::object();
    if (turns.empty()) return;
    for (const auto& [phase, unused] : turns.front().at("phases").items())
        figures["phases_s"][phase] = median_of(
            [&phase = phase](const Json& turn) { return turn.at("phases").value(phase, 0.0); });
}

Json errors_json(const ResultErrors& errors) {
    return {{"delta", finite_or_null(errors.largest)},
            {"relative_linf", finite_or_null(errors.relative_largest)},
            {"relative_l2", finite_or_null(errors.relative_l2)},
            {"psnr_db", finite_or_null(errors.psnr_db)},
            {"worst_voxel", {errors.worst.z, errors.worst.y, errors.worst.x}},
            {"nonfinite", errors.nonfinite}};
}

Volume measure_turn(const Problem& problem, const std::vector<Volume>& inputs, const Way& way,
                    const TurnLimits& limits, const Json& machine, Json& figures,
                    const std::stop_token& stop) {
    const std::vector<int> gpus = gpus_of(way.engines());
    const MemoryProbe probe(gpus);
    const double begin_s = steady_clock_s();
    const PlannedWay planned = problem.plan(inputs, way, limits.bytes);
    const double plan_s = steady_clock_s() - begin_s;
    const double predicted_s = planned.facts().predicted_s;
    if (predicted_s > limits.seconds)
        throw TimeLimitExceeded(message("it is predicted to take ", format_duration(predicted_s),
                                        ", longer than --time-limit ",
                                        format_number(limits.seconds)));
    Volume result(planned.result.shape, planned.result.type);
    const double first_s = execute(planned, result.view(), nullptr, limits.seconds, stop);
    const std::optional<index_t> held_gpu = probe.held_gpu_bytes();
    Timeline timeline;
    const double seconds = execute(planned, result.view(), &timeline, limits.seconds, stop);

    // The plan is read after the executions: a GPU that runs out of memory makes another plan.
    const PlanFacts plan = planned.facts();
    figures["plan"] = plan.text;
    figures["predicted_s"] = plan.predicted_s;
    std::optional<index_t> resident = probe.resident_bytes();
    if (resident) *resident += problem.input_bytes;
    Json& memory = figures["memory_bytes"];
    memory = {{"host_declared", plan.host_bytes},
              {"host_counted",
               larger(memory["host_counted"], problem.input_bytes + probe.counted_bytes())},
              {"host_resident", larger(memory["host_resident"], resident)},
              {"gpu_declared", plan.gpu_bytes},
              {"gpu_held", larger(memory["gpu_held"], held_gpu)}};
    figures["traffic"] = traffic_json(timeline, gpus, machine);
    figures["turns"].push_back({{"plan_s", plan_s},
                                {"first_s", first_s},
                                {"seconds", seconds},
                                {"phases", phases_json(timeline)}});
    return result;
}

}  // namespace convolume::cli
