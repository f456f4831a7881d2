// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job of an element pass: a pass along x over real rows in single precision that also works on
// each sample. It does so before a forward transform, between an inverse and a forward one, or
// after an inverse one. The pass loads, stores and adds up; a functor does the arithmetic.
//
// The functor, `Elements`, is passed to the CUDA kernel by value. Its members are const and
// CONVOLUME_DEVICE:
//
//     float point(float newest, float before)
//         Returns the sample that a row is loaded with, and that an update starts from.
//     bool is_compared(float recorded)
//         Whether a recorded sample counts.
//     void with_comparison(use)
//         Calls use(compare) once. compare(recorded, sample, inside, float& sum) returns the
//         new sample, and adds to the first sum of the pass. Outside the row both are 0.
//     float held_out_error(float held, float sample)
//         Returns a difference, whose square is added up.
//     void with_update(use)
//         Calls use(update) once. update(point, sample, weight) returns the new sample.
//
// The two members that take a `use` choose between formulas outside the loops over samples.

#include "core/pair_axis.hpp"
#include "core/short_float.hpp"
#include "gpu/fft/row_job.hpp"

namespace convolume::gpu {

/// Kinds of work of an element pass on each sample. Each kind has a CUDA kernel of its own.
enum class ElementKind {
    load,     ///< makes samples, of points or of ones, before a forward transform
    compare,  ///< compares samples with `data` between an inverse and a forward transform
    update,   ///< updates points, stored as newest or `before`, after an inverse transform
    advance,  ///< updates newest samples between an inverse and a forward transform
};
inline constexpr int element_kinds = 4;

/// The arrays of an element pass, and the work on them. Samples beyond `count` and `rows` are 0;
/// sums have double precision. Sample `begin` + x of row y of plane z of the transform, with x <
/// count and y < rows, is in each array element
///
///     (z rows + y) count + x
template <class Elements>
struct ElementWork {
    ElementKind kind = ElementKind::load;
    index_t rows = 1;
    int begin = 0, count = 1;
    Elements elements{};
    // Members of load, update and advance.
    /// Whether load makes ones instead of points, but 0 for samples of `data` that are not
    /// compared.
    bool loads_ones = false;
    float* newest = nullptr;
    /// Previous samples; null: the point is the newest sample, and is overwritten.
    float* before = nullptr;
    /// Whether `before` and `change` are not set yet: the point is the newest sample.
    bool restart = false;
    float* kept = nullptr;  ///< array for the points that load makes; null: it stores none
    // Members of compare, which sums its comparisons and the squared errors of `held_out`.
    const void* data = nullptr;  ///< recorded samples; for a load of ones, null if all are compared
    bool data_is_uint16 = false;      ///< whether `data` is uint16, or float32
    const float* held_out = nullptr;  ///< recorded samples that are held out; null: none
    // Members of update and advance. An update sums changes times last changes, and last changes
    // squared.
    /// The change that the last update added to its point, replaced by the new one; null: not kept.
    ShortFloat* change = nullptr;
    ShortFormat last_format, format;
    const float* weight = nullptr;
    EqualPlanes equal_planes;  ///< planes of equal weights
};

/// The largest number of arrays that passes of a kind read.
inline constexpr int most_element_arrays = 4;
constexpr int most_arrays(ElementKind kind) {
    return kind == ElementKind::update ? most_element_arrays : 2;
}

/// Returns the number of arrays that a pass reads: the first ones that its CUDA kernel has places
/// for.
template <class Elements>
constexpr int used_arrays(const ElementWork<Elements>& work) {
    switch (work.kind) {
        case ElementKind::load:
            return work.before == nullptr ? 1 : 2;
        case ElementKind::compare:
            return work.held_out == nullptr ? 1 : 2;
        case ElementKind::update:
            return work.change != nullptr ? 4 : work.before != nullptr ? 3 : 2;
        case ElementKind::advance:
            return 2;
    }
    return 0;
}

/// The largest number of rows of a pass: the CUDA kernel counts rows in 32 bits.
inline constexpr index_t most_element_rows = index_t{1} << 30;

template <class Elements>
struct ElementJob {
    RowJob<float> rows;  ///< rows of the spectrum, without pixels
    ElementWork<Elements> work;
    double* sums = nullptr;  ///< two sums for each thread block; null: sums are not needed
};

/// Returns the job of ElementPasses::run(), without tables.
template <class Elements>
ElementJob<Elements> element_job(const ElementWork<Elements>& work, index_t planes,
                                 const SpectrumPlanes<float>& spectrum, double scale,
                                 double* sums) {
    if (checked_multiply(planes, work.rows) > most_element_rows)
        throw GpuUnavailable(
            message(planes, " planes of ", work.rows, " rows are too many for one pass on a GPU"));
    ElementJob<Elements> job;
    job.rows = row_job(false, PixelRows{}, planes, spectrum);
    job.rows.rows = work.rows;
    job.rows.scale = static_cast<float>(scale);
    job.work = work;
    job.sums = sums;
    return job;
}

}  // namespace convolume::gpu
