// SPDX-License-Identifier: Apache-2.0
#include "cpu/volumes/separable.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/rank1.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/vector_loops.hpp"
#include "cpu/volumes/widened_input.hpp"

namespace convolume::cpu {

namespace {

// Bytes of a tile's filtered rows, so that they stay in the caches of a core. Tiles of few or short
// rows would be slower than a ring that exceeds the second-level cache.
constexpr index_t cached_bytes = 1280 << 10;
constexpr index_t least_rows = 8;
constexpr index_t widest_row = 4096;
constexpr index_t narrowest_row = 256;  // of the tiles that are made for the sake of threads
constexpr index_t most_planes_at_once = 4;

}  // namespace

SeparableTiles::SeparableTiles(const Block& block, int threads) {
    const Shape3 kernel = block.kernel();
    const Shape3 kept = block.kept();
    constexpr index_t step = row_padding / 4;  // vectors of any type have at most as many samples
    planes_at_once = kernel.z == 1 ? 1 : std::min(most_planes_at_once, kept.z);
    ring_planes = kernel.z - 1 + planes_at_once;
    const index_t cached_samples = cached_bytes / block.sample_bytes();
    index_t widest = std::min(widest_row, round_up(kept.x, step));
    if (kept.z * kept.y < 4 * threads)
        widest = std::min(widest,
                          std::max(narrowest_row, round_up(ceil_div(kept.x, 4 * threads), step)));
    double least_cost = std::numeric_limits<double>::infinity();
    Shape3 best;
    index_t width = 0;
    do {
        width = std::min(std::max(step, 2 * width), widest);
        const index_t fitting = (cached_samples / width - (kernel.y - 1)) / (ring_planes + 1);
        size = {kept.z, std::clamp(fitting, std::min(least_rows, kept.y), kept.y), width};
        const auto [loads, along_x, along_y] = repeats(kernel);
        // Costs of a result along x, in the time of a product. Each sum costs a call for a row.
        constexpr double load = 5, call = 2700;
        const double cost = load * loads + static_cast<double>(kernel.x) * along_x +
                            call / static_cast<double>(width) * (1 + along_x + along_y);
        if (cost < least_cost) {
            least_cost = cost;
            best = size;
        }
    } while (width < widest);
    row = best.x;
    size.x = std::min(row, kept.x);
    count.x = ceil_div(kept.x, size.x);
    // Every thread needs tiles. Tiles along z load planes twice, so that they are the last choice.
    const index_t enough = ceil_div(4 * threads, count.x);
    size.y = std::clamp(ceil_div(kept.y, enough), std::min(least_rows, best.y), best.y);
    count.y = ceil_div(kept.y, size.y);
    size.z = ceil_div(kept.z, std::min(kept.z, ceil_div(2 * threads, count.y * count.x)));
    count.z = ceil_div(kept.z, size.z);
    loaded_row = round_up(row + kernel.x - 1 + row_padding, step);
}

std::array<double, 3> SeparableTiles::repeats(const Shape3& kernel) const {
    const auto widened = [&](int axis) {
        return static_cast<double>(size[axis] + kernel[axis] - 1) / static_cast<double>(size[axis]);
    };
    return {widened(0) * widened(1) * widened(2), widened(0) * widened(1), widened(0)};
}

index_t SeparableTiles::scratch_bytes(const Block& block) const {
    // A loaded row, an output row, the ring, and rows of a plane after the filter along x.
    const index_t wide_rows = size.y + block.kernel().y - 1;
    const index_t rows =
        checked_add(checked_multiply(ring_planes, size.y), checked_add(wide_rows, 1));
    return checked_multiply(checked_add(checked_multiply(rows, row), loaded_row + row_padding),
                            block.sample_bytes());
}

namespace {

/// A kernel of rank 1, with taps in the order in which they are applied.
template <class Real>
class SeparableKernel : public CpuKernel {
  public:
    SeparableKernel(const ConstImageView& taps, Precision precision) : shape_(taps.shape) {
        const auto rank_one = factor_rank1(taps, precision);
        if (!rank_one) throw InternalError("a separable plan for a kernel that is not of rank 1");
        // Axes with a single tap are not filtered: the tap becomes part of another axis.
        double scale = 1;
        for (int a = 0; a < 3; ++a)
            if (shape_[a] == 1) scale *= rank_one->factors[static_cast<std::size_t>(a)].front();
        for (int a = 2; a >= 0; --a) {
            if (shape_[a] == 1 && (a > 0 || element_count(shape_) > 1)) continue;
            const auto& factor = rank_one->factors[static_cast<std::size_t>(a)];
            if (shape_[a] == 1) scale /= factor.front();
            for (auto tap = factor.rbegin(); tap != factor.rend(); ++tap)
                factors_[static_cast<std::size_t>(a)].push_back(static_cast<Real>(*tap * scale));
            scale = 1;
        }
    }

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override {
        const SeparableTiles tiles(block, threads);
        const index_t scratch_bytes = workspace_layout(block, threads).scratch_bytes;
        const WidenedInput wide(block, input);
        ReportSum clamped;
        ParallelLoop(threads, context)
            .run(element_count(tiles.count), 0, 1, [&](index_t tile, int thread) {
                auto* const scratch = reinterpret_cast<Real*>(workspace + thread * scratch_bytes);
                clamped.add(TileRun(*this, tiles, block.kept(), wide, output, scratch).run(tile));
            });
        return clamped.report();
    }

  private:
    // Computes tiles with the scratch memory of one thread.
    class TileRun {
      public:
        TileRun(const SeparableKernel& kernel, const SeparableTiles& tiles, const Shape3& kept,
                const WidenedInput& input, const BlockOutput& output, Real* scratch)
            : kernel_(kernel),
              tiles_(tiles),
              kept_(kept),
              input_(input),
              output_(output),
              sources_(static_cast<std::size_t>(std::max(kernel.shape_.y, kernel.shape_.z))),
              out_(scratch),
              ring_(out_ + tiles.row),
              filtered_(ring_ + tiles.ring_planes * tiles.size.y * tiles.row),
              loaded_(filtered_ + (tiles.size.y + kernel.shape_.y - 1) * tiles.row) {}

        ClampCount run(index_t tile) {
            begin_ = {tile / (tiles_.count.x * tiles_.count.y) * tiles_.size.z,
                      tile / tiles_.count.x % tiles_.count.y * tiles_.size.y,
                      tile % tiles_.count.x * tiles_.size.x};
            rows_ = std::min(tiles_.size.y, kept_.y - begin_.y);
            width_ = std::min(tiles_.size.x, kept_.x - begin_.x);
            const index_t end = std::min(begin_.z + tiles_.size.z, kept_.z);
            ClampCount clamped;
            index_t entering = begin_.z;
            for (index_t plane = begin_.z; plane < end; plane += tiles_.planes_at_once) {
                const index_t last = std::min(plane + tiles_.planes_at_once, end);
                for (; entering < last + kernel_.shape_.z - 1; ++entering) enter(entering);
                for (index_t row = 0; row < rows_; ++row)
                    for (index_t out = plane; out < last; ++out)
                        clamped += pixels::store_row(leave(out, row), width_, output_.add,
                                                     output_.target, out, begin_.y + row, begin_.x);
            }
            return clamped;
        }

      private:
        // The rows of all planes lie side by side, since they are summed up together.
        Real* ring_row(index_t plane, index_t row) const {
            return ring_ + (row * tiles_.ring_planes + plane % tiles_.ring_planes) * tiles_.row;
        }

        // Loads a plane and filters it along x and y.
        void enter(index_t plane) {
            const std::vector<Real>& along_x = kernel_.factors_[2];
            const std::vector<Real>& along_y = kernel_.factors_[1];
            const index_t reach_x = kernel_.shape_.x - 1;
            for (index_t row = 0; row < rows_ + kernel_.shape_.y - 1; ++row) {
                Real* const target =
                    along_y.empty() ? ring_row(plane, row) : filtered_ + row * tiles_.row;
                Real* const loaded = along_x.empty() ? target : loaded_;
                const pixels::RowSpan span{begin_.x, width_ + reach_x};
                input_.prefetch(plane + 1, begin_.y + row, span);
                input_.load(plane, begin_.y + row, span, loaded);
                const Real* const line = loaded;
                if (!along_x.empty())
                    correlate_rows(&line, 1, along_x.data(), kernel_.shape_.x, false, target,
                                   width_);
            }
            for (index_t row = 0; row < rows_ && !along_y.empty(); ++row) {
                for (index_t j = 0; j < kernel_.shape_.y; ++j)
                    sources_[static_cast<std::size_t>(j)] = filtered_ + (row + j) * tiles_.row;
                correlate_rows(sources_.data(), kernel_.shape_.y, along_y.data(), 1, false,
                               ring_row(plane, row), width_);
            }
        }

        // Returns a row of results.
        const Real* leave(index_t plane, index_t row) {
            const std::vector<Real>& along_z = kernel_.factors_[0];
            if (along_z.empty()) return ring_row(plane, row);
            for (index_t j = 0; j < kernel_.shape_.z; ++j)
                sources_[static_cast<std::size_t>(j)] = ring_row(plane + j, row);
            correlate_rows(sources_.data(), kernel_.shape_.z, along_z.data(), 1, false, out_,
                           width_);
            return out_;
        }

        const SeparableKernel& kernel_;
        const SeparableTiles& tiles_;
        const Shape3& kept_;
        const WidenedInput& input_;
        const BlockOutput& output_;
        std::vector<const Real*> sources_;
        Real* out_;
        Real* ring_;
        Real* filtered_;  ///< rows of a plane after the filter along x
        Real* loaded_;    ///< a row as it was loaded
        Index3 begin_;
        index_t rows_ = 0;
        index_t width_ = 0;
    };

    Shape3 shape_;
    std::array<std::vector<Real>, 3> factors_;  ///< flipped, along z, y, x; empty: not filtered
};

}  // namespace

std::shared_ptr<const CpuKernel> make_separable_kernel(const ConstImageView& taps,
                                                       Precision precision) {
    if (precision == Precision::float32)
        return std::make_shared<SeparableKernel<float>>(taps, precision);
    return std::make_shared<SeparableKernel<double>>(taps, precision);
}

}  // namespace convolume::cpu
