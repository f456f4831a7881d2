// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/runner.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "cli/run/progress.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

constexpr std::array<std::pair<ReferenceKind, const char*>, 4> reference_names{
    {{ReferenceKind::automatic, "auto"},
     {ReferenceKind::direct, "direct"},
     {ReferenceKind::fft, "fft"},
     {ReferenceKind::none, "none"}}};

/// Most products for which direct sums are the automatic reference: seconds on a few cores.
constexpr double max_direct_products = 4e9;

/// The result that all other results are compared with.
struct Reference {
    std::optional<Volume> result;
    std::string description;  ///< method of the reference, or why there is none
};

/// Computes the reference on the CPU, in float64, within `limit_bytes`. Returns none if that takes
/// too much memory. Throws Cancelled, and the library's errors if the problem itself is wrong.
Reference make_reference(const Subject& subject, ReferenceKind kind, index_t limit_bytes,
                         const std::stop_token& stop) {
    if (kind == ReferenceKind::none) return {{}, "none was asked for"};
    const bool direct =
        kind == ReferenceKind::direct ||
        (kind == ReferenceKind::automatic && subject.products() <= max_direct_products);
    try {
        const auto planned =
            subject.plan({"cpu", direct ? "direct" : "auto", 0, 0, "float64", 0}, limit_bytes);
        Volume result = planned->make_result();
        const std::string description = direct
                                            ? "direct sums in float64 on the CPU"
                                            : message("float64 on the CPU (", planned->plan(), ')');
        ExecutionContext context;
        context.stop = stop;
        planned->execute(result.view(), context);
        throw_if_stopped(context);
        return {std::move(result), description};
    } catch (const OutOfMemory& error) {
        return {{}, message("none, since ", error.what())};
    }
}

/// Thrown if a way takes longer than --time-limit, and so is left out.
class TimeLimitExceeded : public Error {
    using Error::Error;
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
        throw TimeLimitExceeded(message("an execution took longer than --time-limit ",
                                        format_number(limit_s), " and was stopped"));
    }
    return steady_clock_s() - begin_s;
}

void read_timeline(const Timeline& timeline, TurnTimes& turn, Traffic& traffic) {
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

/// Results of ways, kept within the memory limit to be compared in pairs.
class KeptResults {
  public:
    explicit KeptResults(index_t limit_bytes) : left_bytes_(limit_bytes) {}

    void compare_and_keep(const std::string& name, Volume result, ComparedProblem& problem) {
        for (const auto& [other, kept] : results_)
            problem.pairs.push_back(
                {name, other, errors_of(result.view(), kept.view()).relative_l2});
        if (result.bytes() > left_bytes_) {
            problem.pairs_note = message(
                "results beyond the memory limit were not kept: some "
                "pairs are missing");
            return;
        }
        left_bytes_ -= result.bytes();
        results_.emplace_back(name, std::move(result));
    }

  private:
    index_t left_bytes_;
    std::vector<std::pair<std::string, Volume>> results_;
};

/// Measures all ways on one problem.
class ProblemRun {
  public:
    ProblemRun(Subject& subject, const RunnerSettings& settings, const GpuLinks& links,
               ComparedProblem& problem, const RunnerEvents& events, const std::stop_token& stop)
        : subject_(subject),
          settings_(settings),
          links_(links),
          problem_(problem),
          events_(events),
          stop_(stop) {}

    void run() {
        if (is_finished()) return;
        if (!problem_.measured.empty())
            problem_.pairs_note =
                "the comparison was resumed: pairs of ways of different runs are "
                "missing";
        try {
            subject_.prepare(settings_.limit_bytes);
        } catch (const OutOfMemory& error) {
            for (const Way& way : settings_.ways) problem_.left_out.push_back({way, error.what()});
            return;
        }
        divide_memory();
        Reference reference = make_reference(subject_, settings_.reference, way_bytes_, stop_);
        problem_.reference = reference.description;
        reference_ = std::move(reference.result);
        KeptResults kept(kept_bytes_);
        for (int turn = 1; turn <= settings_.repeats; ++turn) {
            for (const Way& way : settings_.ways) run_turn_of(way, turn, kept);
            events_.round_ends();
        }
    }

  private:
    bool is_finished() const {
        return std::all_of(settings_.ways.begin(), settings_.ways.end(), [this](const Way& way) {
            const Measurement* measurement = problem_.find(way);
            return is_left_out(way) ||
                   (measurement != nullptr &&
                    static_cast<int>(measurement->turns.size()) >= settings_.repeats);
        });
    }

    /// Divides the memory limit among the reference, the kept results, and the plan of each way.
    void divide_memory() {
        const index_t reference =
            settings_.reference == ReferenceKind::none ? 0 : subject_.result_bytes();
        const auto ways = static_cast<index_t>(settings_.ways.size());
        kept_bytes_ =
            std::min(settings_.limit_bytes / 4, checked_multiply(ways, subject_.result_bytes()));
        way_bytes_ = std::max<index_t>(1, settings_.limit_bytes - reference - kept_bytes_);
    }

    bool is_left_out(const Way& way) const {
        return std::any_of(problem_.left_out.begin(), problem_.left_out.end(),
                           [&way](const SkippedWay& entry) { return entry.way == way; });
    }

    /// Plans, executes, executes again and measures. Adds the turn to `measurement` and returns the
    /// result. Throws TimeLimitExceeded, and the library's errors.
    Volume measure_turn(Measurement& measurement) {
        const std::vector<int> gpus = gpus_of(measurement.way.engines());
        const MemoryProbe probe(gpus);
        TurnTimes turn;
        const double begin_s = steady_clock_s();
        const auto planned = subject_.plan(measurement.way, way_bytes_);
        turn.plan_s = steady_clock_s() - begin_s;
        const double predicted_s = planned->predicted_s();
        if (predicted_s > settings_.time_limit_s)
            throw TimeLimitExceeded(
                message("it is predicted to take ", format_duration(predicted_s),
                        ", longer than --time-limit ", format_number(settings_.time_limit_s)));
        Volume result = planned->make_result();
        turn.first_s = execute(*planned, result, nullptr, settings_.time_limit_s, stop_);
        const std::optional<index_t> held_gpu = probe.held_gpu_bytes();
        Timeline timeline;
        turn.seconds = execute(*planned, result, &timeline, settings_.time_limit_s, stop_);

        read_timeline(timeline, turn, measurement.traffic);
        measurement.traffic.least_s = least_transfer_s(measurement.traffic, gpus, links_);
        // The plan is read after the executions: a GPU that runs out of memory makes another plan.
        measurement.plan = planned->plan();
        measurement.predicted_s = planned->predicted_s();
        MemoryFigures& memory = measurement.memory;
        const MemoryFigures declared = planned->declared();
        memory.declared_host = declared.declared_host;
        memory.declared_gpu = declared.declared_gpu;
        const index_t input = subject_.input_bytes();
        memory.counted_host = std::max(memory.counted_host, input + probe.counted_bytes());
        if (const auto resident = probe.resident_bytes())
            memory.resident_host = std::max(memory.resident_host.value_or(0), input + *resident);
        if (held_gpu) memory.held_gpu = std::max(memory.held_gpu.value_or(0), *held_gpu);
        measurement.turns.push_back(std::move(turn));
        return result;
    }

    void run_turn_of(const Way& way, int turn, KeptResults& kept) {
        if (is_left_out(way)) return;
        Measurement* known = problem_.find(way);
        if (known != nullptr && static_cast<int>(known->turns.size()) >= turn) return;
        Measurement measurement;
        if (known != nullptr)
            measurement = *known;
        else
            measurement.way = way;
        events_.turn_begins(way, turn);
        if (stop_.stop_requested()) throw Cancelled("the comparison was stopped");
        std::optional<Volume> result;
        try {
            result = measure_turn(measurement);
        } catch (const TimeLimitExceeded& reason) {
            return leave_out(way, reason.what());
        } catch (const InvalidArgument& error) {
            return leave_out(way, error.what());
        } catch (const Unavailable& error) {
            return leave_out(way, error.what());
        } catch (const OutOfMemory& error) {
            return leave_out(way, error.what());
        } catch (const std::bad_alloc&) {
            return leave_out(way, "the system refused memory");
        }
        if (reference_ && !measurement.errors)
            measurement.errors = errors_of(result->view(), reference_->view());
        if (known == nullptr) {
            problem_.measured.push_back(std::move(measurement));
            kept.compare_and_keep(way.name(), std::move(*result), problem_);
        } else {
            *known = std::move(measurement);
        }
    }

    void leave_out(const Way& way, const std::string& reason) {
        problem_.left_out.push_back({way, reason});
        std::erase_if(problem_.measured,
                      [&way](const Measurement& entry) { return entry.way == way; });
    }

    Subject& subject_;
    const RunnerSettings& settings_;
    const GpuLinks& links_;
    ComparedProblem& problem_;
    const RunnerEvents& events_;
    const std::stop_token& stop_;
    index_t kept_bytes_ = 0;
    index_t way_bytes_ = 0;  ///< memory limit of the plan of a way
    std::optional<Volume> reference_;
};

ComparedProblem& problem_of(const Subject& subject, Comparison& comparison) {
    for (ComparedProblem& problem : comparison.problems)
        if (problem.name == subject.name()) return problem;
    ComparedProblem problem;
    problem.name = subject.name();
    problem.size = subject.size();
    problem.work = subject.work();
    comparison.problems.push_back(std::move(problem));
    return comparison.problems.back();
}

}  // namespace

ReferenceKind parse_reference(std::string_view text) {
    for (const auto& [kind, name] : reference_names)
        if (text == name) return kind;
    throw InvalidArgument(message("--reference is auto, direct, fft or none, not \"", text,
                                  "\"; choose one of these"));
}

const char* to_string(ReferenceKind kind) {
    return reference_names[static_cast<std::size_t>(kind)].second;
}

void run_comparison(const std::vector<std::unique_ptr<Subject>>& subjects,
                    const RunnerSettings& settings, const GpuLinks& links, Comparison& comparison,
                    const RunnerEvents& events, const std::stop_token& stop) {
    for (const auto& subject : subjects) {
        ComparedProblem& problem = problem_of(*subject, comparison);
        events.problem_begins(problem);
        ProblemRun(*subject, settings, links, problem, events, stop).run();
        subject->release();
        events.round_ends();
    }
    comparison.finished = true;
}

}  // namespace convolume::cli
