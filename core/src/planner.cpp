#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>

#include "convolume/error.hpp"
#include "layout.hpp"

namespace convolume {

namespace {

// Bytes a second that the host moves while splitting and merging: one core's streaming copy, below
// what any machine we measured does with all of them.
constexpr double host_bytes_per_s = 30e9;
// What a thread holds while it splits or merges: the rows of a few butterflies.
constexpr index_t split_bytes_per_thread = index_t{704} << 10;
// What handing out a task costs besides its work: keeps tiles from becoming grains.
constexpr double task_overhead_s = 50e-6;
// More tiles than this would only mean that the limit is absurd.
constexpr index_t max_tiles = 1 << 20;
constexpr index_t max_tiles_per_axis = 1 << 12;

struct Limits {
    index_t host_bytes;
    std::optional<index_t> engine_bytes;  ///< the least of the engines' limits
};

std::optional<index_t> number_in(const char* path) {
    std::ifstream file(path);
    index_t number = 0;
    if (file >> number) return number;
    return {};  // absent, or the word "max"
}

// What the system has left, and the container or batch job that this process may be part of.
index_t available_host_bytes() {
    index_t available = index_t{8} << 30;  // an unknown system: a common desktop's half
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    index_t kib = 0;
    while (meminfo >> key >> kib) {
        if (key == "MemAvailable:") {
            available = kib * 1024;
            break;
        }
        meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    for (const auto& [limit_file, use_file] :
         {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
          {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
           "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
        const auto limit = number_in(limit_file);
        const auto use = number_in(use_file);
        if (limit && use) available = std::min(available, std::max<index_t>(0, *limit - *use));
    }
    return available;
}

Limits find_limits(const Options& options, const EngineList& engines) {
    Limits limits{options.max_host_bytes.value_or(available_host_bytes() / 4 * 3), {}};
    for (const auto& engine : engines) {
        const index_t limit = engine->info().memory_limit_bytes;
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
    Candidate candidate;
    bool keep_kernels = true;
};

class Planner {
  public:
    Planner(const Problem& problem, const Options& options, const EngineList& engines)
        : problem_(problem),
          options_(options),
          engines_(engines),
          limits_(find_limits(options, engines)) {}

    Plan plan() {
        if (allows(Method::in_core)) weigh_whole(Method::in_core, 1);
        if (allows(Method::dif) || options_.parts > 0)
            for (const int parts : {1, 2, 4, 8, 16})
                // One part is the undivided transform: worth a line only when asked for by name.
                if (options_.parts == parts ||
                    (options_.parts == 0 && (parts > 1 || options_.method == Method::dif)))
                    weigh_whole(Method::dif, parts);
        if (allows(Method::tiled)) weigh_tilings(Method::tiled, Algorithm::fft);
        if (allows(Method::direct))
            weigh_tilings(Method::direct,
                          problem_.rank1_kernel ? Algorithm::separable : Algorithm::direct);
        return chosen_plan();
    }

  private:
    // A number of parts asks for a split.
    bool allows(Method method) const {
        return options_.method == method ||
               (options_.method == Method::automatic && options_.parts == 0);
    }

    bool is_real() const { return !problem_.complex_data; }

    void weigh_whole(Method method, int parts) {
        Layout layout{method, Algorithm::fft, parts, {}};
        const index_t z_step = parts > 1 ? parts * (is_real() ? 2 : 1) : 1;
        const index_t steps[3] = {z_step, 1, is_real() ? 2 : 1};
        for (int a = 0; a < 3; ++a)
            layout.axes[static_cast<std::size_t>(a)] =
                tile_axis(problem_.axis(a), 1, steps[a], Algorithm::fft);
        weighed_.push_back(weigh(std::move(layout)));
    }

    // The best tiling, or the one that needs least where none fits.
    void weigh_tilings(Method method, Algorithm algorithm) {
        struct Choice {
            AxisTiling tiling;
            BlockAxis largest;
        };
        std::array<std::vector<Choice>, 3> choices;
        for (int a = 0; a < 3; ++a) {
            const AxisProblem axis = problem_.axis(a);
            const index_t extent = axis.out_end - axis.out_begin;
            const index_t step = a == 2 && is_real() ? 2 : 1;
            for (const index_t count : tile_counts(extent)) {
                AxisTiling tiling = tile_axis(axis, count, step, algorithm);
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
                    const Layout shape{method, algorithm, 1, {}};
                    const std::array<BlockAxis, 3> axes{z.largest, y.largest, x.largest};
                    const Block block = part_block(problem_, shape, 0, axes);
                    weigh_blocks(shape, tiles, axes, 0, block, block, weighed);
                    if (best && !is_better(weighed.candidate, best->candidate)) continue;
                    best = std::move(weighed);
                    best_choice = {&z, &y, &x};
                }
        best->layout = {method,
                        algorithm,
                        1,
                        {best_choice[0]->tiling, best_choice[1]->tiling, best_choice[2]->tiling}};
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

    bool fits(const Candidate& candidate) const {
        return candidate.host_bytes <= limits_.host_bytes &&
               candidate.engine_bytes <= limits_.engine_bytes.value_or(candidate.engine_bytes);
    }

    bool is_better(const Candidate& a, const Candidate& b) const {
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
        Candidate& candidate = weighed.candidate;
        candidate.method = layout.method;
        candidate.algorithm = layout.algorithm;
        candidate.parts = parts;
        candidate.tiles = tiles;
        candidate.grid = {axes[0].grid, axes[1].grid, axes[2].grid};

        const index_t image_bytes = bytes_of(problem_.image, problem_.image_type);
        const index_t output_bytes = bytes_of(problem_.output.shape(), problem_.output_type);
        candidate.host_bytes = checked_add(checked_add(image_bytes, output_bytes),
                                           checked_add(scratch, problem_.other_host_bytes));

        double slowest_task_s = 0;
        double work_s = 0;
        for (const auto& engine : engines_) {
            const BlockCost a = engine->estimate(first);
            const BlockCost b = parts > 1 ? engine->estimate(other) : a;
            const index_t workspace = std::max(a.workspace_bytes, b.workspace_bytes);
            const index_t all_kernels =
                checked_add(a.kernel_bytes, checked_multiply(parts - 1, b.kernel_bytes));
            const index_t limit = engine->info().memory_limit_bytes;
            const bool keep = limit == 0 || checked_add(workspace, all_kernels) <= limit;
            const index_t one_kernel = std::max(a.kernel_bytes, b.kernel_bytes);
            const index_t bytes = checked_add(workspace, keep ? all_kernels : one_kernel);
            weighed.keep_kernels = weighed.keep_kernels && keep;
            candidate.engine_bytes = std::max(candidate.engine_bytes, bytes);
            if (!engine->info().is_gpu)
                candidate.host_bytes = checked_add(candidate.host_bytes, bytes);
            if (scratch > 0)
                candidate.host_bytes = checked_add(candidate.host_bytes,
                                                   engine->info().threads * split_bytes_per_thread);
            const double task_s = std::max(a.total_s(), b.total_s()) + task_overhead_s;
            slowest_task_s = std::max(slowest_task_s, task_s);
            work_s = std::max(
                work_s, parts > 1
                            ? a.total_s() + (parts - 1) * b.total_s() + parts * task_overhead_s
                            : task_s * static_cast<double>(element_count(tiles)));
        }
        // Tasks are handed out as engines become free: the last one may end alone.
        const index_t tasks = parts > 1 ? parts : element_count(tiles);
        const auto engine_count = static_cast<index_t>(engines_.size());
        candidate.seconds =
            std::max(work_s / static_cast<double>(engine_count),
                     slowest_task_s * static_cast<double>(ceil_div(tasks, engine_count)));
        if (scratch > 0)
            candidate.seconds +=
                static_cast<double>(image_bytes + 2 * scratch + output_bytes) / host_bytes_per_s;
    }

    static index_t bytes_of(const Shape3& shape, PixelType type) {
        return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
    }

    Plan chosen_plan() {
        const Weighed* best = nullptr;
        for (Weighed& weighed : weighed_) {
            weighed.candidate.rejected = why_not(weighed.candidate);
            if (weighed.candidate.rejected.empty() &&
                (!best || weighed.candidate.seconds < best->candidate.seconds))
                best = &weighed;
        }
        if (!best) throw OutOfMemory(nothing_fits());

        Plan plan;
        plan.problem = problem_;
        plan.chosen = best->candidate;
        plan.keep_kernels = best->keep_kernels;
        for (const Weighed& weighed : weighed_) plan.candidates.push_back(weighed.candidate);
        for (const auto& engine : engines_) plan.engines.push_back(engine->info().name);
        plan.host_limit_bytes = limits_.host_bytes;
        lay_out(problem_, best->layout, plan);
        return plan;
    }

    std::string why_not(const Candidate& candidate) const {
        if (limits_.engine_bytes && candidate.engine_bytes > *limits_.engine_bytes)
            return message("needs ", format_bytes(candidate.engine_bytes),
                           " on an engine limited to ", format_bytes(*limits_.engine_bytes));
        if (candidate.host_bytes > limits_.host_bytes)
            return message("needs ", format_bytes(candidate.host_bytes),
                           " of host memory limited to ", format_bytes(limits_.host_bytes));
        return {};
    }

    // Names the limit to raise: the engines' when no candidate fits it, else the host's.
    std::string nothing_fits() const {
        const auto least = std::min_element(
            weighed_.begin(), weighed_.end(), [&](const Weighed& a, const Weighed& b) {
                return std::pair(excess(a.candidate), a.candidate.host_bytes) <
                       std::pair(excess(b.candidate), b.candidate.host_bytes);
            });
        const Candidate& candidate = least->candidate;
        std::string cure;
        if (excess(candidate) > 0)
            cure = message("allow each engine ", size_to_allow(candidate.engine_bytes),
                           " instead of ", format_bytes(*limits_.engine_bytes));
        if (candidate.host_bytes > limits_.host_bytes)
            cure += message(cure.empty() ? "allow " : " and allow ",
                            size_to_allow(candidate.host_bytes), " of host memory instead of ",
                            format_bytes(limits_.host_bytes));
        return message("no plan for an image of ", convolume::to_string(problem_.image),
                       " and a kernel of ", convolume::to_string(problem_.kernel),
                       " fits the memory limits: ", cure);
    }

    index_t excess(const Candidate& candidate) const {
        return std::max<index_t>(
            0, candidate.engine_bytes - limits_.engine_bytes.value_or(candidate.engine_bytes));
    }

    const Problem& problem_;
    const Options& options_;
    const EngineList& engines_;
    Limits limits_;
    std::vector<Weighed> weighed_;
};

}  // namespace

Plan make_plan(const Problem& problem, const Options& options, const EngineList& engines) {
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
    return Planner(problem, options, engines).plan();
}

}  // namespace convolume
