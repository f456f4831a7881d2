// SPDX-License-Identifier: Apache-2.0
#pragma once
// Input of sums in space.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/engine.hpp"
#include "core/pixels/rows.hpp"

namespace convolume::cpu {

/// Input of a block whose gathers are widened by the extent of the kernel: the outputs that begin
/// at 0 along an axis need the samples from 0 to kernel - 1 of the widened gather.
struct WidenedInput {
    ConstImageView source;
    std::array<std::vector<index_t>, 2> gather;  ///< indices of source planes and source rows
    pixels::RowGather row;
    pixels::LoadOptions options;

    WidenedInput(const Block& block, const BlockInput& input)
        : source(input.source),
          gather{widen(input.gather[0], block.axes[0]), widen(input.gather[1], block.axes[1])},
          row(widen(input.gather[2], block.axes[2])),
          options{input.subtract, input.nonfinite_to_zero} {}

    /// Loads a span of a row. `plane` and `wide_row` are positions in the gathers.
    template <class Sample>
    void load(index_t plane, index_t wide_row, const pixels::RowSpan& span, Sample* out) const {
        const index_t z = gather[0][static_cast<std::size_t>(plane)];
        const index_t y = gather[1][static_cast<std::size_t>(wide_row)];
        if (z < 0 || y < 0)
            std::memset(static_cast<void*>(out), 0,
                        static_cast<std::size_t>(span.count) * sizeof(Sample));
        else
            pixels::load_span(source, z, y, row, span, options, out);
    }

    /// Begins to fetch a span of a row into the cache. It may lie beyond the last plane.
    void prefetch(index_t plane, index_t wide_row, const pixels::RowSpan& span) const {
        if (plane >= static_cast<index_t>(gather[0].size()) || source.strides.x != 1) return;
        const index_t z = gather[0][static_cast<std::size_t>(plane)];
        const index_t y = gather[1][static_cast<std::size_t>(wide_row)];
        const index_t begin = std::max(span.begin, row.run_begin());
        const index_t end = std::min(span.begin + span.count, row.run_end());
        if (z < 0 || y < 0 || begin >= end) return;
        constexpr index_t cache_line = 64;
        const auto* const first =
            static_cast<const char*>(source.at(z, y, row.run_source() + begin - row.run_begin()));
        const index_t bytes = (end - begin) * convolume::sample_bytes(source.type);
        for (index_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(first + i, 0, 2);
    }

  private:
    // Returns the source indices of positions kept_begin - (kernel-1) … kept_begin + kept - 1.
    static std::vector<index_t> widen(const std::vector<index_t>& gather, const BlockAxis& axis) {
        std::vector<index_t> wide(static_cast<std::size_t>(axis.kept + axis.kernel - 1), -1);
        for (std::size_t i = 0; i < wide.size(); ++i) {
            const index_t position = axis.kept_begin - (axis.kernel - 1) + static_cast<index_t>(i);
            if (position >= 0 && position < static_cast<index_t>(gather.size()))
                wide[i] = gather[static_cast<std::size_t>(position)];
        }
        return wide;
    }
};

}  // namespace convolume::cpu
