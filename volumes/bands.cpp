// SPDX-License-Identifier: Apache-2.0
#include "volumes/bands.hpp"

#include <algorithm>

namespace convolume {

namespace {

// Large enough to be read and written fast, small enough not to matter.
constexpr index_t band_bytes = index_t{64} << 20;

}  // namespace

Bands::Bands(const Problem& problem, int parts, const Shape3& split)
    : steps_(decompose::split_steps({problem.complex_data, parts, split.z, split.y, split.x})),
      rows_(split.y) {
    const index_t columns = std::max(
        checked_multiply(problem.image.x, static_cast<index_t>(size_of(problem.image_type))),
        checked_multiply(problem.output.shape().x,
                         static_cast<index_t>(size_of(problem.output_type))));
    const index_t sample = sample_bytes(problem.precision, problem.complex_data);
    const index_t planes = split.z / steps_;
    row_bytes_ = checked_multiply(planes, checked_add(columns, checked_multiply(split.x, sample)));
    band_rows_ = std::clamp<index_t>(band_bytes / row_bytes_, 1, rows_);
    band_steps_ =
        band_rows_ < rows_
            ? 1
            : std::clamp<index_t>(band_bytes / checked_multiply(row_bytes_, rows_), 1, steps_);
    across_rows_ = ceil_div(rows_, band_rows_);
    across_steps_ = ceil_div(steps_, band_steps_);
}

Band Bands::operator[](index_t index) const {
    const index_t step = index / across_rows_ * band_steps_;
    const index_t row = index % across_rows_ * band_rows_;
    return {{step, std::min(step + band_steps_, steps_)}, row, std::min(row + band_rows_, rows_)};
}

index_t Bands::bytes() const {
    return checked_multiply(std::min<index_t>(in_flight, count()),
                            checked_multiply(row_bytes_, band_rows_ * band_steps_));
}

}  // namespace convolume
