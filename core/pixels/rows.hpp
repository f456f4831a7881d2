// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows in and out of any image type: conversion, boundary along x, rounding and clamping. The only
// place where pixel types meet arithmetic.

#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.hpp"

namespace convolume::pixels {

/// The x axis of a gather, taken apart once: samples [run_begin, run_end) read consecutive source
/// elements from `run_source`, the others are fetched one by one.
class RowGather {
  public:
    /// `indices` as in BlockInput::gather[2].
    explicit RowGather(std::span<const index_t> indices);

    index_t size() const { return static_cast<index_t>(indices_.size()); }
    std::span<const index_t> indices() const { return indices_; }
    index_t run_begin() const { return run_begin_; }
    index_t run_end() const { return run_end_; }
    index_t run_source() const { return run_source_; }

  private:
    std::vector<index_t> indices_;
    index_t run_begin_ = 0;
    index_t run_end_ = 0;
    index_t run_source_ = 0;
};

struct LoadOptions {
    double subtract = 0;  ///< from real parts; in T
    bool nonfinite_to_zero = false;
};

/// Loads one row: out[i] = source(z, y, gather[i]) - subtract, 0 where the index is -1.
/// T is float, double or std::complex of them; complex sources need a complex T (InvalidArgument).
/// With nonfinite_to_zero, samples with a NaN or infinite component are read as 0; returns how
/// many.
template <class T>
index_t load_row(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                 const LoadOptions& options, T* out);

/// Stores `count` values into target(z, y, x_begin …): value + add (in T), rounded half to even and
/// clamped for integer targets (NaN becomes 0 and counts as low). A complex T needs a complex
/// target (InvalidArgument).
template <class T>
ClampCount store_row(const T* values, index_t count, std::complex<double> add,
                     const ImageView& target, index_t z, index_t y, index_t x_begin = 0);

struct NonFinite {
    Index3 index;
    double value;  ///< of a complex element, its component that is not finite
};
/// First non-finite element in C order, whatever the number of threads; nothing when all are
/// finite.
std::optional<NonFinite> find_nonfinite(const ConstImageView& image, int threads);

/// How many elements are not finite.
index_t count_nonfinite(const ConstImageView& image, int threads);

/// Samples [begin, begin + count) of a gather.
struct RowSpan {
    index_t begin, count;
};
/// load_row() for some samples, for work that takes a row some samples at a time.
template <class T>
index_t load_span(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                  const RowSpan& span, const LoadOptions& options, T* out);

}  // namespace convolume::pixels
