// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/direct.hpp"

#include <algorithm>
#include <complex>
#include <vector>

#include "core/engine.hpp"
#include "core/pixels/rows.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/vector_loops.hpp"
#include "cpu/volumes/widened_input.hpp"

namespace convolume::cpu {

namespace {

// Upper bound for the ring of a strip, so that it stays in the cache of a core.
constexpr index_t ring_bytes = 512 << 10;

// Taps of the longest sum. Longer sums are divided into those of tap groups, which are then added
// up, because the error of a float sum grows with its length.
constexpr index_t longest_sum = 256;

}  // namespace

StripLayout::StripLayout(const Block& block, int threads) {
    const BlockAxis& z = block.axes[0];
    const BlockAxis& y = block.axes[1];
    const BlockAxis& x = block.axes[2];
    line =
        round_up(x.kept + x.kernel - 1 + row_padding, static_cast<index_t>(Buffer::alignment / 4));
    const index_t ring_rows = ring_bytes / (line * block.sample_bytes()) / z.kernel;
    strip_rows =
        std::clamp<index_t>(ring_rows - (y.kernel - 1), std::min<index_t>(16, y.kept), y.kept);
    // Every thread needs strips. The block is cut along y first: strips along z load planes twice.
    strip_rows = std::clamp<index_t>(ceil_div(y.kept, 4 * threads),
                                     std::min<index_t>(8, strip_rows), strip_rows);
    strips_y = ceil_div(y.kept, strip_rows);
    strip_planes = ceil_div(z.kept, std::min(z.kept, ceil_div(2 * threads, strips_y)));
    strips_z = ceil_div(z.kept, strip_planes);
}

index_t StripLayout::scratch_bytes(const Block& block) const {
    // A ring of loaded rows and an output row.
    const index_t rows = 1 + block.axes[0].kernel * (strip_rows + block.axes[1].kernel - 1);
    return checked_multiply(checked_multiply(rows, line), block.sample_bytes());
}

namespace {

/// A kernel for sums in space, with taps in the order in which they are applied.
template <class Sample>
class DirectSumsKernel : public CpuKernel {
  public:
    /// `taps` are as in make_direct_kernel().
    explicit DirectSumsKernel(const ConstImageView& taps) : shape_(taps.shape) {
        const index_t count = element_count(shape_);
        taps_.resize(static_cast<std::size_t>(count));
        const pixels::RowGather row(identity_indices(shape_.x));
        for (index_t z = 0; z < shape_.z; ++z)
            for (index_t y = 0; y < shape_.y; ++y)
                pixels::load_row(taps, z, y, row, {}, taps_.data() + (z * shape_.y + y) * shape_.x);
        std::reverse(taps_.begin(), taps_.end());
    }

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override {
        const StripLayout layout(block, threads);
        const index_t scratch_bytes = workspace_layout(block, threads).scratch_bytes;
        const WidenedInput wide(block, input);
        ReportSum clamped;
        ParallelLoop(threads, context).run(layout.strips(), 0, 1, [&](index_t strip, int thread) {
            clamped.add(
                run(block, layout, wide, output, strip, workspace + thread * scratch_bytes));
        });
        return clamped.report();
    }

  private:
    ClampCount run(const Block& block, const StripLayout& layout, const WidenedInput& input,
                   const BlockOutput& output, index_t strip, void* scratch) const {
        const index_t kept_x = block.axes[2].kept;
        const index_t first_row = strip % layout.strips_y * layout.strip_rows;
        const index_t rows = std::min(layout.strip_rows, block.axes[1].kept - first_row);
        const index_t first_plane = strip / layout.strips_y * layout.strip_planes;
        const index_t end_plane = std::min(first_plane + layout.strip_planes, block.axes[0].kept);
        const index_t wide_rows = rows + shape_.y - 1;

        Sample* const out = static_cast<Sample*>(scratch);
        Sample* const ring = out + layout.line;
        ClampCount clamped;

        const auto ring_row = [&](index_t plane, index_t row) {
            return ring + (plane % shape_.z * wide_rows + row) * layout.line;
        };

        std::vector<const Sample*> sources(static_cast<std::size_t>(shape_.y));
        const pixels::RowSpan whole{0, input.row.size()};
        const auto enter = [&](index_t plane) {
            for (index_t row = 0; row < wide_rows; ++row)
                input.load(plane, first_row + row, whole, ring_row(plane, row));
        };
        const auto leave = [&](index_t plane, index_t row) {
            const index_t rows_at_once = std::max<index_t>(1, longest_sum / shape_.x);
            for (index_t j = 0; j < shape_.z; ++j) {
                for (index_t i = 0; i < shape_.y; ++i)
                    sources[static_cast<std::size_t>(i)] = ring_row(plane + j, row + i);
                for (index_t i = 0; i < shape_.y; i += rows_at_once)
                    correlate_rows(sources.data() + i, std::min(rows_at_once, shape_.y - i),
                                   taps_.data() + (j * shape_.y + i) * shape_.x, shape_.x,
                                   j + i > 0, out, kept_x);
            }
        };
        for (index_t plane = first_plane; plane < first_plane + shape_.z - 1; ++plane) enter(plane);
        for (index_t plane = first_plane; plane < end_plane; ++plane) {
            enter(plane + shape_.z - 1);
            for (index_t row = 0; row < rows; ++row) {
                leave(plane, row);
                clamped += pixels::store_row(out, kept_x, output.add, output.target, plane,
                                             first_row + row);
            }
        }
        return clamped;
    }

    Shape3 shape_;
    std::vector<Sample> taps_;  ///< flipped, in order z, y, x
};

}  // namespace

std::shared_ptr<const CpuKernel> make_direct_kernel(const ConstImageView& taps,
                                                    const Block& block) {
    const auto make = [&](auto zero) -> std::shared_ptr<const CpuKernel> {
        return std::make_shared<DirectSumsKernel<decltype(zero)>>(taps);
    };
    const bool single = block.precision == Precision::float32;
    if (block.complex_data)
        return single ? make(std::complex<float>()) : make(std::complex<double>());
    return single ? make(float()) : make(double());
}

}  // namespace convolume::cpu
