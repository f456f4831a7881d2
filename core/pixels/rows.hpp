// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loading and storing rows of any image type: conversion, boundary along x, rounding and clamping.
// No other code computes with pixel types.

#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.hpp"

namespace convolume::pixels {

/// The x axis of a gather, analyzed once. Samples [run_begin, run_end) are consecutive source
/// elements from `run_source` on; the others are fetched one by one.
class RowGather {
  public:
    /// `indices` are as in BlockInput::gather[2].
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
    double subtract = 0;  ///< subtracted from real parts, in precision T
    bool nonfinite_to_zero = false;
};

/// Loads one row:
///     out[i] = source(z, y, gather[i]) - subtract, or 0 if the index is -1
/// T is float, double or std::complex of them. A complex source needs a complex T
/// (InvalidArgument). With nonfinite_to_zero, samples with a NaN or infinite component are read as
/// 0; returns how many.
template <class T>
index_t load_row(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                 const LoadOptions& options, T* out);

/// Stores `count` values into target(z, y, x_begin …). Adds `add` in precision T. For integer
/// targets, rounds half to even and clamps; NaN becomes 0 and counts as low. A complex T needs a
/// complex target (InvalidArgument).
template <class T>
ClampCount store_row(const T* values, index_t count, std::complex<double> add,
                     const ImageView& target, index_t z, index_t y, index_t x_begin = 0);

struct NonFinite {
    Index3 index;
    double value;  ///< for a complex element, the component that is not finite
};
/// Returns the first non-finite element in C order, for any number of threads; nothing if all are
/// finite.
std::optional<NonFinite> find_nonfinite(const ConstImageView& image, int threads);

/// Returns how many elements are not finite.
index_t count_nonfinite(const ConstImageView& image, int threads);

/// The samples [begin, begin + count) of a gather.
struct RowSpan {
    index_t begin, count;
};
/// Loads some samples of a row like load_row(), for callers that process a row in sections.
template <class T>
index_t load_span(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                  const RowSpan& span, const LoadOptions& options, T* out);

}  // namespace convolume::pixels
