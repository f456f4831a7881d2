// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/line_fft.hpp"

#include <array>

#include "cpu/fft/line_columns.hpp"
#include "cpu/fft/radices.hpp"
#include "cpu/fft/roots.hpp"
#include "cpu/fft/tile_moves.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t most_width = 16;

// Length of the longest rows for which there is a table of all twiddle factors.
constexpr index_t longest_full_table = 1 << 15;

}  // namespace

// Returns how much slower a transform of a tile and its scratch memory is than in the nearest
// cache.
template <class Real>
double cache_factor(index_t length, index_t width) {
    const index_t bytes = 2 * 2 * length * width * index_t{sizeof(Real)};
    return bytes <= 32 << 10 ? 1 : bytes <= 1 << 20 ? 1.1 : bytes <= 8 << 20 ? 1.2 : 3;
}

double predicted_column_cost(index_t length, index_t width) {
    // Narrow tiles use vectors less well.
    return cost_of(radices_of(length)) * static_cast<double>(length) *
           (width == most_width ? 1 : 1.25);
}

template <class Real>
LineFactors LineFft<Real>::factors_of(index_t length) {
    LineFactors best;
    const auto compare = [&](const LineFactors& factors) {
        if (best.column_length == 0 || factors.cost < best.cost) best = factors;
    };
    const auto takes = [](index_t part) { return ColumnFft<Real>::takes(part); };
    const bool wide = sizeof(Real) == sizeof(float);
    for (const index_t width : {most_width, most_width / 2}) {
        if ((width == most_width && !wide) || length < width * width) continue;
        const index_t others = length / width;
        if (length % width == 0 && takes(others)) {
            // The first step, and the start of a line, which is short for a line in registers.
            const double begin = wide ? 4.6 : 3.4, start = others == width ? 50 : 200;
            const bool has_half = others % width == width / 2;
            const index_t columns = has_half ? others : round_up(others, width);
            compare({width, others, width, true,
                     start + static_cast<double>(width) * (begin * static_cast<double>(columns) +
                                                           predicted_column_cost(others, width) *
                                                               cache_factor<Real>(others, width))});
        }
        for (index_t column = width; column * width <= length; ++column) {
            if (length % column != 0 || !takes(column) || !takes(length / column)) continue;
            const index_t row = length / column;
            // The rows are gathered into tiles, which is another pass.
            const double gather = (wide ? 5 : 4) * static_cast<double>(row), start = 1000;
            compare({column, row, width, false,
                     start +
                         static_cast<double>(round_up(row, width)) *
                             predicted_column_cost(column, width) *
                             cache_factor<Real>(column, width) +
                         static_cast<double>(round_up(column, width)) *
                             (predicted_column_cost(row, width) + gather) *
                             cache_factor<Real>(row, width)});
        }
    }
    return best;
}

template <class Real>
LineFft<Real>::LineFft(const LineFactors& factors)
    : factors_(factors), columns_(factors.column_length), rows_(factors.row_length) {
    const index_t length = factors.column_length * factors.row_length;
    const auto set = [&](AlignedTable<Real>& table, index_t at, index_t jk, index_t distance) {
        const std::complex<double> root = root_of_unity(jk, length);
        table[static_cast<std::size_t>(at)] = static_cast<Real>(root.real());
        table[static_cast<std::size_t>(at + distance)] = static_cast<Real>(-root.imag());
    };
    if (factors.is_tile) {
        const index_t lanes = ColumnFft<Real>::line_lanes(factors.width);
        for (index_t done = 0; done < factors.row_length;) {
            const auto [first, count] = next_line_columns(done, factors.row_length, lanes);
            for (index_t k = 1; k < factors.width; ++k) {
                const auto at = static_cast<index_t>(twiddles_.size());
                twiddles_.resize(static_cast<std::size_t>(at + 2 * count));
                for (index_t i = 0; i < count; ++i)
                    set(twiddles_, at + i, (first + column_in_lane(i, count)) * k, count);
            }
            done = first + count;
        }
        return;
    }
    const bool full = length <= longest_full_table;
    const index_t groups = column_groups(), width = factors.width;
    const index_t tables = full ? groups : 1;
    twiddles_.resize(static_cast<std::size_t>(tables * factors.column_length * tile_row()));
    for (index_t group = 0; group < tables; ++group)
        for (index_t k = 0; k < factors.column_length; ++k)
            for (index_t j = 0; j < width; ++j)
                set(twiddles_, (group * factors.column_length + k) * tile_row() + j,
                    (first_of(group, factors.row_length) + j) * k, width);
    if (full) return;
    group_twiddles_.resize(static_cast<std::size_t>(groups * factors.column_length * 2));
    for (index_t group = 0; group < groups; ++group)
        for (index_t k = 0; k < factors.column_length; ++k)
            set(group_twiddles_, (group * factors.column_length + k) * 2,
                first_of(group, factors.row_length) * k, 1);
}

template <class Real>
index_t LineFft<Real>::scratch_reals() const {
    if (factors_.is_tile) return 2 * factors_.row_length * tile_row();
    const index_t scratch = std::max(2 * factors_.column_length, factors_.row_length);
    return tile_row() * (column_groups() * factors_.column_length + factors_.row_length + scratch);
}

template <class Real>
void LineFft<Real>::run(const RowSet<Real>& rows, bool inverse, Real* scratch) const {
    if (factors_.is_tile) {
        const LineSet<Real> lines{rows, twiddles_.data()};
        ColumnTransform<Real> transform;
        transform.lines = &lines;
        transform.columns = factors_.width;
        transform.inverse = inverse;
        rows_.run(transform, scratch);
        return;
    }
    for (index_t r = 0; r < rows.count; ++r)
        run_groups(rows.source + r * rows.source_distance, rows.target + r * rows.target_distance,
                   inverse, scratch);
}

template <class Real>
void LineFft<Real>::run_groups(const Real* source, Real* target, bool inverse,
                               Real* scratch) const {
    const index_t column_length = factors_.column_length, row_length = factors_.row_length,
                  width = factors_.width;
    const index_t groups = column_groups(), group_reals = column_length * tile_row();
    Real* const groups_memory = scratch;
    Real* const tile = groups_memory + groups * group_reals;
    Real* const own_scratch = tile + row_length * tile_row();

    ColumnTransform<Real> first;
    first.source_stride = 2 * row_length;
    first.source_count = column_length;
    first.columns = width;
    first.inverse = inverse;
    for (index_t group = 0; group < groups; ++group) {
        first.source = source + 2 * first_of(group, row_length);
        first.target_tile = groups_memory + group * group_reals;
        if (group_twiddles_.empty()) {
            first.factors = twiddles_.data() + group * group_reals;
        } else {
            first.factors = twiddles_.data();
            first.row_factors = group_twiddles_.data() + group * column_length * 2;
        }
        columns_.run(first, own_scratch);
    }

    ColumnTransform<Real> second;
    second.source_tile = tile;
    second.target_stride = 2 * column_length;
    second.target_count = row_length;
    second.columns = width;
    second.inverse = inverse;
    std::array<const Real*, most_width> rows{};
    for (index_t part = 0; part < ceil_div(column_length, width); ++part) {
        const index_t first_row = first_of(part, column_length);
        for (index_t group = 0; group < groups; ++group) {
            const Real* const from = groups_memory + group * group_reals + first_row * tile_row();
            Real* const to = tile + first_of(group, row_length) * tile_row();
            for (index_t part_of_sample = 0; part_of_sample < 2; ++part_of_sample) {
                for (index_t r = 0; r < width; ++r)
                    rows[static_cast<std::size_t>(r)] =
                        from + r * tile_row() + part_of_sample * width;
                gather_rows(rows.data(), width,
                            {to + part_of_sample * width, 2 * tile_row(), tile_row()}, width);
            }
        }
        second.target = target + 2 * first_row;
        rows_.run(second, own_scratch);
    }
}

template double cache_factor<float>(index_t, index_t);
template double cache_factor<double>(index_t, index_t);
template class LineFft<float>;
template class LineFft<double>;

}  // namespace convolume::cpu
