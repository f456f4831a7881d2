// SPDX-License-Identifier: Apache-2.0
#include "forward/corner_loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forward/corner_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::forward::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The voxels around some positions on a line: along each axis the weights of both sides, and the
/// voxels' places in memory from `base`. Voxels outside a box have no weight, and the place of one
/// inside.
template <class T, class Place, unsigned axes>
struct Corners {
    T weights[axes][2][lanes];
    Place places[axes][2][lanes];
    index_t base = 0;

    /// Position i is begin + min(at + i, last) · step.
    HWY_INLINE Corners(const double* begin, const double* step, double at, double last,
                       const index_t* strides, const index_t* box_begin, const index_t* box_end) {
        for (unsigned a = 0; a < axes; ++a) {
            const double start = begin[a], by = step[a];
            const double end = std::min(at + static_cast<double>(lanes - 1), last);
            const auto from = std::floor(std::min(start + at * by, start + end * by));
            const auto least_voxel = static_cast<index_t>(from);
            base += least_voxel * strides[a];
            // A box farther away than 32 bits tell has no voxel near, wherever it is.
            constexpr index_t most = 1 << 30;
            const auto least =
                static_cast<std::int32_t>(std::clamp(box_begin[a] - least_voxel, -most, most));
            const auto largest =
                static_cast<std::int32_t>(std::clamp(box_end[a] - 1 - least_voxel, -most, most));
            std::int32_t first[lanes];
            double upper[lanes];
#pragma omp simd
            for (std::int32_t i = 0; i < lanes; ++i) {
                const double position = start + std::min(at + static_cast<double>(i), last) * by;
                // std::floor() makes no vectors. Rounding errors of the distance from the first
                // voxel, which differ from call to call, must not count.
                const double near =
                    from + static_cast<double>(static_cast<std::int32_t>(position - from));
                const double below = near - static_cast<double>(position < near);
                const double whole = below + static_cast<double>(position >= below + 1);
                first[i] = static_cast<std::int32_t>(whole - from);
                upper[i] = position - whole;
            }
            const auto stride = static_cast<Place>(strides[a]);
            for (std::int32_t side = 0; side < 2; ++side) {
                std::int32_t inside[lanes];
                T weight[lanes], is_inside[lanes];
#pragma omp simd
                for (index_t i = 0; i < lanes; ++i) {
                    inside[i] = std::min(std::max(first[i] + side, least), largest);
                    is_inside[i] = static_cast<T>(inside[i] == first[i] + side);
                }
#pragma omp simd
                for (index_t i = 0; i < lanes; ++i)
                    weight[i] = static_cast<T>(side == 0 ? 1 - upper[i] : upper[i]);
#pragma omp simd
                for (index_t i = 0; i < lanes; ++i) {
                    weights[a][side][i] = weight[i] * is_inside[i];
                    places[a][side][i] = static_cast<Place>(inside[i]) * stride;
                }
            }
        }
    }
};

/// Returns the place of a sample in a voxel, from its middle.
HWY_INLINE double sample_place(index_t sample, index_t samples) {
    return (static_cast<double>(sample) + 0.5) / static_cast<double>(samples) - 0.5;
}

/// Calls visit(v, weights, places) for every voxel v of row `u` of the grid, with the weights and
/// the places in the object's plane of the four voxels around each of its samples.
template <class T, class Visit>
HWY_INLINE void visit_plane_row(const PlaneMap& map, index_t u, index_t width, const Visit& visit) {
    const auto share = static_cast<T>(1 / static_cast<double>(map.samples[0] * map.samples[1]));
    const double step[2] = {map.matrix[0][1], map.matrix[1][1]};
    const index_t strides[2] = {map.object[1] * lanes, lanes}, none[2] = {0, 0};
    for (index_t v = 0; v < width; v += lanes)
        for (index_t i = 0; i < map.samples[0]; ++i)
            for (index_t j = 0; j < map.samples[1]; ++j) {
                const double of_u = static_cast<double>(u) + sample_place(i, map.samples[0]);
                const double of_v = sample_place(j, map.samples[1]);
                double begin[2];
                for (unsigned a = 0; a < 2; ++a)
                    begin[a] = map.offset[a] + map.matrix[a][0] * of_u + map.matrix[a][1] * of_v;
                const index_t count = std::min(lanes, width - v);
                const Corners<T, index_t, 2> at(begin, step, static_cast<double>(v),
                                                static_cast<double>(v + count - 1), strides, none,
                                                map.object.data());
                for (index_t k = 0; k < count; ++k) {
                    T weights[4];
                    index_t places[4];
                    for (int corner = 0; corner < 4; ++corner) {
                        const int y = corner / 2, x = corner % 2;
                        weights[corner] = share * at.weights[0][y][k] * at.weights[1][x][k];
                        places[corner] = at.base + at.places[0][y][k] + at.places[1][x][k];
                    }
                    visit(v + k, weights, places);
                }
            }
}

template <class T>
HWY_INLINE void gather_row_of(const PlaneMap& map, index_t u, index_t width, const T* plane,
                              T* row) {
    std::fill_n(row, width * lanes, T{0});
    visit_plane_row<T>(map, u, width, [&](index_t v, const T* weights, const index_t* places) {
        const T w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
        if (w0 == 0 && w1 == 0 && w2 == 0 && w3 == 0) return;
        const T *const a = plane + places[0], *const b = plane + places[1];
        const T *const c = plane + places[2], *const d = plane + places[3];
        T* const sums = row + v * lanes;
#pragma omp simd
        for (index_t k = 0; k < lanes; ++k)
            sums[k] = sums[k] + w0 * a[k] + w1 * b[k] + w2 * c[k] + w3 * d[k];
    });
}

template <class T>
HWY_INLINE void scatter_row_of(const PlaneMap& map, index_t u, index_t width, const T* row,
                               T* plane) {
    visit_plane_row<T>(map, u, width, [&](index_t v, const T* weights, const index_t* places) {
        for (int corner = 0; corner < 4; ++corner) {
            const T weight = weights[corner];
            if (weight == 0) continue;
            const T* const from = row + v * lanes;
            T* const to = plane + places[corner];
#pragma omp simd
            for (index_t k = 0; k < lanes; ++k) to[k] += weight * from[k];
        }
    });
}

/// Calls visit(corners, x, count) for some neighboring samples of a row after the other.
template <class T, class Place, class Visit>
HWY_INLINE void visit_samples(const SampleRow& samples, const IndexRange& range, const Box3& box,
                              const Visit& visit) {
    const index_t strides[3] = {samples.object.y * samples.object.x, samples.object.x, 1};
    const index_t begin[3] = {box.begin.z, box.begin.y, box.begin.x};
    const index_t end[3] = {box.end.z, box.end.y, box.end.x};
    for (index_t x = range.begin; x < range.end; x += lanes)
        visit(
            Corners<T, Place, 3>(samples.begin.data(), samples.step.data(), static_cast<double>(x),
                                 static_cast<double>(range.end - 1), strides, begin, end),
            x, std::min(lanes, range.end - x));
}

/// Whether the voxels around some neighboring samples are so near each other in memory that vectors
/// can gather them.
template <class T>
HWY_INLINE bool can_gather(const SampleRow& samples) {
    const Shape3& object = samples.object;
    const double strides[3] = {static_cast<double>(object.y * object.x),
                               static_cast<double>(object.x), 1};
    double most = 0;
    for (unsigned a = 0; a < 3; ++a)
        most += (static_cast<double>(lanes) * std::abs(samples.step[a]) + 2) * strides[a];
    return most < static_cast<double>(std::numeric_limits<hwy::MakeSigned<T>>::max());
}

/// Fills `values` with the values of an object at samples. Places of the size of T are gathered.
template <class T, class Place>
HWY_INLINE void interpolate(const Corners<T, Place, 3>& corners, const T* object, T* values) {
    const T* const origin = object + corners.base;
    if constexpr (sizeof(Place) == sizeof(T)) {
        const hn::CappedTag<T, lanes> d;
        const hn::RebindToSigned<decltype(d)> of_places;
        for (std::size_t i = 0; i < lanes; i += hn::Lanes(d)) {
            auto sum = hn::Zero(d);
            for (int line = 0; line < 4; ++line) {
                const int z = line / 2, y = line % 2;
                const auto at = hn::Add(hn::LoadU(of_places, corners.places[0][z] + i),
                                        hn::LoadU(of_places, corners.places[1][y] + i));
                auto of_line = hn::Zero(d);
                for (int x = 0; x < 2; ++x) {
                    const auto place = hn::Add(at, hn::LoadU(of_places, corners.places[2][x] + i));
                    of_line = hn::MulAdd(hn::LoadU(d, corners.weights[2][x] + i),
                                         hn::GatherIndex(d, origin, place), of_line);
                }
                sum = hn::MulAdd(hn::Mul(hn::LoadU(d, corners.weights[0][z] + i),
                                         hn::LoadU(d, corners.weights[1][y] + i)),
                                 of_line, sum);
            }
            hn::StoreU(sum, d, values + i);
        }
        return;
    }
    std::fill_n(values, lanes, T{0});
    for (index_t i = 0; i < lanes; ++i)
        for (int corner = 0; corner < 8; ++corner) {
            const int z = corner / 4, y = corner / 2 % 2, x = corner % 2;
            values[i] +=
                corners.weights[0][z][i] * corners.weights[1][y][i] * corners.weights[2][x][i] *
                origin[corners.places[0][z][i] + corners.places[1][y][i] + corners.places[2][x][i]];
        }
}

template <class T, class Place>
HWY_INLINE void gather_near(const SampleRow& samples, const IndexRange& range, const T* object,
                            T* row) {
    const auto share = static_cast<T>(samples.share);
    visit_samples<T, Place>(samples, range, {{}, samples.object},
                            [&](const auto& corners, index_t x, index_t count) HWY_ATTR {
                                T values[lanes];
                                interpolate(corners, object, values);
                                for (index_t i = 0; i < count; ++i) row[x + i] += share * values[i];
                            });
}

template <class T, class Place>
HWY_INLINE void scatter_near(const SampleRow& samples, const IndexRange& range, const Box3& part,
                             const T* row, T* object) {
    const auto share = static_cast<T>(samples.share);
    visit_samples<T, Place>(
        samples, range, part, [&](const auto& corners, index_t x, index_t count) HWY_ATTR {
            T values[lanes], light[8][lanes];
            Place places[4][lanes];
#pragma omp simd
            for (index_t i = 0; i < lanes; ++i) values[i] = i < count ? share * row[x + i] : T{0};
            for (int line = 0; line < 4; ++line) {
                const int z = line / 2, y = line % 2;
#pragma omp simd
                for (index_t i = 0; i < lanes; ++i) {
                    const T of_line =
                        values[i] * corners.weights[0][z][i] * corners.weights[1][y][i];
                    light[2 * line][i] = of_line * corners.weights[2][0][i];
                    light[2 * line + 1][i] = of_line * corners.weights[2][1][i];
                    places[line][i] = corners.places[0][z][i] + corners.places[1][y][i];
                }
            }
            T* const origin = object + corners.base;
            for (index_t i = 0; i < count; ++i) {
                T* const left = origin + corners.places[2][0][i];
                T* const right = origin + corners.places[2][1][i];
                for (int line = 0; line < 4; ++line) {
                    left[places[line][i]] += light[2 * line][i];
                    right[places[line][i]] += light[2 * line + 1][i];
                }
            }
        });
}

template <class T>
HWY_INLINE void gather_samples_of(const SampleRow& samples, const IndexRange& range,
                                  const T* object, T* row) {
    if (can_gather<T>(samples))
        gather_near<T, hwy::MakeSigned<T>>(samples, range, object, row);
    else
        gather_near<T, index_t>(samples, range, object, row);
}

template <class T>
HWY_INLINE void scatter_samples_of(const SampleRow& samples, const IndexRange& range,
                                   const Box3& part, const T* row, T* object) {
    if (can_gather<T>(samples))
        scatter_near<T, hwy::MakeSigned<T>>(samples, range, part, row, object);
    else
        scatter_near<T, index_t>(samples, range, part, row, object);
}

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
/// vectors are stored, as lines of the cache that are written by parts cost the time of several.
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
    constexpr std::size_t widest = std::min<std::size_t>(HWY_MAX_BYTES / sizeof(float), lanes);
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

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_LOOPS(Real)                                                 \
    static constexpr auto& gather_row_##Real = gather_row_of<Real>;           \
    static constexpr auto& scatter_row_##Real = scatter_row_of<Real>;         \
    static constexpr auto& gather_samples_##Real = gather_samples_of<Real>;   \
    static constexpr auto& scatter_samples_##Real = scatter_samples_of<Real>; \
    static constexpr auto& put_transposed_##Real = put_transposed_of<Real>;
CONVOLUME_LOOPS(float)
CONVOLUME_LOOPS(double)
#undef CONVOLUME_LOOPS

}  // namespace convolume::forward::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::forward {

#define CONVOLUME_LOOP(name, Real, parameters, ...)       \
    HWY_EXPORT(name##_##Real);                            \
    template <>                                           \
    void name parameters {                                \
        HWY_DYNAMIC_DISPATCH(name##_##Real)(__VA_ARGS__); \
    }
#define CONVOLUME_LOOPS(Real)                                                                     \
    CONVOLUME_LOOP(gather_row, Real,                                                              \
                   (const PlaneMap& map, index_t u, index_t width, const Real* plane, Real* row), \
                   map, u, width, plane, row)                                                     \
    CONVOLUME_LOOP(scatter_row, Real,                                                             \
                   (const PlaneMap& map, index_t u, index_t width, const Real* row, Real* plane), \
                   map, u, width, row, plane)                                                     \
    CONVOLUME_LOOP(                                                                               \
        gather_samples, Real,                                                                     \
        (const SampleRow& samples, const IndexRange& range, const Real* object, Real* row),       \
        samples, range, object, row)                                                              \
    CONVOLUME_LOOP(scatter_samples, Real,                                                         \
                   (const SampleRow& samples, const IndexRange& range, const Box3& part,          \
                    const Real* row, Real* object),                                               \
                   samples, range, part, row, object)                                             \
    CONVOLUME_LOOP(put_transposed, Real,                                                          \
                   (const Real* from, index_t from_step, index_t rows, index_t columns,           \
                    Real weight, bool adds, Real* to, index_t to_step),                           \
                   from, from_step, rows, columns, weight, adds, to, to_step)
CONVOLUME_LOOPS(float)
CONVOLUME_LOOPS(double)

}  // namespace convolume::forward
#endif
