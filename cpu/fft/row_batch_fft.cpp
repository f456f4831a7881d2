// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/row_batch_fft.hpp"

#include <algorithm>
#include <array>

#include "cpu/fft/roots.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t most_rows = 16;

// Returns pointers to the rows of a tile. Missing rows are at `other`.
template <class Real>
std::array<Real*, most_rows> row_pointers(Real* first, index_t distance, index_t rows,
                                          Real* other) {
    std::array<Real*, most_rows> all{};
    for (index_t r = 0; r < most_rows; ++r)
        all[static_cast<std::size_t>(r)] = r < rows ? first + r * distance : other;
    return all;
}

// Whether two rows of an odd number of real samples are transformed as one of complex ones.
bool is_pairs(index_t length, TransformKind kind) {
    return !is_complex(kind) && length % 2 == 1;
}
index_t columns_length(index_t length, TransformKind kind) {
    return is_complex(kind) || is_pairs(length, kind) ? length : length / 2;
}

}  // namespace

template <class Real>
RealStepTable<Real>::RealStepTable(index_t length) : half_(length / 2) {
    // Steps of rows compute some bins beyond the middle twice, in vectors of up to 16.
    for (index_t k = 0; 2 * k <= half_ + 16; ++k) {
        const std::complex<double> root = root_of_unity(k, length);
        twiddles_.push_back(static_cast<Real>(-root.imag()));
        twiddles_.push_back(static_cast<Real>(root.real()));
    }
}

template <class Real>
RowBatchFft<Real>::RowBatchFft(index_t length, TransformKind kind)
    : length_(length),
      kind_(kind),
      pairs_(is_pairs(length, kind)),
      columns_length_(columns_length(length, kind)),
      columns_(columns_length_),
      real_step_(is_complex(kind_) || pairs_ ? 2 : length) {}

// A tile, scratch memory of its transform, and a row for results that have no row.
template <class Real>
index_t RowBatchFft<Real>::scratch_reals(index_t length, TransformKind kind) {
    return 2 * most_rows * (2 * columns_length(length, kind) + 1) +
           round_up(2 * length + 2, index_t{16});
}

template <class Real>
void RowBatchFft<Real>::run(const RowSet<Real>& rows, Real* scratch) const {
    const bool wide = sizeof(Real) == sizeof(float);
    for (index_t row = 0; row < rows.count;) {
        const index_t left = rows.count - row;
        const index_t width = wide && left > most_rows / 2 ? most_rows : most_rows / 2;
        const index_t taken = std::min(left, pairs_ ? most_rows : width);
        const RowSet<Real> group{rows.source + row * rows.source_distance, rows.source_distance,
                                 rows.target + row * rows.target_distance, rows.target_distance,
                                 taken};
        if (pairs_)
            run_real_pairs(group, scratch);
        else
            run_rows(group, width, scratch);
        row += taken;
    }
}

template <class Real>
void RowBatchFft<Real>::transform(Real* tile, index_t width, Real* scratch) const {
    ColumnTransform<Real> transform;
    transform.source_tile = tile;
    transform.target_tile = tile;
    transform.columns = width;
    columns_.run(transform, scratch);
}

// Inverse transforms are forward ones with real and imaginary parts exchanged, which the step of
// real transforms does, too.
template <class Real>
void RowBatchFft<Real>::run_rows(const RowSet<Real>& rows, index_t width, Real* scratch) const {
    Real* const tile = scratch;
    Real* const own_scratch = tile + 2 * width * tile_rows();
    Real* const spare = own_scratch + 2 * width * columns_length_;
    const bool is_real = !is_complex(kind_), inverse = is_inverse(kind_);
    const index_t samples = is_real ? length_ : 2 * length_;  // in real numbers
    const index_t bins = is_real ? length_ + 2 : samples;
    const TileRows<Real> plain{tile, 2 * width, width}, exchanged{tile + width, 2 * width, -width};
    gather_rows(row_pointers(rows.source, rows.source_distance, rows.count, rows.source).data(),
                inverse ? bins : samples, inverse && !is_real ? exchanged : plain, width);
    if (is_real && inverse) apply_real_step(real_step_.step(true), tile, width);
    transform(tile, width, own_scratch);
    if (is_real && !inverse) apply_real_step(real_step_.step(false), tile, width);
    scatter_rows(inverse ? exchanged : plain, inverse ? samples : bins,
                 row_pointers(rows.target, rows.target_distance, rows.count, spare).data(), width);
}

// The rows of the second half of the set are the imaginary parts of those of the first half.
template <class Real>
void RowBatchFft<Real>::run_real_pairs(const RowSet<Real>& rows, Real* scratch) const {
    constexpr index_t width = most_rows / 2;
    Real* const tile = scratch;
    Real* const own_scratch = tile + 2 * width * tile_rows();
    Real* const spare = own_scratch + 2 * width * columns_length_;
    const auto source = row_pointers(rows.source, rows.source_distance, rows.count, rows.source);
    const auto target = row_pointers(rows.target, rows.target_distance, rows.count, spare);
    const index_t bins = length_ + 1;  // in real numbers
    const TileRows<Real> first_samples{tile, 4 * width, 2 * width},
        second_samples{tile + width, 4 * width, 2 * width}, first_bins{tile, 2 * width, width},
        second_bins{tile + 2 * width * length_, -2 * width, width};
    if (is_inverse(kind_)) {
        gather_rows(source.data(), bins, first_bins, width);
        gather_rows(source.data() + width, bins, second_bins, width);
        join_pairs(tile, length_, width);  // which exchanges real and imaginary parts
        transform(tile, width, own_scratch);
        scatter_rows(second_samples, length_, target.data(), width);
        scatter_rows(first_samples, length_, target.data() + width, width);
    } else {
        gather_rows(source.data(), length_, first_samples, width);
        gather_rows(source.data() + width, length_, second_samples, width);
        transform(tile, width, own_scratch);
        split_pairs(tile, length_, width);
        scatter_rows(first_bins, bins, target.data(), width);
        scatter_rows(second_bins, bins, target.data() + width, width);
    }
}

template class RealStepTable<float>;
template class RealStepTable<double>;
template class RowBatchFft<float>;
template class RowBatchFft<double>;

}  // namespace convolume::cpu
