// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decimation in frequency (DIF) along z: a volume of K planes is split into P parts that are
// convolved separately, and merged again. With forward sign e^{-2πi}, N = K/P,
//
//   complex data: s_p(n) = e^{-2πi p n/K} Σ_q x(n+qN) e^{-2πi p q/P},  FFT_N(s_p)(ν) = X(Pν+p)
//
// real data (K a multiple of 2P), without redundancy: with N = K/2,
//   r(n) = x(n) + x(n+N)                                  real, FFT(r)(ν) = X(2ν)
//   d(n) = x(n) - x(n+N)
//   c(n) = (d(n) - i d(n+N/2)) e^{-πi n/N}, n < N/2       complex, FFT(c)(m) = X(4m+1)
// The other odd frequencies of X are conjugates of these. r is split again by the rule for real
// data, c by the rule for complex data, until there are P parts of equal bytes. Part 0 is real with
// K/P planes, parts 1 … P-1 are complex with K/(2P) planes. The P/2 parts of r come first, then the
// P/2 parts of c. For P = 4 the parts are: r of r, c of r, and the two parts of c.
//
// Image and kernel are multiplied frequency by frequency, so that each part of the image needs only
// the same part of the kernel. The kernel is split as an image is.

#include <limits>
#include <vector>

#include "core/engine.hpp"
#include "decompose/part.hpp"

namespace convolume::decompose {

/// Steps [begin, end) of a split. Step n makes plane n of every part, and if the data are real also
/// plane n + split_steps() of part 0.
struct StepRange {
    index_t begin = 0;
    index_t end = std::numeric_limits<index_t>::max();
};

/// The section of a split volume that one call makes or merges: some of the stored steps, and rows
/// from `first_row` on.
struct SplitSection {
    StepRange steps = {};
    index_t first_row = 0;
};

/// Arrangement of a split volume in memory: P parts one after another, each contiguous in C order.
/// If the data are real, part 0 holds z_grid/P planes of real samples, and every other part
/// z_grid/(2P) planes of complex samples. If the data are complex, every part holds z_grid/P
/// complex planes. All parts have equal bytes. `rows` and `columns` may exceed those of the image,
/// so that parts can be convolved in place to larger outputs. Passes are fastest when the bytes of
/// a row are a multiple of 64.
struct SplitLayout {
    bool complex_data = false;  ///< whether the undivided data are complex
    int parts = 1;
    index_t z_grid = 1;
    index_t rows = 1;     ///< y extent stored
    index_t columns = 1;  ///< x extent stored
    /// Steps whose planes are stored, in the order of the whole volume.
    StepRange stored = {};

    /// Number of samples stored, real or complex as the data are: z_grid * rows * columns if all
    /// steps are stored.
    index_t samples() const;
    /// Returns a view of the stored planes of part `index`, in a split volume at `data`.
    ImageView part(void* data, int index, Precision precision) const;
};

/// Returns the number of steps of a split.
index_t split_steps(const SplitLayout& layout);

/// Splits the gathered image into `data`, which has room for layout.samples() samples of `Real` (or
/// complex `Real`) and is aligned as a Buffer is. gather[0] gives planes 0, 1, … of the grid;
/// planes beyond it are zero and not read. The gather[1].size() rows from section.first_row on, and
/// the first gather[2].size() columns, of every part are written, no others. Memory is read once
/// and written once, whatever P is. Makes the stored steps within section.steps only.
/// Returns the number of samples that
/// were read as 0 because they are not finite (nonfinite_to_zero). Throws InvalidArgument when the
/// gather does not fit the layout, or for a complex image and a real layout. Throws Cancelled after
/// a request to stop.
template <class Real>
index_t split(const BlockInput& input, const SplitLayout& layout, Real* data, int threads,
              const ExecutionContext& context, const SplitSection& section = {});

/// Merges the parts at `data` and stores grid planes [z_begin, z_begin + output.target.shape.z)
/// into output.target: as many rows and columns as the target has, converted, rounded and clamped.
/// Inverts split() exactly, with the factor 1/P. Parts that were convolved with the parts of a
/// kernel merge to the circular convolution of length z_grid. Throws InvalidArgument when the
/// target does not lie within the layout, or when it is real and the data are complex. Throws
/// Cancelled after a request to stop.
template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, index_t z_begin,
                 const BlockOutput& output, int threads, const ExecutionContext& context);

/// Merges a section of the parts at `data` to planes in any order: grid plane z is stored as plane
/// scatter[z] of the target. Planes z with scatter[z] = -1 or beyond the list are not stored. The
/// target's first row is section.first_row.
template <class Real>
ClampCount merge(const Real* data, const SplitLayout& layout, const std::vector<index_t>& scatter,
                 const BlockOutput& output, int threads, const ExecutionContext& context,
                 const SplitSection& section = {});

}  // namespace convolume::decompose
