// SPDX-License-Identifier: Apache-2.0
#pragma once
// Undivided rows are x(n + q·M), M = K/R: R = P rows for complex data, 2P for real data. Part rows
// are part p at plane n; real data with P > 1 has its part 0 twice, at n and at n + M, before the
// others. With P = 1 there is one row of either kind.

#include <array>
#include <cstring>

#include "core/pixels/contiguous.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "decompose/part.hpp"

// The butterflies between planes: P parts at one plane from the planes they are made of, and back.
// All factors depend on z alone, so a network runs over rows with scalar factors.
//
namespace convolume::decompose {

inline constexpr int max_parts = 16;
inline constexpr int max_rows = 2 * max_parts;

/// Rows of undivided data, or rows of parts, that meet in one network.
struct NetworkRows {
    int undivided;
    int parts;
};
NetworkRows network_rows(bool complex_data, int parts);

/// Rows are processed in multiples of this many samples: a vector of the widest instruction set.
inline constexpr index_t row_quantum = 16;

/// One factor for each part at one plane: forward e^{-2πi n f/K}, with f the first frequency of the
/// part; for the merge its conjugate over P.
template <class Real>
using PlaneFactors = std::array<std::complex<Real>, max_parts>;

/// Rows in and out of one network; complex rows hold real and imaginary parts alternating.
template <class Real>
struct NetworkBlock {
    std::array<const Real*, max_rows> in;
    std::array<Real*, max_rows> out;
    /// Rows written past the caches; those must be aligned to 64 bytes.
    std::array<bool, max_rows> stream;
    index_t samples = 0;  ///< a multiple of row_quantum
};

template <class Real>
void split_block(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                 const NetworkBlock<Real>& block);
template <class Real>
void merge_block(bool complex_data, int parts, const PlaneFactors<Real>& factors,
                 const NetworkBlock<Real>& block);

// What split and merge share: the geometry of a pass over all networks of a layout, and the memory
// a thread works in.

/// Reals that go through a network at a time: in and out they fit a second level cache, and for
/// P = 16 a row is still long enough for the memory's own bursts.
inline constexpr index_t block_reals = 16384;

/// Volumes of at least this size leave the caches before they are read again, so they are written
/// past them.
inline constexpr index_t stream_bytes = index_t{32} << 20;

inline bool is_line_aligned(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 64 == 0;
}

/// Copies a row out of the workspace, past the caches when `streamed`.
inline void write_row(const void* row, index_t bytes, void* target, bool streamed) {
    if (streamed) {
        pixels::stream_copy(row, bytes, target);
    } else {
        std::memcpy(target, row, static_cast<std::size_t>(bytes));
    }
}

/// The networks of a layout: addresses (in `Real`s) and factors.
template <class Real>
struct Geometry {
    explicit Geometry(const SplitLayout& layout_)
        : layout(layout_),
          reals(layout_.complex_data ? 2 : 1),
          rows(network_rows(layout_.complex_data, layout_.parts)),
          networks(layout_.z_grid / rows.undivided),
          stored(stored_steps(layout_)),
          block(block_reals / (rows.undivided * reals)) {
        const bool twice = rows.parts > layout.parts;  // part 0 at n and n + M
        const index_t part_size = layout.samples() / layout.parts * reals;
        for (int row = 0; row < rows.parts; ++row) {
            const auto i = static_cast<std::size_t>(row);
            part_reals[i] = twice && row > 1 ? 2 : reals;
            part_begin[i] = (twice && row > 0 ? row - 1 : row) * part_size;
        }
        if (twice) part_begin[1] += (stored.end - stored.begin) * layout.rows * layout.columns;
    }

    /// Offset of sample (n, y, x) of a part's row.
    index_t part_offset(std::size_t row, index_t n, index_t y, index_t x) const {
        return part_begin[row] +
               (((n - stored.begin) * layout.rows + y) * layout.columns + x) * part_reals[row];
    }
    /// Samples of a block when a row of `columns` is cut into equal ones.
    index_t block_for(index_t columns) const {
        return round_up(ceil_div(columns, ceil_div(columns, block)), row_quantum);
    }
    /// Factors of all networks, n = 0 … M-1.
    std::vector<PlaneFactors<Real>> factors(bool inverse) const {
        std::vector<PlaneFactors<Real>> result(static_cast<std::size_t>(networks));
        for (int p = 0; p < layout.parts; ++p) {
            const index_t first = part_frequencies(layout.complex_data, p, layout.parts).first;
            index_t n = 0;
            for (auto& factors_of_plane : result) {
                const auto root = root_of_unity(first * n++, layout.z_grid);
                const auto factor = inverse ? std::conj(root) / double(layout.parts) : root;
                factors_of_plane[static_cast<std::size_t>(p)] = std::complex<Real>(factor);
            }
        }
        return result;
    }

    SplitLayout layout;
    index_t reals;  ///< of one undivided sample
    NetworkRows rows;
    index_t networks;  ///< planes between undivided rows, M
    StepRange stored;  ///< networks whose planes are there
    index_t block;     ///< most samples of x that go through a network at a time
    std::array<index_t, max_rows> part_reals{};  ///< of one sample of a part's row
    std::array<index_t, max_rows> part_begin{};  ///< of a part's row at n = 0
};

/// A thread's rows of a block: those of `in`, those of `out`, and one of zeros.
template <class Real>
class Workspace {
  public:
    Workspace(const Geometry<Real>& geometry, int threads)
        : rows_(static_cast<std::size_t>(geometry.rows.undivided)),
          row_reals_(2 * geometry.block + padding),
          buffer_(checked_multiply(threads, thread_reals() * static_cast<index_t>(sizeof(Real))),
                  "the rows of a split") {
        buffer_.touch(1);
    }
    Real* in(int thread, std::size_t row) const { return at(thread, row); }
    Real* out(int thread, std::size_t row) const { return at(thread, rows_ + row); }
    const Real* zeros(int thread) const { return at(thread, 2 * rows_); }

  private:
    static constexpr index_t padding = 16;  // keeps rows from meeting in one set of a cache

    // There are never more part rows than undivided ones.
    index_t thread_reals() const { return static_cast<index_t>(2 * rows_ + 1) * row_reals_; }
    Real* at(int thread, std::size_t row) const {
        return buffer_.template as<Real>() + thread * thread_reals() +
               static_cast<index_t>(row) * row_reals_;
    }

    std::size_t rows_;
    index_t row_reals_;
    Buffer buffer_;
};

/// Calls work(thread, n, y) for n < planes, y < rows from `threads` threads; throws Cancelled when
/// asked to stop.
template <class Work>
void for_each_row(index_t planes, index_t rows, int threads, const ExecutionContext& context,
                  const Work& work) {
    parallel_ranges(planes * rows, threads, [&](index_t begin, index_t end, int thread) {
        for (index_t item = begin; item < end && !context.stop.stop_requested(); ++item)
            work(thread, item / rows, item % rows);
        pixels::stream_fence();
    });
    throw_if_stopped(context);
}

}  // namespace convolume::decompose
