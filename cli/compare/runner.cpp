// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/runner.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/compare/measurement.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/report.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Most products for which direct sums are the automatic reference: seconds on a few cores.
constexpr double max_direct_products = 4e9;

/// Returns the entry of a list that has the name; null if there is none.
Json* find_named(Json& entries, const std::string& name) {
    for (Json& entry : entries)
        if (entry.at("name") == name) return &entry;
    return nullptr;
}

/// Progress of a comparison: one updating line on a terminal, else one a problem.
class ProgressLine {
  public:
    explicit ProgressLine(const Console& console)
        : console_(console), updating_(stderr_is_terminal() && !console.quiet()) {}
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void clear() const {
        if (updating_) console_.out() << "\r\033[K" << std::flush;
    }
    void show(const std::string& text) const {
        clear();
        if (updating_)
            console_.out() << text << std::flush;
        else if (console_.verbose())
            console_.text(text + '\n');
    }

  private:
    const Console& console_;
    bool updating_;
};

/// Results of ways, kept within the memory limit to be compared in pairs.
class KeptResults {
  public:
    explicit KeptResults(index_t limit_bytes) : left_bytes_(limit_bytes) {}

    void compare_and_keep(const std::string& name, Volume result, Json& problem) {
        for (const auto& [other, kept] : results_)
            problem["pairs"].push_back(
                {{"a", name},
                 {"b", other},
                 {"relative_l2",
                  finite_or_null(errors_of(result.view(), kept.view()).relative_l2)}});
        if (result.bytes() > left_bytes_) {
            problem["pairs_note"] =
                "results beyond the memory limit were not kept: some pairs are missing";
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
    /// `figures` are those of the problem, and `machine` those of the machine, in the report.
    ProblemRun(const Problem& problem, const RunnerSettings& settings, const Json& machine,
               Json& figures, const ProgressLine& progress, const std::stop_token& stop)
        : problem_(problem),
          settings_(settings),
          machine_(machine),
          figures_(figures),
          progress_(progress),
          stop_(stop) {}

    void run(const std::function<void()>& save) {
        try {
            make_inputs();
        } catch (const OutOfMemory& error) {
            for (const Way& way : settings_.ways) leave_out(way, error.what());
            return;
        }
        const index_t kept_bytes = divide_memory();
        make_reference();
        KeptResults kept(kept_bytes);
        for (int turn = 1; turn <= settings_.repeats; ++turn) {
            for (const Way& way : settings_.ways) run_turn_of(way, turn, kept);
            save();
        }
    }

  private:
    /// Makes the random inputs of a problem of a sweep. Throws OutOfMemory beyond the limit.
    void make_inputs() {
        if (!problem_.make_inputs) return;
        if (problem_.input_bytes > settings_.limit_bytes)
            throw OutOfMemory(message(problem_.input_name, " alone take ",
                                      format_bytes(problem_.input_bytes), ", and ",
                                      format_bytes(settings_.limit_bytes), " are left for them"));
        made_inputs_ = problem_.make_inputs();
    }

    const std::vector<Volume>& inputs() const {
        return problem_.make_inputs ? made_inputs_ : problem_.inputs;
    }

    /// Divides the memory limit among the reference, the kept results, and the plan of each way.
    /// Returns the bytes of the kept results.
    index_t divide_memory() {
        const index_t reference = settings_.reference == "none" ? 0 : problem_.result_bytes;
        const index_t kept = std::min(
            settings_.limit_bytes / 4,
            checked_multiply(static_cast<index_t>(settings_.ways.size()), problem_.result_bytes));
        way_bytes_ = std::max<index_t>(1, settings_.limit_bytes - reference - kept);
        return kept;
    }

    /// Computes the result that all others are compared with: on the CPU, in float64. There is none
    /// if that takes too much memory. Throws Cancelled, and the library's errors if the problem
    /// itself is wrong.
    void make_reference() {
        std::string& description = figures_["reference"].get_ref<std::string&>();
        if (settings_.reference == "none") {
            description = "none was asked for";
            return;
        }
        const bool direct =
            settings_.reference == "direct" ||
            (settings_.reference == "auto" && problem_.products <= max_direct_products);
        try {
            const PlannedWay planned = problem_.plan(
                inputs(), {"cpu", direct ? "direct" : "auto", 0, 0, "float64", 0}, way_bytes_);
            Volume result(planned.result.shape, planned.result.type);
            description = direct ? "direct sums in float64 on the CPU"
                                 : message("float64 on the CPU (", planned.facts().text, ')');
            ExecutionContext context;
            context.stop = stop_;
            planned.execute(result.view(), context);
            throw_if_stopped(context);
            reference_ = std::move(result);
        } catch (const OutOfMemory& error) {
            description = message("none, since ", error.what());
        }
    }

    void run_turn_of(const Way& way, int turn, KeptResults& kept) {
        if (find_named(figures_["left_out"], way.name()) != nullptr) return;
        progress_.show(message("turn ", turn, " of ", settings_.repeats, ", ", way.name()));
        if (stop_.stop_requested()) throw Cancelled("the comparison was stopped");
        Json* const known = find_named(figures_["ways"], way.name());
        Json figures = known != nullptr ? *known : unmeasured(way);
        std::optional<Volume> result;
        try {
            result = measure_turn(problem_, inputs(), way, {way_bytes_, settings_.time_limit_s},
                                  machine_, figures, stop_);
        } catch (const Error& error) {
            if (is_a<TimeLimitExceeded>(error) || is_a<InvalidArgument>(error) ||
                is_a<Unavailable>(error) || is_a<OutOfMemory>(error))
                return leave_out(way, error.what());
            throw;
        } catch (const std::bad_alloc&) {
            return leave_out(way, "the system refused memory");
        }
        if (reference_ && figures["errors"].is_null())
            figures["errors"] = errors_json(errors_of(result->view(), reference_->view()));
        summarize(figures, problem_.work, settings_.repeats);
        if (known != nullptr) {
            *known = std::move(figures);
        } else {
            figures_["ways"].push_back(std::move(figures));
            kept.compare_and_keep(way.name(), std::move(*result), figures_);
        }
    }

    void leave_out(const Way& way, const std::string& reason) {
        Json entry = to_json(way);
        entry["reason"] = reason;
        figures_["left_out"].push_back(std::move(entry));
        std::erase_if(figures_["ways"].get_ref<Json::array_t&>(),
                      [name = way.name()](const Json& other) { return other.at("name") == name; });
    }

    const Problem& problem_;
    const RunnerSettings& settings_;
    const Json& machine_;
    Json& figures_;
    const ProgressLine& progress_;
    const std::stop_token& stop_;
    std::vector<Volume> made_inputs_;
    index_t way_bytes_ = 0;  ///< memory limit of the plan of a way
    std::optional<Volume> reference_;
};

}  // namespace

void run_comparison(const std::vector<Problem>& problems, const RunnerSettings& settings,
                    Json& report, const Console& console, const std::function<void()>& save,
                    const std::stop_token& stop) {
    const ProgressLine progress(console);
    for (const Problem& problem : problems) {
        Json& figures = report.at("problems")
                            .emplace_back(Json{{"name", problem.name},
                                               {"size", problem.size},
                                               {"work", problem.work},
                                               {"reference", ""},
                                               {"ways", Json::array()},
                                               {"left_out", Json::array()},
                                               {"pairs", Json::array()},
                                               {"pairs_note", ""}});
        progress.clear();
        console.fact("problem", problem.name);
        ProblemRun(problem, settings, report.at("machine"), figures, progress, stop).run(save);
        progress.clear();
    }
    report["finished"] = true;
}

}  // namespace convolume::cli
