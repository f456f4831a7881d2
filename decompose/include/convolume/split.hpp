#pragma once
// Decimation in frequency (DIF) along z: a volume of K planes becomes P parts that are convolved
// apart, and back. With forward sign e^{-2πi}, N = K/P,
//
//   complex data: s_p(n) = e^{-2πi p n/K} Σ_q x(n+qN) e^{-2πi p q/P},  FFT_N(s_p)(ν) = X(Pν+p)
//
// real data (K a multiple of 2P), without redundancy: with N = K/2,
//   r(n) = x(n) + x(n+N)                                  real, FFT(r)(ν) = X(2ν)
//   d(n) = x(n) - x(n+N)
//   c(n) = (d(n) - i d(n+N/2)) e^{-πi n/N}, n < N/2       complex, FFT(c)(m) = X(4m+1)
// where X's other odd frequencies are conjugates of those; r is split again by the same rule, c by
// the complex one, until there are P parts of equal bytes: part 0 real with K/P planes, parts
// 1 … P-1 complex with K/(2P) planes. Order of the parts for P = 4: r of r, c of r, then c split in
// two; in general the P/2 parts of r first, then the P/2 parts of c.

#include <vector>

#include "convolume/rows.hpp"

namespace convolume::decompose {

/// Sizes and kind of one part.
struct PartShape {
    bool complex_data;
    index_t planes;
};

/// Shape of part `index`; throws InvalidArgument unless P is 1, 2, 4, 8 or 16 and divides K (2P for
/// real data and P > 1).
PartShape part_shape(bool complex_data, const PartId& part);

/// Split volume: P parts one after another, each contiguous: `z_grid`/P (real) or half as many
/// complex planes of y × x samples. `Real` is float or double.
/// `plane_stride` is the distance in samples between planes of the real (or complex) part: at
/// least rows * row_stride, so that parts can be convolved in place to larger outputs.
struct SplitLayout {
    bool complex_data = false;  ///< of the undivided data
    int parts = 1;
    index_t z_grid = 1;
    index_t rows = 1;     ///< y extent stored
    index_t columns = 1;  ///< x extent stored

    /// Samples (real or complex, as the data are) of the whole: z_grid * rows * columns.
    index_t samples() const;
    /// View of part `index` in a split volume at `data`.
    ImageView part(void* data, int index, Precision precision) const;
};

/// Splits the gathered image into `data`. Rows and columns beyond the gather are not written: the
/// gather's y and x sizes must equal the layout's. Memory is read once and written once for every P.
/// Returns the samples replaced by 0 (BlockInput::nonfinite_to_zero).
template <class Real>
index_t split(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
              const ExecutionContext& context);

/// Merges convolved parts: grid planes [z_begin, z_begin + output.shape.z) of the composed volume are
/// stored into `output`, converted, rounded and clamped. Columns and rows: the first of the layout's.
template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, index_t z_begin,
                 const BlockOutput& output, int threads, const ExecutionContext& context);

/// The part of a compact kernel (`taps`, planes z = 0 … taps.z-1 of a grid of part.z_grid planes)
/// that belongs to `part`: planes beyond the part's extent are folded onto it. Returns the planes
/// that can be non-zero, in the part's kind.
Volume split_kernel(const ConstImageView& taps, bool complex_data, const PartId& part,
                    Precision precision);

}  // namespace convolume::decompose
