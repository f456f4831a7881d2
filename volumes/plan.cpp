// SPDX-License-Identifier: Apache-2.0
#include "volumes/plan.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "core/host_memory.hpp"
#include "volumes/candidate.hpp"

namespace convolume {

namespace {

// Relative error of predicted times: times that differ by less count as equal.
constexpr double model_error = 0.1;
// Largest numbers of tiles that are tried. Only a tiny memory limit needs more.
constexpr index_t max_tiles = 1 << 20;
constexpr index_t max_tiles_per_axis = 1 << 12;
// Seconds to predict a tiling.
constexpr double prediction_s = 0.5e-6;
// Tilings are searched only if the fastest plan without tiles takes longer than this many searches.
constexpr double search_share = 10;
// Tiles that overlap with transfers and fit caches make a plan faster by less than this factor, on
// each engine.
constexpr double most_gain_of_tiles = 8;

MemoryLimits find_limits(const Options& options, const EngineList& engines) {
    MemoryLimits limits{host_limit_bytes(options.max_host_bytes), {}};
    for (const auto& engine : engines) {
        const index_t limit = engine->memory_limit_bytes();
        if (limit > 0) limits.engine_bytes = std::min(limit, limits.engine_bytes.value_or(limit));
    }
    return limits;
}

index_t block_count(const PlanCandidate& candidate) {
    return candidate.parts * element_count(candidate.tiles);
}

enum class EngineKind { gpu, joined_gpus, cpu };

// A candidate with its prediction and its tiles.
struct Candidate {
    PlanCandidate candidate;
    CandidateLayout layout;
};

// Predicts and compares the candidates on engines of one kind.
class Planner {
  public:
    Planner(const ConvolutionProblem& problem, const Options& options, const EngineList& engines)
        : problem_(problem),
          options_(options),
          engines_(engines),
          limits_(find_limits(options, engines_)) {}

    Planner(const Planner&) = delete;
    Planner& operator=(const Planner&) = delete;

    // `known_s` is the time of the best plan on engines of other kinds.
    void compare_candidates(double known_s) {
        known_s_ = known_s;
        if (is_joined()) {
            compare_spread();
            return;
        }
        const Algorithm in_space =
            problem_.rank1_kernel && engines_.front()->supports(Algorithm::separable)
                ? Algorithm::separable
                : Algorithm::direct;
        if (allows(Method::in_core))
            candidates_.push_back(single_tile(Method::in_core, Algorithm::fft, 1));
        if (allows(Method::dif) || options_.parts > 0)
            for (const int parts : {1, 2, 4, 8, 16})
                // A split into one part is the undivided transform: a candidate only on request.
                if (options_.parts == parts ||
                    (options_.parts == 0 && (parts > 1 || options_.method == Method::dif)))
                    candidates_.push_back(single_tile(Method::dif, Algorithm::fft, parts));
        std::optional<Candidate> direct;
        if (allows(Method::direct) && engines_.front()->supports(in_space))
            direct = best_tiling(Method::direct, in_space, fastest_s(direct));
        if (allows(Method::tiled))
            candidates_.push_back(best_tiling(Method::tiled, Algorithm::fft, fastest_s(direct)));
        if (direct) candidates_.push_back(std::move(*direct));
        for (Candidate& one : candidates_) one.candidate.rejected = why_rejected(one.candidate);
        choose();
    }

    const std::vector<Candidate>& candidates() const { return candidates_; }
    /// Returns a candidate that the engine cannot convolve, whatever the limits are.
    const std::optional<PlanCandidate>& unsuitable() const { return unsuitable_; }
    /// Returns the chosen candidate; null when none fits.
    const Candidate* best() const { return best_; }
    const EngineList& engines() const { return engines_; }
    /// Whether the engine spreads blocks over several devices.
    bool is_joined() const { return !engines_.front()->info().members.empty(); }
    index_t host_limit_bytes() const { return limits_.host_bytes; }

    // Returns an error that names the limits to raise: that of the engines if no candidate fits it,
    // and that of the host if the candidate which needs least exceeds it.
    OutOfMemory out_of_memory_error() const {
        const auto least = std::min_element(
            candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
                return std::pair(engine_excess(a.candidate), a.candidate.host_bytes) <
                       std::pair(engine_excess(b.candidate), b.candidate.host_bytes);
            });
        const PlanCandidate& candidate = least->candidate;
        std::string cure;
        std::vector<OptionName> options;
        MemoryKind memory = MemoryKind::host;
        if (engine_excess(candidate) > 0) {
            cure = message("allow each engine ", format_limit(candidate.engine_bytes),
                           " instead of ", format_bytes(*limits_.engine_bytes));
            options.push_back({candidate.on_gpu ? "max_gpu_bytes" : "max_cpu_engine_bytes"});
            if (candidate.on_gpu) memory = MemoryKind::gpu;
        }
        if (candidate.host_bytes > limits_.host_bytes) {
            cure +=
                message(cure.empty() ? "allow " : " and allow ", format_limit(candidate.host_bytes),
                        " of host memory instead of ", format_bytes(limits_.host_bytes));
            options.push_back({"max_host_bytes"});
            if (memory == MemoryKind::gpu) memory = MemoryKind::host_and_gpu;
        }
        Sentence text = message("no plan for an image of ", convolume::to_string(problem_.image),
                                " and a kernel of ", convolume::to_string(problem_.kernel),
                                " fits the memory limits: ", cure, " (");
        for (const OptionName& option : options) {
            if (&option != &options.front()) text.append(", ");
            text.append(option);
        }
        text.append(")");
        return OutOfMemory(text, memory);
    }

  private:
    // Chooses the fastest candidate that fits, or one with fewer blocks that is hardly slower.
    void choose() {
        double least_s = std::numeric_limits<double>::infinity();
        for (const Candidate& one : candidates_)
            if (one.candidate.rejected.empty()) least_s = std::min(least_s, one.candidate.seconds);
        const auto rank = [](const Candidate& one) {
            return std::pair(block_count(one.candidate), one.candidate.seconds);
        };
        for (const Candidate& one : candidates_)
            if (one.candidate.rejected.empty() &&
                one.candidate.seconds <= least_s * (1 + model_error) &&
                (!best_ || rank(one) < rank(*best_)))
                best_ = &one;
    }

    // The only candidate of a joined engine is the whole image.
    void compare_spread() {
        if (!allows(Method::in_core)) return;
        Candidate one = single_tile(Method::in_core, Algorithm::fft, 1);
        const auto& [z, y, x] = one.layout.axes;
        one.candidate.rejected = engines_.front()->why_unsuitable(
            part_block(problem_, one.layout, 0, {z.largest(), y.largest(), x.largest()}));
        if (!one.candidate.rejected.empty()) {
            unsuitable_ = one.candidate;
            return;
        }
        one.candidate.rejected = why_rejected(one.candidate);
        candidates_.push_back(std::move(one));
        choose();
    }

    // Whether the options allow a method; with a number of parts, only a split is allowed.
    bool allows(Method method) const {
        return options_.method == method ||
               (options_.method == Method::automatic && options_.parts == 0);
    }

    GridRule grid_rule(int axis, Algorithm algorithm, int parts) const {
        return {algorithm == Algorithm::fft ? engines_.front().get() : nullptr, axis, parts,
                problem_.complex_data, problem_.precision};
    }

    // Returns the candidate of one tile, which is split if `parts` is above 1.
    Candidate single_tile(Method method, Algorithm algorithm, int parts) const {
        CandidateLayout layout{method, algorithm, parts, false, {}};
        for (int a = 0; a < 3; ++a)
            layout.axes[static_cast<std::size_t>(a)] =
                tile_axis(problem_.axis(a), 1, grid_rule(a, algorithm, parts));
        Candidate one;
        one.candidate =
            predict(layout, layout.tiles(),
                    {layout.axes[0].largest(), layout.axes[1].largest(), layout.axes[2].largest()});
        one.layout = std::move(layout);
        return one;
    }

    // Returns the seconds of the fastest plan that fits, `direct` and plans on other engines
    // included.
    double fastest_s(const std::optional<Candidate>& direct) const {
        double least_s = known_s_;
        for (const Candidate& one : candidates_)
            if (fits(one.candidate)) least_s = std::min(least_s, one.candidate.seconds);
        if (direct && fits(direct->candidate))
            least_s = std::min(least_s, direct->candidate.seconds);
        return least_s;
    }

    // Whether a search for tiles may gain more time than it takes. `whole_s` is the time of a
    // single tile, `fastest_s` that of the fastest other plan.
    bool pays_to_search(Algorithm algorithm, double whole_s, double fastest_s) const {
        if (whole_s > most_gain_of_tiles * static_cast<double>(engines_.size()) * fastest_s)
            return false;
        fastest_s = std::min(fastest_s, whole_s);
        if (options_.method == Method::tiled || problem_.streamed || engines_.size() > 1 ||
            engines_.front()->info().is_gpu)
            return true;
        if (algorithm != Algorithm::fft) return false;  // the CPU engine divides such blocks itself
        double tilings = 1;
        for (int a = 0; a < 3; ++a) tilings *= static_cast<double>(tile_counts(a).size());
        return fastest_s > search_share * prediction_s * tilings;
    }

    // Returns the fastest tiling that fits, or the one that needs the least memory if none fits.
    // The fastest other plan takes `fastest_s`.
    Candidate best_tiling(Method method, Algorithm algorithm, double fastest_s) const {
        Candidate whole = single_tile(method, algorithm, 1);
        if (fits(whole.candidate) && !pays_to_search(algorithm, whole.candidate.seconds, fastest_s))
            return whole;
        struct SizedTiling {
            AxisTiling tiling;
            BlockAxis largest;  // sizes that no tile exceeds
        };
        const CandidateLayout shape{
            method, algorithm, 1, algorithm == Algorithm::fft && engines_.front()->can_walk(), {}};
        std::array<std::vector<SizedTiling>, 3> tilings;
        for (int a = 0; a < 3; ++a) {
            GridRule rule = grid_rule(a, algorithm, 1);
            rule.may_be_periodic = a > 0 || !shape.walks;
            for (const index_t count : tile_counts(a)) {
                AxisTiling tiling = tile_axis(problem_.axis(a), count, rule);
                const BlockAxis largest = tiling.largest();
                tilings[static_cast<std::size_t>(a)].push_back({std::move(tiling), largest});
            }
        }
        std::optional<Candidate> best;
        std::array<index_t, 3> best_at{};
        index_t most = few_tiles();
        const auto try_tiling = [&](const std::array<index_t, 3>& at) {
            std::array<const SizedTiling*, 3> axes{};
            for (std::size_t a = 0; a < 3; ++a) {
                if (at[a] < 0 || at[a] >= std::ssize(tilings[a])) return;
                axes[a] = &tilings[a][static_cast<std::size_t>(at[a])];
            }
            const auto& [z, y, x] = axes;
            const Index3 tiles{z->tiling.count(), y->tiling.count(), x->tiling.count()};
            if (element_count(tiles) > most) return;
            PlanCandidate found = predict(shape, tiles, {z->largest, y->largest, x->largest});
            if (best && !is_better(found, best->candidate)) return;
            best.emplace();
            best->candidate = std::move(found);
            best_at = at;
        };
        // Tries tilings a factor of four apart, then those between them and the best.
        constexpr index_t coarse_step = 4;
        const auto try_coarse = [&] {
            const auto steps = [&](std::size_t a) {
                return ceil_div(std::ssize(tilings[a]) - 1, coarse_step);
            };
            const auto at = [&](std::size_t a, index_t step) {
                return std::min(step * coarse_step, index_t{std::ssize(tilings[a])} - 1);
            };
            for (index_t z = 0; z <= steps(0); ++z)
                for (index_t y = 0; y <= steps(1); ++y)
                    for (index_t x = 0; x <= steps(2); ++x)
                        try_tiling({at(0, z), at(1, y), at(2, x)});
        };
        for (try_coarse(); most < max_tiles && !fits(best->candidate); try_coarse())
            most = std::min(16 * most, max_tiles);
        for (index_t step = coarse_step / 2; step > 0; step /= 2) {
            const auto [center_z, center_y, center_x] = best_at;
            for (const index_t z : {-step, index_t{0}, step})
                for (const index_t y : {-step, index_t{0}, step})
                    for (const index_t x : {-step, index_t{0}, step})
                        try_tiling({center_z + z, center_y + y, center_x + x});
        }
        best->layout = shape;
        for (std::size_t a = 0; a < 3; ++a)
            best->layout.axes[a] = tilings[a][static_cast<std::size_t>(best_at[a])].tiling;
        return std::move(*best);
    }

    // Returns the number of tiles beyond which more are tried only if none fits. Engines that walk
    // through blocks transfer while they compute, and their transforms take as long for short rows
    // as for long ones. More tiles only add to the halos.
    index_t few_tiles() const {
        if (!engines_.front()->can_walk()) return max_tiles;
        constexpr index_t tiles_of_an_engine = 64;
        return tiles_of_an_engine * static_cast<index_t>(engines_.size());
    }

    // Returns the numbers of tiles that are tried along an axis: 1, 2, 3, 4, 6, 8, 12, …, extent.
    std::vector<index_t> tile_counts(int axis) const {
        std::vector<index_t> counts;
        const AxisProblem& outputs = problem_.axis(axis);
        const index_t most = std::min(outputs.out_end - outputs.out_begin, max_tiles_per_axis);
        for (index_t power = 1; power < most; power *= 2) {
            counts.push_back(power);
            if (power > 1 && power / 2 * 3 < most) counts.push_back(power / 2 * 3);
        }
        counts.push_back(most);
        return counts;
    }

    bool fits(const PlanCandidate& candidate) const {
        return candidate.host_bytes <= limits_.host_bytes &&
               candidate.engine_bytes <= limits_.engine_bytes.value_or(candidate.engine_bytes);
    }

    bool is_better(const PlanCandidate& a, const PlanCandidate& b) const {
        if (fits(a) != fits(b)) return fits(a);
        return fits(a) ? a.seconds < b.seconds : a.engine_bytes < b.engine_bytes;
    }

    // Predicts a candidate from its largest tile. The axes of `layout` are used only with parts.
    PlanCandidate predict(const CandidateLayout& layout, const Index3& tiles,
                          const std::array<BlockAxis, 3>& axes) const {
        return convolume::predict(problem_, engines_, limits_,
                                  {layout.method,
                                   layout.algorithm,
                                   layout.parts,
                                   tiles,
                                   {axes[0].grid, axes[1].grid, axes[2].grid},
                                   scratch_shape(problem_, layout),
                                   scratch_bytes(problem_, layout),
                                   part_block(problem_, layout, 0, axes),
                                   part_block(problem_, layout, layout.parts - 1, axes)});
    }

    // Returns why a candidate does not fit; empty if it fits.
    std::string why_rejected(const PlanCandidate& candidate) const {
        if (limits_.engine_bytes && candidate.engine_bytes > *limits_.engine_bytes)
            return message("needs ", format_bytes(candidate.engine_bytes),
                           " on an engine limited to ", format_bytes(*limits_.engine_bytes));
        if (candidate.host_bytes > limits_.host_bytes)
            return message("needs ", format_bytes(candidate.host_bytes),
                           " of host memory limited to ", format_bytes(limits_.host_bytes));
        return {};
    }

    // Returns the bytes of a candidate beyond the limit of the engines.
    index_t engine_excess(const PlanCandidate& candidate) const {
        return std::max<index_t>(
            0, candidate.engine_bytes - limits_.engine_bytes.value_or(candidate.engine_bytes));
    }

    const ConvolutionProblem& problem_;
    const Options& options_;
    EngineList engines_;
    MemoryLimits limits_;
    double known_s_ = 0;
    std::vector<Candidate> candidates_;
    std::optional<PlanCandidate> unsuitable_;
    const Candidate* best_ = nullptr;
};

// Whether `a` is better than `b`, a plan for engines of another kind. If two streamed plans hardly
// differ, the files decide how long a run takes. The plan is then better whose engines work less.
// If two plans for GPUs hardly differ, the one with fewer blocks is better.
bool is_preferable(const PlanCandidate& a, const PlanCandidate& b) {
    const auto work_s = [](const PlanStages& stages) {
        return stages.split_and_merge.seconds + stages.to_gpu.seconds + stages.convolve.seconds +
               stages.from_gpu.seconds;
    };
    const auto [less_s, more_s] = std::minmax(a.seconds, b.seconds);
    const bool hardly_differ = more_s <= less_s * (1 + model_error);
    const bool streams = a.stages.write.seconds > 0 && b.stages.write.seconds > 0;
    if (streams && hardly_differ) return work_s(a.stages) < work_s(b.stages);
    const auto rank = [&](const PlanCandidate& plan) {
        return std::pair(a.on_gpu && b.on_gpu && hardly_differ ? block_count(plan) : 0,
                         plan.seconds);
    };
    return rank(a) < rank(b);
}

}  // namespace

TaskPlan make_plan(const ConvolutionProblem& given, const Options& options,
                   const EngineList& engines) {
    if (engines.empty()) throw InvalidArgument("a plan needs at least one engine");
    ConvolutionProblem problem = given;
    const MachineRates& rates = engines.front()->info().rates;
    if (problem.source_bytes_per_s == 0) problem.source_bytes_per_s = rates.file_read_bytes_per_s;
    if (problem.sink_bytes_per_s == 0) problem.sink_bytes_per_s = rates.file_write_bytes_per_s;
    for (int a = 0; a < 3; ++a)
        if (problem.image[a] < 1 || problem.kernel[a] < 1)
            throw InvalidArgument(
                message("the extent along ", axis_name(a), " is ",
                        std::min(problem.image[a], problem.kernel[a]),
                        ": image and kernel need at least 1 sample on every axis"));
    if (options.parts != 0 && options.parts != 1 && options.parts != 2 && options.parts != 4 &&
        options.parts != 8 && options.parts != 16)
        throw InvalidArgument(
            message(options.parts, " parts were asked for: a split has 1, 2, 4, 8 or 16"));
    if (options.parts != 0 && options.method != Method::automatic && options.method != Method::dif)
        throw InvalidArgument(message("method ", to_string(options.method),
                                      " has no parts: leave their number to method dif"));

    std::deque<Planner> planners;
    std::vector<std::vector<int>> indices;
    const auto kind_of = [](const Engine& engine) {
        const EngineInfo& info = engine.info();
        return !info.is_gpu           ? EngineKind::cpu
               : info.members.empty() ? EngineKind::gpu
                                      : EngineKind::joined_gpus;
    };
    for (const EngineKind kind : {EngineKind::gpu, EngineKind::joined_gpus, EngineKind::cpu}) {
        EngineList of_kind;
        std::vector<int> members;
        for (std::size_t i = 0; i < engines.size(); ++i)
            if (kind_of(*engines[i]) == kind) {
                of_kind.push_back(engines[i]);
                members.push_back(static_cast<int>(i));
            }
        if (of_kind.empty()) continue;
        planners.emplace_back(problem, options, of_kind);
        indices.push_back(std::move(members));
    }
    TaskPlan plan;
    plan.problem = problem;
    const Planner* best = nullptr;
    for (std::size_t i = 0; i < planners.size(); ++i) {
        Planner& planner = planners[i];
        planner.compare_candidates(best ? best->best()->candidate.seconds
                                        : std::numeric_limits<double>::infinity());
        for (const Candidate& one : planner.candidates()) plan.candidates.push_back(one.candidate);
        // The reason is of interest only if the method was requested.
        if (planner.unsuitable() && options.method == Method::in_core)
            plan.candidates.push_back(*planner.unsuitable());
        if (!planner.best()) continue;
        if (best && !is_preferable(planner.best()->candidate, best->best()->candidate)) continue;
        best = &planner;
        plan.engine_indices = indices[i];
    }
    if (plan.candidates.empty())
        throw GpuUnavailable(
            message("method ", to_string(options.method), " does not run on a GPU: use the CPU"));
    if (!best) {
        // Engines that were joined need less memory each.
        const Planner* least = nullptr;
        for (const Planner& planner : planners)
            if (!planner.candidates().empty() &&
                (!least || (planner.is_joined() && options.method == Method::in_core)))
                least = &planner;
        throw least->out_of_memory_error();
    }
    plan.chosen = best->best()->candidate;
    for (const auto& engine : best->engines()) {
        const EngineInfo& info = engine->info();
        if (info.members.empty()) plan.engines.push_back(info.name);
        plan.engines.insert(plan.engines.end(), info.members.begin(), info.members.end());
    }
    plan.host_limit_bytes = best->host_limit_bytes();
    fill_task_plan(problem, best->best()->layout, plan);
    if (plan.chosen.on_gpu)
        for (Block& block : plan.blocks) block.memory_bytes = plan.chosen.block_bytes;
    return plan;
}

Plan TaskPlan::summary() const {
    Plan plan;
    plan.image = problem.image;
    plan.kernel = problem.kernel;
    plan.output = problem.output.shape();
    plan.complex_data = problem.complex_data;
    plan.rank1_kernel = problem.rank1_kernel;
    plan.precision = problem.precision;
    plan.boundary.kind = problem.boundary;
    plan.chosen = chosen;
    plan.candidates = candidates;
    plan.engines = engines;
    plan.tasks = static_cast<index_t>(tasks.size());
    plan.scratch_bytes = scratch_bytes;
    plan.host_limit_bytes = host_limit_bytes;
    return plan;
}

}  // namespace convolume
