// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/direct.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "core/engine.hpp"
#include "core/pixels/rows.hpp"
#include "core/rank1.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/vector_loops.hpp"

namespace convolume::cpu {

namespace {

// Upper bound for the ring of a strip, so that it stays in the cache of a core.
constexpr index_t ring_bytes = 512 << 10;

// Taps of the longest sum. Longer sums are divided into those of tap groups, which are then added
// up, because the error of a float sum grows with its length.
constexpr index_t longest_sum = 256;

// Returns the source indices of positions kept_begin - (kernel-1) … kept_begin + kept - 1.
std::vector<index_t> widen(const std::vector<index_t>& gather, const BlockAxis& axis) {
    std::vector<index_t> wide(static_cast<std::size_t>(axis.kept + axis.kernel - 1), -1);
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const index_t position = axis.kept_begin - (axis.kernel - 1) + static_cast<index_t>(i);
        if (position >= 0 && position < static_cast<index_t>(gather.size()))
            wide[i] = gather[static_cast<std::size_t>(position)];
    }
    return wide;
}

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
    const index_t wide_rows = strip_rows + block.axes[1].kernel - 1;
    // Direct sums need a ring of loaded rows and an output row. Separable sums need a loaded row,
    // the rows of one plane after the filter along x, a ring of rows after the filter along y, and
    // an output row.
    const index_t rows = block.algorithm == Algorithm::separable
                             ? 2 + wide_rows + block.axes[0].kernel * strip_rows
                             : 1 + block.axes[0].kernel * wide_rows;
    return checked_multiply(checked_multiply(rows, line), block.sample_bytes());
}

namespace {

/// Input of a block for sums in space: its gathers are widened by the extent of the kernel.
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
};

/// A kernel for sums in space, with taps in the order in which they are applied.
template <class Sample>
class DirectSumsKernel : public CpuKernel {
  public:
    /// `taps` are as in make_direct_kernel().
    DirectSumsKernel(const ConstImageView& taps, Algorithm algorithm, Precision precision)
        : shape_(taps.shape), separable_(algorithm == Algorithm::separable) {
        if (separable_) {
            using Real = real_of<Sample>;
            const auto rank_one = factor_rank1(taps, precision);
            if (!rank_one)
                throw InternalError("a separable plan for a kernel that is not of rank 1");
            for (std::size_t a = 0; a < 3; ++a)
                for (auto value = rank_one->factors[a].rbegin();
                     value != rank_one->factors[a].rend(); ++value)
                    factors_[a].push_back(Sample(static_cast<Real>(*value)));
            return;
        }
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
    /// Computes one strip of the layout.
    ClampCount run(const Block& block, const StripLayout& layout, const WidenedInput& input,
                   const BlockOutput& output, index_t strip, void* scratch) const {
        const index_t kept_x = block.axes[2].kept;
        const index_t first_row = strip % layout.strips_y * layout.strip_rows;
        const index_t rows = std::min(layout.strip_rows, block.axes[1].kept - first_row);
        const index_t first_plane = strip / layout.strips_y * layout.strip_planes;
        const index_t end_plane = std::min(first_plane + layout.strip_planes, block.axes[0].kept);
        const index_t wide_rows = rows + shape_.y - 1;
        const index_t ring_rows = separable_ ? rows : wide_rows;

        Sample* const out = static_cast<Sample*>(scratch);
        Sample* const ring = out + layout.line;
        Sample* const loaded = ring + shape_.z * ring_rows * layout.line;  // only used if separable
        Sample* const filtered = loaded + layout.line;
        ClampCount clamped;

        const auto load = [&](index_t plane, index_t wide_row, Sample* row) {
            const index_t z = input.gather[0][static_cast<std::size_t>(plane)];
            const index_t y = input.gather[1][static_cast<std::size_t>(wide_row)];
            if (z < 0 || y < 0)
                std::memset(static_cast<void*>(row), 0,
                            static_cast<std::size_t>(input.row.size()) * sizeof(Sample));
            else
                pixels::load_row(input.source, z, y, input.row, input.options, row);
        };
        const auto ring_row = [&](index_t plane, index_t row) {
            return ring + (plane % shape_.z * ring_rows + row) * layout.line;
        };

        std::vector<const Sample*> sources(static_cast<std::size_t>(std::max(shape_.y, shape_.z)));
        const auto enter = [&](index_t plane) {
            for (index_t row = 0; row < wide_rows; ++row) {
                if (!separable_) {
                    load(plane, first_row + row, ring_row(plane, row));
                    continue;
                }
                load(plane, first_row + row, loaded);
                const Sample* const line = loaded;
                correlate_rows(&line, 1, factors_[2].data(), shape_.x, false,
                               filtered + row * layout.line, kept_x);
            }
            for (index_t row = 0; separable_ && row < rows; ++row) {
                for (index_t j = 0; j < shape_.y; ++j)
                    sources[static_cast<std::size_t>(j)] = filtered + (row + j) * layout.line;
                correlate_rows(sources.data(), shape_.y, factors_[1].data(), 1, false,
                               ring_row(plane, row), kept_x);
            }
        };
        const auto leave_direct = [&](index_t plane, index_t row) {
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
        const auto leave_separable = [&](index_t plane, index_t row) {
            for (index_t j = 0; j < shape_.z; ++j)
                sources[static_cast<std::size_t>(j)] = ring_row(plane + j, row);
            correlate_rows(sources.data(), shape_.z, factors_[0].data(), 1, false, out, kept_x);
        };

        for (index_t plane = first_plane; plane < first_plane + shape_.z - 1; ++plane) enter(plane);
        for (index_t plane = first_plane; plane < end_plane; ++plane) {
            enter(plane + shape_.z - 1);
            for (index_t row = 0; row < rows; ++row) {
                separable_ ? leave_separable(plane, row) : leave_direct(plane, row);
                clamped += pixels::store_row(out, kept_x, output.add, output.target, plane,
                                             first_row + row);
            }
        }
        return clamped;
    }

    Shape3 shape_;
    bool separable_;
    std::vector<Sample> taps_;                    ///< flipped taps in order z, y, x; if direct
    std::array<std::vector<Sample>, 3> factors_;  ///< flipped factors along z, y, x; if separable
};

}  // namespace

std::shared_ptr<const CpuKernel> make_direct_kernel(const ConstImageView& taps,
                                                    const Block& block) {
    const auto make = [&](auto zero) -> std::shared_ptr<const CpuKernel> {
        return std::make_shared<DirectSumsKernel<decltype(zero)>>(taps, block.algorithm,
                                                                  block.precision);
    };
    const bool single = block.precision == Precision::float32;
    if (block.complex_data)
        return single ? make(std::complex<float>()) : make(std::complex<double>());
    return single ? make(float()) : make(double());
}

}  // namespace convolume::cpu
