// SPDX-License-Identifier: Apache-2.0
#include "volumes/candidate.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume {

namespace {

// Whether the grid may be the period of a wrap boundary, which then needs no padding: the engine's
// FFT must be fast at that length.
bool period_is_good_grid(const AxisProblem& problem, const GridRule& rule) {
    return problem.may_have_periodic_grid() &&
           rule.engine->is_good_length(rule.axis, problem.image, rule.parts, rule.complex_data,
                                       rule.precision);
}

// Returns the begin, rounded down, of section `index` of `count` equal ones of [0, extent).
index_t section_begin(index_t extent, index_t index, index_t count) {
    return extent / count * index + extent % count * index / count;
}

}  // namespace

BlockAxis AxisTiling::largest() const {
    BlockAxis largest = block_axis(windows.front());
    for (const AxisWindow& window : windows) {
        largest.loaded = std::max(largest.loaded, window.loaded());
        largest.kept = std::max(largest.kept, window.kept());
    }
    largest.kept_begin = std::min(largest.kept_begin, largest.grid - largest.kept);
    return largest;
}

AxisTiling tile_axis(const AxisProblem& problem, index_t count, const GridRule& rule) {
    const bool fft = rule.engine != nullptr;
    const bool periodic =
        fft && count == 1 && rule.may_be_periodic && period_is_good_grid(problem, rule);
    const index_t extent = problem.out_end - problem.out_begin;
    AxisTiling tiling;
    tiling.windows.reserve(static_cast<std::size_t>(count));
    for (index_t i = 0; i < count; ++i) {
        const AxisWindow window =
            axis_window(problem, problem.out_begin + section_begin(extent, i, count),
                        problem.out_begin + section_begin(extent, i + 1, count), periodic);
        tiling.grid = std::max(tiling.grid, window.grid);
        tiling.windows.push_back(window);
    }
    if (fft && !periodic)
        tiling.grid = rule.engine->good_length(rule.axis, tiling.grid, rule.parts,
                                               rule.complex_data, rule.precision);
    for (AxisWindow& window : tiling.windows) window.grid = tiling.grid;
    return tiling;
}

Block part_block(const ConvolutionProblem& problem, const CandidateLayout& layout, int part,
                 const std::array<BlockAxis, 3>& axes) {
    Block block;
    block.axes = axes;
    block.algorithm = layout.algorithm;
    block.precision = problem.precision;
    block.complex_data = problem.complex_data;
    block.complex_kernel = problem.complex_kernel;
    block.walks = layout.walks;
    // Tiles at a wrapped edge read from both ends of an axis, so the whole axis is transferred.
    const auto transferred = [&](int axis) {
        const index_t loaded = axes[static_cast<std::size_t>(axis)].loaded;
        const index_t image = problem.image[axis];
        return problem.boundary == BoundaryKind::wrap ? image : std::min(loaded, image);
    };
    block.source_plane = checked_multiply(transferred(1), transferred(2));
    block.whole_rows = axes[2].kept >= problem.output.shape().x;
    block.source_type = problem.image_type;
    block.target_type = problem.output_type;
    if (problem.streamed && layout.parts == 1) {
        block.source_bytes_per_s = problem.source_bytes_per_s;
        block.target_bytes_per_s = problem.sink_bytes_per_s;
    }
    if (layout.parts > 1) {
        const bool halved = !problem.complex_data && part > 0;
        const index_t planes = axes[0].grid / layout.parts / (halved ? 2 : 1);
        block.axes[0] = {planes, planes, std::min(axes[0].kernel, planes), 0, planes};
        block.complex_data = problem.complex_data || halved;
        block.source_type = block.target_type = sample_type(problem.precision, block.complex_data);
        block.staging_engines = 0;
    }
    return block;
}

Shape3 scratch_shape(const ConvolutionProblem& problem, const CandidateLayout& layout) {
    if (layout.parts == 1) return {0, 0, 0};
    // Parts hold the image's rows and columns, which engines continue, and are convolved in place.
    return {layout.axes[0].grid, std::max(problem.image.y, layout.axes[1].windows[0].kept()),
            std::max(problem.image.x, layout.axes[2].windows[0].kept())};
}

index_t scratch_bytes(const ConvolutionProblem& problem, const CandidateLayout& layout) {
    const index_t sample = sample_bytes(problem.precision, problem.complex_data);
    return Buffer::rounded_bytes(
        checked_multiply(element_count(scratch_shape(problem, layout)), sample));
}

void fill_task_plan(const ConvolutionProblem& problem, const CandidateLayout& layout,
                    TaskPlan& plan) {
    plan.blocks.clear();
    plan.tasks.clear();
    plan.scratch = scratch_shape(problem, layout);
    plan.scratch_bytes = scratch_bytes(problem, layout);
    for (std::size_t a = 0; a < 3; ++a) {
        const AxisProblem axis = problem.axis(static_cast<int>(a));
        const AxisTiling& tiling = layout.axes[a];
        plan.windows[a] = tiling.count() == 1 ? tiling.windows[0]
                                              : axis_window(axis, axis.out_begin, axis.out_end);
    }

    const auto add_task = [&](const std::array<AxisWindow, 3>& windows, const PartId& part) {
        const Block block =
            part_block(problem, layout, part.index,
                       {block_axis(windows[0]), block_axis(windows[1]), block_axis(windows[2])});
        const auto known = std::find(plan.blocks.begin(), plan.blocks.end(), block);
        plan.tasks.push_back({windows, part, static_cast<int>(known - plan.blocks.begin())});
        if (known == plan.blocks.end()) plan.blocks.push_back(block);
    };

    const index_t z_grid = layout.axes[0].grid;
    if (layout.parts > 1) {
        for (int part = 0; part < layout.parts; ++part)
            add_task(plan.windows, {part, layout.parts, z_grid});
        return;
    }
    for (const AxisWindow& z : layout.axes[0].windows)
        for (const AxisWindow& y : layout.axes[1].windows)
            for (const AxisWindow& x : layout.axes[2].windows) add_task({z, y, x}, {0, 1, z_grid});
}

}  // namespace convolume
