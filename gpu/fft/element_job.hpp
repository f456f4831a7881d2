// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job of an element pass: a pass along x over real rows in single precision that also works on
// their samples one by one, before a forward transform, between an inverse and a forward one, or
// after an inverse one. The pass loads, stores and adds up; the arithmetic is that of a functor.
//
// The functor, `Elements`, is passed to the CUDA kernel by value. Its members are const and
// CONVOLUME_DEVICE:
//   float point(float newest, float before)
//       The sample that a row is loaded with, and that an update starts from.
//   bool is_compared(float recorded)
//       Whether a recorded sample counts.
//   void with_comparison(use)
//       Calls use(compare) once, where compare(recorded, sample, inside, float& sum) returns what
//       takes the sample's place, and adds to the first sum of the pass. Outside both are 0.
//   float held_out_error(float held, float sample)
//       A difference, whose square is added up.
//   void with_update(use)
//       Calls use(update) once, where update(point, sample, weight) returns the new sample.
// The two that take a `use` choose between formulas outside the loops over samples.

#include "core/pair_axis.hpp"
#include "core/short_float.hpp"
#include "gpu/fft/row_job.hpp"

namespace convolume::gpu {

/// What an element pass does to each sample. Each kind has a CUDA kernel of its own.
enum class ElementKind {
    load,     ///< before a forward transform: sample <- the point, or 1
    compare,  ///< between an inverse and a forward one: sample <- its comparison with `data`
    update,   ///< after an inverse transform: newest or `before` <- the update of the point
    advance,  ///< between an inverse and a forward one: newest and sample <- the update of newest
};
inline constexpr int element_kinds = 4;

/// Where an element pass finds samples, and what it does with them. Sample `begin` + x of row y of
/// plane z of the transform, x < count, y < rows, is element (z rows + y) count + x of each array;
/// samples beyond are 0. Sums are of double precision.
template <class Elements>
struct ElementWork {
    ElementKind kind = ElementKind::load;
    index_t rows = 1;
    int begin = 0, count = 1;
    Elements elements{};
    // load, update, advance
    bool ones = false;  ///< of load: sample <- 1, or 0 where `data` has one that is not compared
    float* newest = nullptr;
    float* before = nullptr;  ///< null: the point is the newest sample, and is overwritten
    bool restart = false;     ///< `before` and `change` hold nothing yet: the point is the newest
    float* kept = nullptr;    ///< of load: gets the points; null: they are not kept
    // compare; sums: that of the comparisons, and of squared errors of `held`
    const void* data = nullptr;   ///< recorded samples; of ones: null if all are compared
    bool data_is_uint16 = false;  ///< uint16; else float32
    const float* held = nullptr;  ///< recorded samples that are held out; null: none
    // update, advance; sums of an update: of changes times the last ones, of the last ones squared
    /// What the last update added to its point, and what this one adds. Null: neither.
    ShortFloat* change = nullptr;
    ShortFormat last_format, format;
    const float* weight = nullptr;
    AlikePlanes alike;  ///< of the weight
};

/// The most arrays that passes of a kind read.
inline constexpr int most_element_arrays = 4;
constexpr int most_arrays(ElementKind kind) {
    return kind == ElementKind::update ? most_element_arrays : 2;
}

/// The number of arrays that a pass reads and its CUDA kernel has places for, the first ones of its
/// kind.
template <class Elements>
constexpr int used_arrays(const ElementWork<Elements>& work) {
    switch (work.kind) {
        case ElementKind::load:
            return work.before == nullptr ? 1 : 2;
        case ElementKind::compare:
            return work.held == nullptr ? 1 : 2;
        case ElementKind::update:
            return work.change != nullptr ? 4 : work.before != nullptr ? 3 : 2;
        case ElementKind::advance:
            return 2;
    }
    return 0;
}

/// The most rows of a pass: the CUDA kernel counts them in 32 bits.
inline constexpr index_t most_element_rows = index_t{1} << 30;

template <class Elements>
struct ElementJob {
    RowJob<float> rows;  ///< of no pixels
    ElementWork<Elements> work;
    double* sums = nullptr;  ///< two a block; null: none are wanted
};

/// The job of ElementPasses::run(), less its tables.
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
