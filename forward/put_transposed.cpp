// SPDX-License-Identifier: Apache-2.0
#include "forward/put_transposed.hpp"

#include <algorithm>
#include <type_traits>

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forward/put_transposed.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::forward::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// Returns a vector of four values each of some rows: those of the first row are its lowest ones.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, index_t row_step) {
    if constexpr (hn::MaxLanes(d) <= 4) {
        return hn::LoadU(d, from);
    } else {
        const hn::Half<D> half;
        constexpr index_t rows = hn::MaxLanes(half) / 4;
        return hn::Combine(d, load_blocks(half, from + rows * row_step, row_step),
                           load_blocks(half, from, row_step));
    }
}

/// Transposes the rows from row `i` on by vectors of `width` rows, and returns the next row. Whole
/// vectors are stored, as several partial writes of a line of the cache cost much more time.
template <std::size_t width, bool adds, class Put>
HWY_INLINE index_t transpose_rows(const float* from, index_t from_step, index_t i, index_t rows,
                                  index_t columns, float weight, float* to, index_t to_step,
                                  const Put& put) {
    const hn::FixedTag<float, width> d;
    const hn::Repartition<double, decltype(d)> pairs;
    constexpr index_t count = width;
    const auto factor = hn::Set(d, weight);
    const index_t whole = columns / 4 * 4;
    for (; i + count <= rows; i += count) {
        const float* in = from + i * from_step;
        float* out = to + i;
        for (index_t j = 0; j < whole; j += 4, in += 4) {
            // Vector k has row k of each four rows.
            const auto a = load_blocks(d, in, 4 * from_step);
            const auto b = load_blocks(d, in + from_step, 4 * from_step);
            const auto c = load_blocks(d, in + 2 * from_step, 4 * from_step);
            const auto e = load_blocks(d, in + 3 * from_step, 4 * from_step);
            const auto store = [&](auto line) HWY_ATTR {
                const auto of_line = hn::BitCast(d, line);
                if constexpr (adds)
                    hn::StoreU(hn::MulAdd(factor, of_line, hn::LoadU(d, out)), d, out);
                else
                    hn::StoreU(hn::Mul(factor, of_line), d, out);
                out += to_step;
            };
            const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
            const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
            const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
            const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
            store(hn::InterleaveLower(pairs, ab_low, ce_low));
            store(hn::InterleaveUpper(pairs, ab_low, ce_low));
            store(hn::InterleaveLower(pairs, ab_high, ce_high));
            store(hn::InterleaveUpper(pairs, ab_high, ce_high));
        }
        for (index_t k = i; k < i + count; ++k)
            for (index_t j = whole; j < columns; ++j) put(k, j);
    }
    return i;
}

/// The same by the widest vectors, then by short ones.
template <bool adds, class Put>
HWY_INLINE index_t transpose_all_rows(const float* from, index_t from_step, index_t rows,
                                      index_t columns, float weight, float* to, index_t to_step,
                                      const Put& put) {
    // A line of the cache has 16 floats.
    constexpr std::size_t widest = std::min<std::size_t>(HWY_MAX_BYTES / sizeof(float), 16);
    const auto with = [&](auto width, index_t i) HWY_ATTR {
        return transpose_rows<width.value, adds>(from, from_step, i, rows, columns, weight, to,
                                                 to_step, put);
    };
    index_t i = 0;
    if constexpr (widest > 4) i = with(std::integral_constant<std::size_t, widest>{}, i);
    return with(std::integral_constant<std::size_t, 4>{}, i);
}
#endif

template <class T>
HWY_INLINE void put_transposed_of(const T* from, index_t from_step, index_t rows, index_t columns,
                                  T weight, bool adds, T* to, index_t to_step) {
    const auto put = [&](index_t i, index_t j) {
        T& target = to[j * to_step + i];
        const T value = weight * from[i * from_step + j];
        target = adds ? target + value : value;
    };
    index_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (sizeof(T) == sizeof(float)) {
        i = adds
                ? transpose_all_rows<true>(from, from_step, rows, columns, weight, to, to_step, put)
                : transpose_all_rows<false>(from, from_step, rows, columns, weight, to, to_step,
                                            put);
    }
#endif
    for (; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j) put(i, j);
}

static constexpr auto& put_transposed_float = put_transposed_of<float>;
static constexpr auto& put_transposed_double = put_transposed_of<double>;

}  // namespace convolume::forward::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::forward {

HWY_EXPORT(put_transposed_float);
HWY_EXPORT(put_transposed_double);

template <>
void put_transposed(const float* from, index_t from_step, index_t rows, index_t columns,
                    float weight, bool adds, float* to, index_t to_step) {
    HWY_DYNAMIC_DISPATCH(put_transposed_float)
    (from, from_step, rows, columns, weight, adds, to, to_step);
}

template <>
void put_transposed(const double* from, index_t from_step, index_t rows, index_t columns,
                    double weight, bool adds, double* to, index_t to_step) {
    HWY_DYNAMIC_DISPATCH(put_transposed_double)
    (from, from_step, rows, columns, weight, adds, to, to_step);
}

}  // namespace convolume::forward
#endif
