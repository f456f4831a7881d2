// SPDX-License-Identifier: Apache-2.0
#include "tests/volumes/plan_checks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "convolume/error.hpp"
#include "engines/engines.hpp"

namespace convolume::testing {
namespace {

using Range = std::pair<index_t, index_t>;

/// Returns whether the ranges, in order, follow each other without gaps from begin to end.
bool reunite(const std::set<Range>& ranges, index_t begin, index_t end) {
    index_t at = begin;
    for (const Range& range : ranges) {
        if (range.first != at || range.second <= range.first) return false;
        at = range.second;
    }
    return at == end;
}

std::string broken_tiles(const TaskPlan& plan) {
    std::set<Range> ranges[3];
    std::set<std::array<Range, 3>> boxes;
    for (const Task& task : plan.tasks) {
        std::array<Range, 3> box;
        for (int a = 0; a < 3; ++a) {
            const AxisWindow& window = task.windows[static_cast<std::size_t>(a)];
            box[static_cast<std::size_t>(a)] = {window.out_begin, window.out_end};
            ranges[a].insert(box[static_cast<std::size_t>(a)]);
        }
        if (!boxes.insert(box).second) return "a tile occurs twice";
    }
    for (int a = 0; a < 3; ++a) {
        if (!reunite(ranges[a], plan.problem.output.begin[a], plan.problem.output.end[a]))
            return message("tiles do not reunite along ", axis_name(a));
        if (static_cast<index_t>(ranges[a].size()) != plan.chosen.tiles[a])
            return message("tiles along ", axis_name(a), " are not as many as the plan says");
    }
    // The tiles are distinct. If their number is the product of the numbers of ranges, no box is
    // missing.
    if (boxes.size() != ranges[0].size() * ranges[1].size() * ranges[2].size())
        return "a tile is missing";
    return {};
}

std::string broken_parts(const TaskPlan& plan) {
    const int parts = plan.chosen.parts;
    std::set<int> indices;
    const index_t z_grid = plan.tasks.empty() ? 0 : plan.tasks[0].part.z_grid;
    for (const Task& task : plan.tasks) {
        indices.insert(task.part.index);
        if (task.part.count != parts || task.part.z_grid != z_grid)
            return "parts of different splits";
        const bool real_part = !plan.problem.complex_data && task.part.index == 0;
        const bool halves = !plan.problem.complex_data && parts > 1 && !real_part;
        const Block& block = plan.blocks.at(static_cast<std::size_t>(task.block));
        if (block.axes[0].grid * parts * (halves ? 2 : 1) != z_grid) return "a part's grid";
        if (block.complex_data != (plan.problem.complex_data || halves)) return "a part's kind";
    }
    if (static_cast<int>(indices.size()) != parts || static_cast<int>(plan.tasks.size()) != parts ||
        *indices.begin() != 0 || *indices.rbegin() != parts - 1)
        return "a part is missing";
    if (z_grid < plan.windows[0].grid) return "the split grid is shorter than the problem";
    return {};
}

std::string broken_blocks(const TaskPlan& plan) {
    for (const Task& task : plan.tasks) {
        const Block& block = plan.blocks.at(static_cast<std::size_t>(task.block));
        for (std::size_t a = 0; a < 3; ++a) {
            const BlockAxis& axis = block.axes[a];
            const AxisWindow& window = task.windows[a];
            const bool split_axis = a == 0 && task.part.count > 1;
            if (!split_axis &&
                (axis.loaded != window.loaded() || axis.kernel != window.kernel() ||
                 axis.kept != window.kept() || axis.kept_begin != window.kept_begin()))
                return message("a block is not its window along axis ", a);
            if (!split_axis && block.algorithm == Algorithm::fft && axis.grid < window.grid)
                return message("a grid too short along axis ", a);
            if (axis.loaded > axis.grid || axis.kept_begin + axis.kept > axis.grid ||
                axis.kept_begin < 0)
                return message("positions beyond the grid along axis ", a);
        }
    }
    return {};
}

}  // namespace

std::string broken_rule(const TaskPlan& plan, const EngineList& engines,
                        index_t engine_limit_bytes) {
    if (plan.tasks.empty() || plan.blocks.empty()) return "nothing to do";
    if (!plan.chosen.rejected.empty()) return "the chosen candidate is rejected";
    std::string broken = plan.chosen.parts > 1 ? broken_parts(plan) : broken_tiles(plan);
    if (broken.empty()) broken = broken_blocks(plan);
    if (!broken.empty()) return broken;
    for (const Block& block : plan.blocks)
        for (const auto& engine : engines) {
            const BlockCost cost = engine->estimate(block);
            const index_t needed = cost.workspace_bytes + cost.kernel_bytes;
            if (engine_limit_bytes > 0 && needed > engine_limit_bytes)
                return message("a block takes ", needed, " bytes of ", engine_limit_bytes);
            if (needed > plan.chosen.engine_bytes)
                return message("a block takes ", needed, " bytes, the plan says ",
                               plan.chosen.engine_bytes);
        }
    if (engine_limit_bytes > 0 && plan.chosen.engine_bytes > engine_limit_bytes)
        return "the engines' limit";
    if (plan.host_limit_bytes > 0 && plan.chosen.host_bytes > plan.host_limit_bytes)
        return "the host's limit";
    const bool listed =
        std::any_of(plan.candidates.begin(), plan.candidates.end(), [&](const PlanCandidate& c) {
            return c.method == plan.chosen.method && c.parts == plan.chosen.parts &&
                   c.algorithm == plan.chosen.algorithm;
        });
    return listed ? "" : "the chosen candidate is not among the candidates";
}

ConvolutionProblem same_problem(const Shape3& image, const Shape3& kernel, BoundaryKind boundary) {
    ConvolutionProblem problem;
    problem.image = image;
    problem.kernel = kernel;
    problem.boundary = boundary;
    for (int a = 0; a < 3; ++a) {
        problem.output.begin[a] = kernel[a] / 2;
        problem.output.end[a] = kernel[a] / 2 + image[a];
    }
    return problem;
}

}  // namespace convolume::testing
