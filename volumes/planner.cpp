// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "convolume/error.hpp"
#include "core/host_memory.hpp"
#include "volumes/bands.hpp"
#include "volumes/layout.hpp"
#include "volumes/part_store.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

namespace {

// Bytes a second that the host moves while splitting and merging: a core's streaming copy, as long
// as memory keeps up (measured: 55 to 60 GB/s with 2 cores, 105 to 170 with 16 and 32).
constexpr double core_bytes_per_s = 30e9;
constexpr int cores_to_fill_memory = 4;
// What a thread holds while it splits or merges: the rows of a few butterflies.
constexpr index_t split_bytes_per_thread = index_t{704} << 10;
constexpr double first_touch_bytes_per_s = 5e9;  // new memory, a core
// What handing out a task costs besides its work: keeps tiles from becoming grains.
constexpr double task_overhead_s = 50e-6;
// The same where its samples are read before and its results written after.
constexpr double held_task_overhead_s = 250e-6;
// What a run from file to file takes besides: files are opened, the result is brought to disk.
constexpr double stream_overhead_s = 18e-3;
// Predictions that differ by less say nothing.
constexpr double model_error = 0.1;
// More tiles than this would only mean that the limit is absurd.
constexpr index_t max_tiles = 1 << 20;
constexpr index_t max_tiles_per_axis = 1 << 12;

struct Limits {
    index_t host_bytes = 0;
    std::optional<index_t> engine_bytes;  ///< the least of the engines' limits
};

Limits find_limits(const Options& options, const EngineList& engines) {
    Limits limits{options.max_host_bytes.value_or(available_host_bytes() / 4 * 3), {}};
    for (const auto& engine : engines) {
        const index_t limit = engine->memory_limit_bytes();
        if (limit > 0) limits.engine_bytes = std::min(limit, limits.engine_bytes.value_or(limit));
    }
    return limits;
}

// A limit to type in: whole units, never below `bytes`.
std::string size_to_allow(index_t bytes) {
    for (const auto& [unit, name] :
         {std::pair{index_t{1} << 30, "GiB"}, {index_t{1} << 20, "MiB"}, {index_t{1} << 10, "KiB"}})
        if (bytes >= 100 * unit || (unit == 1024 && bytes >= unit))
            return message(ceil_div(bytes, unit), " ", name);
    return message(bytes, " B");
}

struct Weighed {
    Layout layout;
    PlanCandidate candidate;
    bool keep_kernels = true;
};

// Weighs the ways to run a problem on engines of one kind.
class Planner {
  public:
    Planner(const Problem& problem, const Options& options, const EngineList& engines)
        : problem_(problem),
          options_(options),
          engines_(engines),
          limits_(find_limits(options, engines)) {}

    void weigh_all() {
        const Algorithm in_space =
            problem_.rank1_kernel && engines_.front()->supports(Algorithm::separable)
                ? Algorithm::separable
                : Algorithm::direct;
        if (allows(Method::in_core)) weigh_whole(Method::in_core, 1);
        if (allows(Method::dif) || options_.parts > 0)
            for (const int parts : {1, 2, 4, 8, 16})
                // One part is the undivided transform: worth a line only when asked for by name.
                if (options_.parts == parts ||
                    (options_.parts == 0 && (parts > 1 || options_.method == Method::dif)))
                    weigh_whole(Method::dif, parts);
        if (allows(Method::tiled)) weigh_tilings(Method::tiled, Algorithm::fft);
        if (allows(Method::direct) && engines_.front()->supports(in_space))
            weigh_tilings(Method::direct, in_space);
        for (Weighed& weighed : weighed_) weighed.candidate.rejected = why_not(weighed.candidate);
        choose();
    }

    const std::vector<Weighed>& weighed() const { return weighed_; }
    /// The fastest way that fits; null when none does.
    const Weighed* best() const { return best_; }
    const EngineList& engines() const { return engines_; }
    index_t host_limit_bytes() const { return limits_.host_bytes; }

    // Names the limit to raise: the engines' when no candidate fits it, else the host's.
    std::string nothing_fits() const {
        const auto least = std::min_element(
            weighed_.begin(), weighed_.end(), [&](const Weighed& a, const Weighed& b) {
                return std::pair(excess(a.candidate), a.candidate.host_bytes) <
                       std::pair(excess(b.candidate), b.candidate.host_bytes);
            });
        const PlanCandidate& candidate = least->candidate;
        std::string cure;
        std::string options;
        if (excess(candidate) > 0) {
            cure = message("allow each engine ", size_to_allow(candidate.engine_bytes),
                           " instead of ", format_bytes(*limits_.engine_bytes));
            options = candidate.on_gpu ? "max_gpu_bytes" : "max_cpu_engine_bytes";
        }
        if (candidate.host_bytes > limits_.host_bytes) {
            cure += message(cure.empty() ? "allow " : " and allow ",
                            size_to_allow(candidate.host_bytes), " of host memory instead of ",
                            format_bytes(limits_.host_bytes));
            options += options.empty() ? "max_host_bytes" : ", max_host_bytes";
        }
        return message("no plan for an image of ", convolume::to_string(problem_.image),
                       " and a kernel of ", convolume::to_string(problem_.kernel),
                       " fits the memory limits: ", cure, " (", options, ")");
    }

  private:
    // The fastest that fits, or the simplest that is hardly slower.
    void choose() {
        double least_s = std::numeric_limits<double>::infinity();
        for (const Weighed& weighed : weighed_)
            if (weighed.candidate.rejected.empty())
                least_s = std::min(least_s, weighed.candidate.seconds);
        const auto rank = [](const Weighed& weighed) {
            const PlanCandidate& candidate = weighed.candidate;
            return std::pair(candidate.parts * element_count(candidate.tiles), candidate.seconds);
        };
        for (const Weighed& weighed : weighed_)
            if (weighed.candidate.rejected.empty() &&
                weighed.candidate.seconds <= least_s * (1 + model_error) &&
                (!best_ || rank(weighed) < rank(*best_)))
                best_ = &weighed;
    }

    // A number of parts asks for a split.
    bool allows(Method method) const {
        return options_.method == method ||
               (options_.method == Method::automatic && options_.parts == 0);
    }

    GridRule grid_rule(int axis, Algorithm algorithm, int parts) const {
        return {algorithm == Algorithm::fft ? engines_.front().get() : nullptr, axis, parts,
                problem_.complex_data, problem_.precision};
    }

    void weigh_whole(Method method, int parts) {
        Layout layout{method, Algorithm::fft, parts, false, {}};
        for (int a = 0; a < 3; ++a)
            layout.axes[static_cast<std::size_t>(a)] =
                tile_axis(problem_.axis(a), 1, grid_rule(a, Algorithm::fft, parts));
        weighed_.push_back(weigh(std::move(layout)));
    }

    // The best tiling, or the one that needs least where none fits.
    void weigh_tilings(Method method, Algorithm algorithm) {
        struct Choice {
            AxisTiling tiling;
            BlockAxis largest;
        };
        const Layout shape{
            method, algorithm, 1, algorithm == Algorithm::fft && engines_.front()->can_walk(), {}};
        std::array<std::vector<Choice>, 3> choices;
        for (int a = 0; a < 3; ++a) {
            const AxisProblem axis = problem_.axis(a);
            const index_t extent = axis.out_end - axis.out_begin;
            GridRule rule = grid_rule(a, algorithm, 1);
            rule.may_be_periodic = a > 0 || !shape.walks;
            for (const index_t count : tile_counts(extent)) {
                AxisTiling tiling = tile_axis(axis, count, rule);
                const BlockAxis largest = tiling.largest();
                choices[static_cast<std::size_t>(a)].push_back({std::move(tiling), largest});
            }
        }
        std::optional<Weighed> best;
        std::array<const Choice*, 3> best_choice{};
        for (const Choice& z : choices[0])
            for (const Choice& y : choices[1])
                for (const Choice& x : choices[2]) {
                    const Index3 tiles{z.tiling.count(), y.tiling.count(), x.tiling.count()};
                    if (element_count(tiles) > max_tiles) break;
                    Weighed weighed;
                    const std::array<BlockAxis, 3> axes{z.largest, y.largest, x.largest};
                    const Block block = part_block(problem_, shape, 0, axes);
                    weigh_blocks(shape, tiles, axes, 0, block, block, weighed);
                    if (best && !is_better(weighed.candidate, best->candidate)) continue;
                    best = std::move(weighed);
                    best_choice = {&z, &y, &x};
                }
        best->layout = shape;
        for (std::size_t a = 0; a < 3; ++a) best->layout.axes[a] = best_choice[a]->tiling;
        weighed_.push_back(std::move(*best));
    }

    // 1, 2, 3, 4, 6, 8, 12, …, extent
    static std::vector<index_t> tile_counts(index_t extent) {
        std::vector<index_t> counts;
        const index_t most = std::min(extent, max_tiles_per_axis);
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

    Weighed weigh(Layout layout) const {
        Weighed weighed;
        const std::array<BlockAxis, 3> axes{layout.axes[0].largest(), layout.axes[1].largest(),
                                            layout.axes[2].largest()};
        weigh_blocks(layout, layout.tiles(), axes, scratch_bytes(problem_, layout),
                     part_block(problem_, layout, 0, axes),
                     part_block(problem_, layout, layout.parts - 1, axes), weighed);
        weighed.layout = std::move(layout);
        return weighed;
    }

    // `first` is the block of part 0, `other` of all further parts; of `layout` only its kind
    // counts.
    void weigh_blocks(const Layout& layout, const Index3& tiles,
                      const std::array<BlockAxis, 3>& axes, index_t scratch, const Block& first,
                      const Block& other, Weighed& weighed) const {
        const int parts = layout.parts;
        PlanCandidate& candidate = weighed.candidate;
        candidate.method = layout.method;
        candidate.algorithm = layout.algorithm;
        candidate.parts = parts;
        candidate.tiles = tiles;
        candidate.grid = {axes[0].grid, axes[1].grid, axes[2].grid};

        const index_t image_bytes = bytes_of(problem_.image, problem_.image_type);
        const index_t output_bytes = bytes_of(problem_.output.shape(), problem_.output_type);
        const index_t tasks = parts > 1 ? parts : element_count(tiles);
        const bool streams = problem_.streamed && parts == 1;
        const bool holds = streams && !engines_.front()->info().streams;
        const index_t held_bytes =
            problem_.streamed && parts > 1
                ? Bands(problem_, parts, scratch_shape(problem_, layout)).bytes()
            : !streams ? checked_add(image_bytes, output_bytes)
            : holds
                ? checked_multiply(static_cast<index_t>(engines_.size()),
                                   HeldTasks::bytes(first, problem_.image,
                                                    checked_multiply(tasks, problem_.executions)))
                : 0;
        candidate.host_bytes =
            checked_add(held_bytes, checked_add(scratch, problem_.other_host_bytes));

        int host_threads = 0;
        index_t kernels_beyond_one = 0;
        const auto engine_count = static_cast<index_t>(engines_.size());
        for (const auto& engine : engines_) {
            host_threads += engine->info().threads;
            const BlockCost a = engine->estimate(within_limits(first));
            const BlockCost b = parts > 1 ? engine->estimate(within_limits(other)) : a;
            const index_t workspace = std::max(a.workspace_bytes, b.workspace_bytes);
            const index_t one_kernel = std::max(a.kernel_bytes, b.kernel_bytes);
            const index_t all_kernels =
                checked_add(a.kernel_bytes, checked_multiply(parts - 1, b.kernel_bytes));
            kernels_beyond_one = all_kernels - one_kernel;
            const index_t limit = limits_.engine_bytes.value_or(0);
            const auto bytes_of = [&](index_t in_flight, bool keep) {
                return checked_add(checked_multiply(in_flight, workspace),
                                   keep ? all_kernels : one_kernel);
            };
            const auto fits_engine = [&](index_t bytes) { return limit == 0 || bytes <= limit; };
            // Several in flight are worth more than kernels kept: transfers cost most.
            index_t in_flight =
                std::min<index_t>(engine->info().tasks_in_flight, ceil_div(tasks, engine_count));
            while (in_flight > 1 && !fits_engine(bytes_of(in_flight, false))) --in_flight;
            const bool keep = fits_engine(bytes_of(in_flight, true));
            const index_t bytes = bytes_of(in_flight, keep);
            weighed.keep_kernels = weighed.keep_kernels && keep;
            candidate.engine_bytes = std::max(candidate.engine_bytes, bytes);
            candidate.block_bytes =
                std::max(candidate.block_bytes, checked_add(workspace, one_kernel));
            candidate.on_gpu = engine->info().is_gpu;
            candidate.slab_planes = b.slab_planes;
            candidate.tasks_in_flight =
                engine == engines_.front()
                    ? static_cast<int>(in_flight)
                    : std::min(candidate.tasks_in_flight, static_cast<int>(in_flight));
            candidate.host_bytes = checked_add(
                candidate.host_bytes, engine->info().is_gpu
                                          ? in_flight * std::max(a.staging_bytes, b.staging_bytes)
                                          : bytes);
            if (scratch > 0)
                candidate.host_bytes = checked_add(
                    candidate.host_bytes, (problem_.streamed ? Bands::in_flight : 1) *
                                              engine->info().threads * split_bytes_per_thread);
            // Tasks are handed out as engines become free: the last one may end alone.
            const double alone_s =
                std::max(a.seconds, b.seconds) + (holds ? held_task_overhead_s : task_overhead_s);
            const index_t side_by_side = holds ? index_t{HeldTasks::in_flight} : in_flight;
            const double interval_s = side_by_side > 1
                                          ? std::max({a.interval_s(), b.interval_s(),
                                                      alone_s / static_cast<double>(side_by_side)})
                                          : alone_s;
            // Of every image where only few are expected, kernels and first use included.
            const double prepare_s =
                problem_.executions > 0
                    ? a.first_use_s + a.kernel_s + static_cast<double>(parts - 1) * b.kernel_s
                    : 0;
            const index_t all_tasks = checked_multiply(tasks, images_counted());
            candidate.seconds = std::max(
                candidate.seconds,
                prepare_s + alone_s +
                    interval_s * static_cast<double>(ceil_div(all_tasks, engine_count) - 1));
            if (engine == engines_.front())
                add_stages(first, a, parts > 1 ? other : first, b, tasks, streams, candidate);
        }
        // Engines in host memory keep kernels where there is room for them beside all else.
        if (!candidate.on_gpu && weighed.keep_kernels &&
            candidate.host_bytes > limits_.host_bytes) {
            weighed.keep_kernels = false;
            candidate.host_bytes -= engine_count * kernels_beyond_one;
            candidate.engine_bytes -= kernels_beyond_one;
        }
        const auto images = static_cast<double>(images_counted());
        PlanStages& stages = candidate.stages;
        if (problem_.streamed && parts > 1 && candidate.host_bytes > limits_.host_bytes)
            put_on_disk(scratch, candidate);
        if (scratch > 0) {
            const int cores = std::min(host_threads, cores_to_fill_memory);
            const double bytes =
                images * static_cast<double>(image_bytes + 2 * scratch + output_bytes);
            stages.split_and_merge = {whole(bytes), bytes / (core_bytes_per_s * cores)};
            candidate.seconds += stages.split_and_merge.seconds;
            if (problem_.executions > 0)
                candidate.seconds +=
                    static_cast<double>(scratch) / (first_touch_bytes_per_s * cores);
        }
        if (problem_.streamed && problem_.executions > 0) candidate.seconds += stream_overhead_s;
        if (problem_.streamed && !streams) {
            const double read = images * static_cast<double>(image_bytes);
            const double written = images * static_cast<double>(output_bytes);
            stages.read = {whole(read), read / problem_.source_bytes_per_s};
            stages.write = {whole(written), written / problem_.sink_bytes_per_s};
            candidate.seconds += stages.read.seconds + stages.write.seconds;
        }
    }

    // A split volume that memory has no room for: scratch files, of which the parts in flight are
    // in memory. Every sample is written and read twice.
    void put_on_disk(index_t scratch, PlanCandidate& candidate) const {
        const index_t part = ceil_div(scratch, candidate.parts);
        const index_t in_memory =
            engines_.front()->info().streams
                ? 0
                : checked_multiply(static_cast<index_t>(engines_.size()),
                                   checked_multiply(LoadedParts::in_flight, part));
        candidate.scratch_file_bytes = scratch;
        candidate.host_bytes = checked_add(candidate.host_bytes - scratch, in_memory);
        candidate.seconds += 2 * static_cast<double>(images_counted()) *
                             static_cast<double>(scratch) *
                             (1 / problem_.source_bytes_per_s + 1 / problem_.sink_bytes_per_s);
    }

    // What the blocks of all images take: `a` of the first block of an image, `b` of each other.
    void add_stages(const Block& first, const BlockCost& a, const Block& other, const BlockCost& b,
                    index_t tasks, bool streams, PlanCandidate& candidate) const {
        const auto images = static_cast<double>(images_counted());
        const auto engines = static_cast<double>(engines_.size());
        const auto sum = [&](double of_first, double of_other) {
            return images * (of_first + static_cast<double>(tasks - 1) * of_other);
        };
        const auto source_bytes = [&](const Block& block) {
            const index_t planes = std::min(block.axes[0].loaded, problem_.image.z);
            return static_cast<double>(candidate.parts > 1 ? block.axes[0].loaded : planes) *
                   static_cast<double>(block.source_plane) *
                   static_cast<double>(size_of(block.source_type));
        };
        const auto target_bytes = [&](const Block& block) {
            const Shape3 kept = block.kept();
            return static_cast<double>(kept.z) * static_cast<double>(kept.y) *
                   static_cast<double>(kept.x) * static_cast<double>(size_of(block.target_type));
        };
        const index_t in = whole(sum(source_bytes(first), source_bytes(other)));
        const index_t out = whole(sum(target_bytes(first), target_bytes(other)));
        PlanStages& stages = candidate.stages;
        stages.convolve = {0, sum(a.compute_s, b.compute_s) / engines};
        if (candidate.on_gpu) {
            stages.to_gpu = {in, sum(a.host_to_device_s, b.host_to_device_s) / engines};
            stages.from_gpu = {out, sum(a.device_to_host_s, b.device_to_host_s) / engines};
        }
        if (streams) {
            stages.read = {in, sum(a.read_s, b.read_s)};
            stages.write = {out, sum(a.write_s, b.write_s)};
        }
    }

    // Bytes as a number of them, however many.
    static index_t whole(double bytes) { return static_cast<index_t>(std::min(bytes, 9e18)); }

    index_t images_counted() const { return std::max<index_t>(problem_.executions, 1); }

    // Tasks go to any engine: all lay them out for the one with least memory.
    Block within_limits(Block block) const {
        block.memory_bytes = limits_.engine_bytes.value_or(0);
        return block;
    }

    static index_t bytes_of(const Shape3& shape, PixelType type) {
        return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
    }

    std::string why_not(const PlanCandidate& candidate) const {
        if (limits_.engine_bytes && candidate.engine_bytes > *limits_.engine_bytes)
            return message("needs ", format_bytes(candidate.engine_bytes),
                           " on an engine limited to ", format_bytes(*limits_.engine_bytes));
        if (candidate.host_bytes > limits_.host_bytes)
            return message("needs ", format_bytes(candidate.host_bytes),
                           " of host memory limited to ", format_bytes(limits_.host_bytes));
        return {};
    }

    index_t excess(const PlanCandidate& candidate) const {
        return std::max<index_t>(
            0, candidate.engine_bytes - limits_.engine_bytes.value_or(candidate.engine_bytes));
    }

    const Problem& problem_;
    const Options& options_;
    EngineList engines_;
    Limits limits_;
    std::vector<Weighed> weighed_;
    const Weighed* best_ = nullptr;
};

}  // namespace

TaskPlan make_plan(const Problem& problem, const Options& options, const EngineList& engines) {
    if (engines.empty()) throw InvalidArgument("a plan needs at least one engine");
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

    std::vector<Planner> planners;
    std::vector<std::vector<int>> indices;
    for (const bool gpu : {true, false}) {
        EngineList kind;
        std::vector<int> members;
        for (std::size_t i = 0; i < engines.size(); ++i)
            if (engines[i]->info().is_gpu == gpu) {
                kind.push_back(engines[i]);
                members.push_back(static_cast<int>(i));
            }
        if (kind.empty()) continue;
        planners.emplace_back(problem, options, kind);
        indices.push_back(std::move(members));
    }
    TaskPlan plan;
    plan.problem = problem;
    const Planner* best = nullptr;
    for (std::size_t i = 0; i < planners.size(); ++i) {
        Planner& planner = planners[i];
        planner.weigh_all();
        for (const Weighed& weighed : planner.weighed())
            plan.candidates.push_back(weighed.candidate);
        if (!planner.best()) continue;
        if (best && best->best()->candidate.seconds <= planner.best()->candidate.seconds) continue;
        best = &planner;
        plan.engine_indices = indices[i];
    }
    if (plan.candidates.empty())
        throw Unavailable(
            message("method ", to_string(options.method), " does not run on a GPU: use the CPU"));
    if (!best) {
        for (const Planner& planner : planners)
            if (!planner.weighed().empty()) throw OutOfMemory(planner.nothing_fits());
    }
    plan.chosen = best->best()->candidate;
    plan.keep_kernels = best->best()->keep_kernels;
    for (const auto& engine : best->engines()) plan.engines.push_back(engine->info().name);
    plan.host_limit_bytes = best->host_limit_bytes();
    lay_out(problem, best->best()->layout, plan);
    if (plan.chosen.on_gpu)
        for (Block& block : plan.blocks) block.memory_bytes = plan.chosen.block_bytes;
    return plan;
}

}  // namespace convolume
