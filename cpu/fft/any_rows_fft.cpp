// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/any_rows_fft.hpp"

#include <algorithm>

namespace convolume::cpu {

namespace {

constexpr index_t most_columns = ColumnFft<float>::most_columns;

// Returns whether real rows are half as many complex samples.
bool has_halves(index_t length, TransformKind kind) {
    return !is_complex(kind) && length % 2 == 0;
}

// Returns the number of rows that a batch takes at once.
template <class Real>
index_t rows_at_once(index_t length, TransformKind kind) {
    const bool pairs = !is_complex(kind) && length % 2 == 1;
    return pairs || sizeof(Real) == sizeof(float) ? most_columns : most_columns / 2;
}

// Returns the number of rows from which a batch is predicted to be faster than as many lines.
template <class Real>
index_t batch_threshold(const LineFactors& line, index_t line_length, TransformKind kind) {
    if (line.column_length == 0) return 1;
    const index_t width = sizeof(Real) == sizeof(float) ? most_columns : most_columns / 2;
    const auto samples = static_cast<double>(line_length);
    // In units of predicted_column_cost(): gathering and scattering rows of a batch, and the real
    // steps of tiles and lines.
    const double gather = sizeof(Real) == sizeof(float) ? 5 : 3;
    const double tile_step = is_complex(kind) ? 0 : 1.5;
    const double line_step = is_complex(kind) ? 0 : 2.6 * samples + 100;
    const double batch =
        static_cast<double>(width) *
        (predicted_column_cost(line_length, width) + (gather + tile_step) * samples) *
        cache_factor<Real>(line_length, width);
    return static_cast<index_t>(batch / (line.cost + line_step)) + 1;
}

}  // namespace

template <class Real>
AnyRowsFft<Real>::AnyRowsFft(index_t length, TransformKind kind, index_t most_rows)
    : length_(length),
      kind_(kind),
      line_length_(has_halves(length, kind) ? length / 2 : length),
      real_step_(has_halves(length, kind) ? length : 2) {
    const LineFactors factors = LineFft<Real>::factors_of(line_length_);
    least_in_batch_ = batch_threshold<Real>(factors, line_length_, kind);
    if (std::min(most_rows, rows_at_once<Real>(length, kind)) >= least_in_batch_)
        batch_.emplace(length, kind);
    if (least_in_batch_ > 1) line_.emplace(factors);
}

template <class Real>
index_t AnyRowsFft<Real>::scratch_reals() const {
    const index_t batch = batch_ ? batch_->scratch_reals() : 0;
    // Spectra and samples that real transforms make lie in front of the line's own memory.
    const index_t line =
        line_ ? line_->scratch_reals() + round_up(2 * line_length_, index_t{16}) : 0;
    return std::max(batch, line);
}

template <class Real>
void AnyRowsFft<Real>::run(const RowSet<Real>& rows, Real* scratch) const {
    const index_t at_once = rows_at_once<Real>(length_, kind_);
    for (index_t row = 0; row < rows.count;) {
        RowSet<Real> some{rows.source + row * rows.source_distance, rows.source_distance,
                          rows.target + row * rows.target_distance, rows.target_distance,
                          std::min(at_once, rows.count - row)};
        if (batch_ && some.count >= least_in_batch_) {
            batch_->run(some, scratch);
        } else if (is_complex(kind_)) {
            line_->run(some, is_inverse(kind_), scratch);
        } else {
            some.count = 1;
            run_line(some.source, some.target, scratch);
        }
        row += some.count;
    }
}

template <class Real>
void AnyRowsFft<Real>::run_line(const Real* source, Real* target, Real* scratch) const {
    Real* const copy = scratch;
    Real* const own_scratch = scratch + round_up(2 * line_length_, index_t{16});
    const bool inverse = is_inverse(kind_);
    const auto transform = [&](const Real* from, Real* to) {
        line_->run({from, 0, to, 0, 1}, inverse, own_scratch);
    };
    if (has_halves(length_, kind_)) {
        const RealStep<Real> step = real_step_.step(inverse);
        if (inverse) {
            apply_real_step_to_row(step, source, copy);
            transform(copy, target);
        } else {
            transform(source, target);
            apply_real_step_to_row(step, target, target);
        }
    } else if (inverse) {
        copy[0] = source[0];
        copy[1] = 0;
        for (index_t k = 1; 2 * k < length_; ++k) {
            Real* const low = copy + 2 * k;
            Real* const high = copy + 2 * (length_ - k);
            low[0] = high[0] = source[2 * k];
            low[1] = source[2 * k + 1];
            high[1] = -low[1];
        }
        transform(copy, copy);
        for (index_t n = 0; n < length_; ++n) target[n] = copy[2 * n];
    } else {
        for (index_t n = 0; n < length_; ++n) {
            copy[2 * n] = source[n];
            copy[2 * n + 1] = 0;
        }
        transform(copy, copy);
        std::copy_n(copy, length_ + 1, target);
    }
}

template class AnyRowsFft<float>;
template class AnyRowsFft<double>;

}  // namespace convolume::cpu
