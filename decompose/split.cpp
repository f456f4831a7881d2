// SPDX-License-Identifier: Apache-2.0
#include "decompose/split.hpp"

#include <algorithm>
#include <cstring>

#include "core/pixels/rows.hpp"
#include "decompose/network.hpp"

namespace convolume::decompose {

namespace {

void check_input(const BlockInput& input, const SplitLayout& layout) {
    check_layout(layout);
    const Shape3 extents{static_cast<index_t>(input.gather[0].size()),
                         static_cast<index_t>(input.gather[1].size()),
                         static_cast<index_t>(input.gather[2].size())};
    if (extents.z > layout.z_grid || extents.y > layout.rows || extents.x > layout.columns) {
        throw InvalidArgument(
            message("an image of ", to_string(extents), " samples does not fit a split volume of ",
                    to_string({layout.z_grid, layout.rows, layout.columns}), "; enlarge the grid"));
    }
    if (is_complex(input.source.type) && !layout.complex_data) {
        throw InvalidArgument(
            "a complex image cannot be split as real data; ask for a complex layout");
    }
}

/// T is the sample type of the undivided data.
template <class T, class Real>
index_t split_typed(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
                    const ExecutionContext& context, const StepRange& steps) {
    const Geometry<Real> geometry(layout);
    const auto factors = geometry.factors(false);
    const Workspace<Real> workspace(geometry, threads);
    const auto undivided = static_cast<std::size_t>(geometry.rows.undivided);
    const auto parts = static_cast<std::size_t>(geometry.rows.parts);
    const pixels::RowGather gather(input.gather[2]);
    const pixels::LoadOptions options{input.subtract, input.nonfinite_to_zero};
    const ConstImageView& source = input.source;
    const bool readable_in_place = source.type == pixel_type_of_v<T> && source.strides.x == 1 &&
                                   input.subtract == 0 && !input.nonfinite_to_zero;
    const bool streamed = layout.samples() * static_cast<index_t>(sizeof(T)) >= stream_bytes;
    std::vector<index_t> replaced(static_cast<std::size_t>(threads), 0);

    const auto source_plane = [&](index_t z) {
        const auto& planes = input.gather[0];
        return z < static_cast<index_t>(planes.size()) ? planes[static_cast<std::size_t>(z)] : -1;
    };

    const index_t step = geometry.block_for(gather.size());

    const index_t first = std::max(geometry.stored.begin, steps.begin);
    const index_t count_of_steps =
        std::max<index_t>(0, std::min(steps.end, geometry.stored.end) - first);
    for_each_row(count_of_steps, static_cast<index_t>(input.gather[1].size()), threads, context,
                 [&](int thread, index_t step_number, index_t y) {
                     const index_t n = first + step_number;
                     const index_t row = input.gather[1][static_cast<std::size_t>(y)];
                     for (index_t x = 0; x < gather.size(); x += step) {
                         const index_t count = std::min(step, gather.size() - x);
                         const bool whole = count % row_quantum == 0;
                         const bool in_place = readable_in_place && whole &&
                                               x >= gather.run_begin() &&
                                               x + count <= gather.run_end();
                         NetworkBlock<Real> block;
                         block.samples = round_up(count, row_quantum);
                         for (std::size_t q = 0; q < undivided; ++q) {
                             const index_t plane =
                                 source_plane(n + static_cast<index_t>(q) * geometry.networks);
                             if (plane < 0 || row < 0) {
                                 block.in[q] = workspace.zeros(thread);
                             } else if (in_place) {
                                 block.in[q] = static_cast<const Real*>(source.at(
                                     plane, row, gather.run_source() + x - gather.run_begin()));
                             } else {
                                 Real* loaded = workspace.in(thread, q);
                                 replaced[static_cast<std::size_t>(thread)] +=
                                     pixels::load_span(source, plane, row, gather, x, count,
                                                       options, reinterpret_cast<T*>(loaded));
                                 block.in[q] = loaded;
                             }
                         }
                         std::array<Real*, max_rows> target;
                         for (std::size_t p = 0; p < parts; ++p) {
                             target[p] = data + geometry.part_offset(p, n, y, x);
                             block.stream[p] = whole && streamed && is_line_aligned(target[p]);
                             const bool direct = whole && (block.stream[p] || !streamed);
                             block.out[p] = direct ? target[p] : workspace.out(thread, p);
                         }
                         split_block(layout.complex_data, layout.parts,
                                     factors[static_cast<std::size_t>(n)], block);
                         for (std::size_t p = 0; p < parts; ++p) {
                             if (block.out[p] == target[p]) continue;
                             const index_t reals = count * geometry.part_reals[p];
                             write_row(block.out[p], reals * static_cast<index_t>(sizeof(Real)),
                                       target[p], streamed);
                         }
                     }
                 });
    index_t total = 0;
    for (const index_t r : replaced) total += r;
    return total;
}

}  // namespace

template <class Real>
index_t split(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
              const ExecutionContext& context, const StepRange& steps) {
    check_input(input, layout);
    if (layout.complex_data) {
        return split_typed<std::complex<Real>>(input, layout, data, threads, context, steps);
    }
    return split_typed<Real>(input, layout, data, threads, context, steps);
}

template index_t split(const BlockInput&, const SplitLayout&, float*, int, const ExecutionContext&,
                       const StepRange&);
template index_t split(const BlockInput&, const SplitLayout&, double*, int, const ExecutionContext&,
                       const StepRange&);

namespace {

void check_output(const SplitLayout& layout, const std::vector<index_t>& scatter,
                  const ImageView& target) {
    check_layout(layout);
    const auto planes = static_cast<index_t>(scatter.size());
    const index_t last = scatter.empty() ? -1 : *std::max_element(scatter.begin(), scatter.end());
    if (planes > layout.z_grid || last >= target.shape.z || target.shape.y > layout.rows ||
        target.shape.x > layout.columns) {
        throw InvalidArgument(message(
            "an output of ", to_string(target.shape), " does not lie within a split volume of ",
            to_string({layout.z_grid, layout.rows, layout.columns}), "; enlarge the grid"));
    }
    if (layout.complex_data && !is_complex(target.type)) {
        throw InvalidArgument(message("complex data cannot be stored as ", to_string(target.type),
                                      "; ask for a complex type"));
    }
}

/// T is the sample type of the undivided data.
template <class T, class Real>
ClampCount merge_typed(const Real* data, const SplitLayout& layout,
                       const std::vector<index_t>& scatter, const BlockOutput& output, int threads,
                       const ExecutionContext& context) {
    const Geometry<Real> geometry(layout);
    const auto factors = geometry.factors(true);
    const Workspace<Real> workspace(geometry, threads);
    const auto undivided = static_cast<std::size_t>(geometry.rows.undivided);
    const auto parts = static_cast<std::size_t>(geometry.rows.parts);
    const ImageView& target = output.target;
    const bool plain =
        target.type == pixel_type_of_v<T> && target.strides.x == 1 && output.add == 0.0;
    const bool streamed =
        plain && element_count(target.shape) * static_cast<index_t>(sizeof(T)) >= stream_bytes;
    std::vector<ClampCount> clamped(static_cast<std::size_t>(threads));

    const index_t step = geometry.block_for(target.shape.x);

    const StepRange& stored = geometry.stored;
    for_each_row(stored.end - stored.begin, target.shape.y, threads, context,
                 [&](int thread, index_t step_number, index_t y) {
                     const index_t n = stored.begin + step_number;
                     std::array<index_t, max_rows> plane;  // of the target, or -1
                     bool needed = false;
                     for (std::size_t q = 0; q < undivided; ++q) {
                         const auto z = static_cast<std::size_t>(n) +
                                        q * static_cast<std::size_t>(geometry.networks);
                         plane[q] = z < scatter.size() ? scatter[z] : -1;
                         needed = needed || plane[q] >= 0;
                     }
                     if (!needed) return;
                     for (index_t x = 0; x < target.shape.x; x += step) {
                         const index_t count = std::min(step, target.shape.x - x);
                         const bool whole = count % row_quantum == 0;
                         NetworkBlock<Real> block;
                         block.samples = round_up(count, row_quantum);
                         for (std::size_t p = 0; p < parts; ++p) {
                             block.in[p] = data + geometry.part_offset(p, n, y, x);
                             if (whole) continue;
                             // Whole vectors could reach beyond the volume's end.
                             std::copy_n(block.in[p], count * geometry.part_reals[p],
                                         workspace.in(thread, p));
                             block.in[p] = workspace.in(thread, p);
                         }
                         for (std::size_t q = 0; q < undivided; ++q) {
                             block.out[q] = workspace.out(thread, q);
                             block.stream[q] = false;
                             if (plane[q] < 0 || !plain || !whole) continue;
                             auto* address = static_cast<Real*>(target.at(plane[q], y, x));
                             block.stream[q] = streamed && is_line_aligned(address);
                             if (block.stream[q] || !streamed) block.out[q] = address;
                         }
                         merge_block(layout.complex_data, layout.parts,
                                     factors[static_cast<std::size_t>(n)], block);
                         for (std::size_t q = 0; q < undivided; ++q) {
                             if (plane[q] < 0 || block.out[q] != workspace.out(thread, q)) continue;
                             if (plain) {
                                 write_row(block.out[q], count * static_cast<index_t>(sizeof(T)),
                                           target.at(plane[q], y, x), streamed);
                             } else {
                                 clamped[static_cast<std::size_t>(thread)] +=
                                     pixels::store_row(reinterpret_cast<const T*>(block.out[q]),
                                                       count, output.add, target, plane[q], y, x);
                             }
                         }
                     }
                 });
    ClampCount total;
    for (const ClampCount& c : clamped) total += c;
    return total;
}

}  // namespace

template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, const std::vector<index_t>& scatter,
                 const BlockOutput& output, int threads, const ExecutionContext& context) {
    check_output(layout, scatter, output.target);
    if (layout.complex_data) {
        return merge_typed<std::complex<Real>>(data, layout, scatter, output, threads, context);
    }
    return merge_typed<Real>(data, layout, scatter, output, threads, context);
}

template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, index_t z_begin,
                 const BlockOutput& output, int threads, const ExecutionContext& context) {
    const index_t planes = output.target.shape.z;
    if (z_begin < 0 || planes > layout.z_grid - z_begin)
        throw InvalidArgument(message("planes ", z_begin, " to ", z_begin + planes,
                                      " do not lie within a grid of ", layout.z_grid,
                                      " planes; enlarge the grid"));
    std::vector<index_t> scatter(static_cast<std::size_t>(z_begin), -1);
    for (index_t z = 0; z < planes; ++z) scatter.push_back(z);
    return merge(data, layout, scatter, output, threads, context);
}

template ClampCount merge(const float*, const SplitLayout&, index_t, const BlockOutput&, int,
                          const ExecutionContext&);
template ClampCount merge(const double*, const SplitLayout&, index_t, const BlockOutput&, int,
                          const ExecutionContext&);
template ClampCount merge(const float*, const SplitLayout&, const std::vector<index_t>&,
                          const BlockOutput&, int, const ExecutionContext&);
template ClampCount merge(const double*, const SplitLayout&, const std::vector<index_t>&,
                          const BlockOutput&, int, const ExecutionContext&);

}  // namespace convolume::decompose
