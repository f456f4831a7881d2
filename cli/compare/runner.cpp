// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/runner.hpp"

#include <algorithm>
#include <utility>

#include "cli/compare/turn.hpp"

namespace convolume::cli {

namespace {

/// Results of ways whose pairs are compared, as long as they fit.
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
        share_memory();
        Reference reference = make_reference(subject_, settings_.reference, way_bytes_, stop_);
        problem_.reference = reference.description;
        reference_ = std::move(reference.result);
        KeptResults kept(kept_bytes_);
        for (int turn = 1; turn <= settings_.repeats; ++turn) {
            for (const Way& way : settings_.ways) take_turn_of(way, turn, kept);
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

    /// The reference and some results stay; the plan of every way has the same limit.
    void share_memory() {
        const index_t reference =
            settings_.reference == ReferenceKind::none ? 0 : subject_.result_bytes();
        const auto ways = static_cast<index_t>(settings_.ways.size());
        kept_bytes_ =
            std::min(settings_.limit_bytes / 4, checked_multiply(ways, subject_.result_bytes()));
        way_bytes_ = std::max<index_t>(1, settings_.limit_bytes - reference - kept_bytes_);
    }

    bool is_left_out(const Way& way) const {
        return std::any_of(problem_.left_out.begin(), problem_.left_out.end(),
                           [&way](const LeftOut& entry) { return entry.way == way; });
    }

    void take_turn_of(const Way& way, int turn, KeptResults& kept) {
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
        try {
            Volume result = take_turn(subject_, measurement, {way_bytes_, settings_.time_limit_s},
                                      links_, stop_);
            if (reference_ && !measurement.errors)
                measurement.errors = errors_of(result.view(), reference_->view());
            if (known == nullptr) {
                problem_.measured.push_back(std::move(measurement));
                kept.compare_and_keep(way.name(), std::move(result), problem_);
            } else {
                *known = std::move(measurement);
            }
        } catch (const WayLeftOut& reason) {
            problem_.left_out.push_back({way, reason.what()});
            if (known != nullptr)
                std::erase_if(problem_.measured,
                              [&way](const Measurement& entry) { return entry.way == way; });
        }
    }

    Subject& subject_;
    const RunnerSettings& settings_;
    const GpuLinks& links_;
    ComparedProblem& problem_;
    const RunnerEvents& events_;
    const std::stop_token& stop_;
    index_t kept_bytes_ = 0;
    index_t way_bytes_ = 0;  ///< of the plan of a way
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
