// SPDX-License-Identifier: Apache-2.0
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
//
// Parts of image and kernel are multiplied frequency by frequency, so each is convolved on its own.

#include <limits>
#include <vector>

#include "decompose/part.hpp"

namespace convolume::decompose {

/// Steps [begin, end) of a split: step n makes plane n of every part, and of real data's part 0
/// also plane n + split_steps().
struct StepRange {
    index_t begin = 0;
    index_t end = std::numeric_limits<index_t>::max();
};

/// A split volume: P parts one after another, each contiguous in C order. Real data: part 0 holds
/// z_grid/P planes of real samples (all of them for P = 1), the others z_grid/(2P) planes of
/// complex ones. Complex data: every part holds z_grid/P complex planes. All parts have equal
/// bytes. `rows` and `columns` may exceed the image's, so that parts can be convolved in place to
/// larger outputs; passes are fastest when a row's bytes are a multiple of 64.
struct SplitLayout {
    bool complex_data = false;  ///< of the undivided data
    int parts = 1;
    index_t z_grid = 1;
    index_t rows = 1;     ///< y extent stored
    index_t columns = 1;  ///< x extent stored
    /// Only the planes of these steps are stored, in the order of the whole volume.
    StepRange stored = {};

    /// Samples stored (real or complex, as the data are); of the whole, z_grid * rows * columns.
    index_t samples() const;
    /// View of what is stored of part `index` in a split volume at `data`.
    ImageView part(void* data, int index, Precision precision) const;
};

/// How many steps a split has.
index_t split_steps(const SplitLayout& layout);

/// Splits the gathered image into `data`, which has room for layout.samples() samples of `Real` (or
/// complex `Real`) and is aligned as a Buffer is. gather[0] gives the planes 0 … of the grid; those
/// beyond it are zero and cost no reads. The first gather[1].size() rows and gather[2].size()
/// columns of every part are written, no others. Memory is read once and written once for every P.
/// `steps` makes only some of the stored steps. Returns how many samples were read as 0 because
/// they are not finite (nonfinite_to_zero). Throws InvalidArgument when the gather does not fit the
/// layout, or for a complex image and a real layout; Cancelled when asked to stop.
template <class Real>
index_t split(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
              const ExecutionContext& context, const StepRange& steps = {});

/// Merges parts: grid planes [z_begin, z_begin + target.shape.z) of the composed volume, their
/// first target.shape.y rows and target.shape.x columns, are stored into output.target, converted,
/// rounded and clamped. The exact inverse of split(): the factor 1/P is here. Parts that were
/// convolved with those of split_kernel() merge to the circular convolution of length z_grid.
/// Throws InvalidArgument when the target does not lie within the layout, or is real and the data
/// complex; Cancelled when asked to stop.
template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, index_t z_begin,
                 const BlockOutput& output, int threads, const ExecutionContext& context);

/// The same with planes in any places: grid plane z goes to plane scatter[z] of the target, or
/// nowhere where that is -1 or z beyond the list.
template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, const std::vector<index_t>& scatter,
                 const BlockOutput& output, int threads, const ExecutionContext& context);

}  // namespace convolume::decompose
