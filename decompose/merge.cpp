// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "decompose/passes.hpp"

namespace convolume::decompose {

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
