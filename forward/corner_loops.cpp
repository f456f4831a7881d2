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

/// Vectors of doubles, and of other types with as many lanes. What was stored as a vector is loaded
/// as one of the same size: a processor passes such a value on, and otherwise waits for memory.
using Doubles = hn::CappedTag<double, lanes>;
template <class T>
using InLanes = hn::Rebind<T, Doubles>;

/// Writes a vector of doubles as elements of another type.
template <class To>
HWY_INLINE void store_doubles(hn::Vec<Doubles> values, To* to) {
    const InLanes<To> d;
    if constexpr (sizeof(To) < sizeof(double))
        hn::StoreU(hn::DemoteTo(d, values), d, to);
    else if constexpr (std::is_integral_v<To>)
        hn::StoreU(hn::ConvertTo(d, values), d, to);
    else
        hn::StoreU(values, d, to);
}

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
        const Doubles d;
        const auto one = hn::Set(d, 1.0);
        for (unsigned a = 0; a < axes; ++a) {
            const double end = std::min(at + static_cast<double>(lanes - 1), last);
            const auto from =
                std::floor(std::min(begin[a] + at * step[a], begin[a] + end * step[a]));
            const auto least_voxel = static_cast<index_t>(from);
            base += least_voxel * strides[a];
            // A box farther away than 32 bits tell has no voxel near, wherever it is.
            constexpr index_t most = 1 << 30;
            const auto within = [&](index_t voxel) HWY_ATTR {
                return hn::Set(d,
                               static_cast<double>(std::clamp(voxel - least_voxel, -most, most)));
            };
            const auto least = within(box_begin[a]), largest = within(box_end[a] - 1);
            const auto stride = hn::Set(d, static_cast<double>(strides[a]));
            for (std::size_t i = 0; i < lanes; i += hn::Lanes(d)) {
                const auto number =
                    hn::Min(hn::Iota(d, at + static_cast<double>(i)), hn::Set(d, last));
                const auto position = hn::MulAdd(number, hn::Set(d, step[a]), hn::Set(d, begin[a]));
                const auto below = hn::Floor(position);
                const auto upper = hn::Sub(position, below);
                const auto first = hn::Sub(below, hn::Set(d, from));
                const auto put = [&](unsigned side, auto voxel, auto weight) HWY_ATTR {
                    const auto inside = hn::Min(hn::Max(voxel, least), largest);
                    store_doubles(hn::IfThenElseZero(hn::Eq(inside, voxel), weight),
                                  weights[a][side] + i);
                    store_doubles(hn::Mul(inside, stride), places[a][side] + i);
                };
                put(0, first, hn::Sub(one, upper));
                put(1, hn::Add(first, one), upper);
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
        const InLanes<T> d;
        const InLanes<Place> of_places;
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

/// Adds four values to four others in memory.
template <class T>
HWY_INLINE void add_four(T factor, const T* values, T* sums) {
#if HWY_TARGET != HWY_SCALAR
    // The compiler would load and store two cells at once, of which the next sample reads one: it
    // would wait until both are in the cache.
    if constexpr (sizeof(T) == sizeof(float)) {
        const hn::FixedTag<float, 4> d;
        hn::StoreU(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, values), hn::LoadU(d, sums)), d,
                   sums);
        return;
    }
#endif
    for (int k = 0; k < 4; ++k) sums[k] += factor * values[k];
}

template <class T>
HWY_INLINE void scatter_samples_of(const SampleRow& samples, const IndexRange& range,
                                   const CornerBox& box, const T* row, T* cells) {
    const auto share = static_cast<T>(samples.share);
    const Shape3 extents = box.cells();
    const Doubles d;
    const auto one = hn::Set(d, 1.0);
    for (index_t x = range.begin; x < range.end; x += lanes) {
        const index_t count = std::min(lanes, range.end - x);
        T values[lanes], weights[3][2][lanes], of_samples[4 * lanes];
        std::int32_t cell[lanes];
#pragma omp simd
        for (index_t i = 0; i < lanes; ++i) values[i] = i < count ? share * row[x + i] : T{0};
        for (std::size_t i = 0; i < lanes; i += hn::Lanes(d)) {
            const auto number = hn::Iota(d, static_cast<double>(x + static_cast<index_t>(i)));
            auto at = hn::Zero(d), is_inside = one;
            double stride = 1;
            for (const unsigned a : {2U, 1U, 0U}) {
                const int axis = static_cast<int>(a);
                const auto position =
                    hn::MulAdd(number, hn::Set(d, samples.step[a]), hn::Set(d, samples.begin[a]));
                const auto below = hn::Floor(position);
                const auto upper = hn::Sub(position, below);
                const auto first =
                    hn::Sub(below, hn::Set(d, static_cast<double>(box.first_cell(axis))));
                const auto inside =
                    hn::Min(hn::Max(first, hn::Zero(d)),
                            hn::Set(d, static_cast<double>(box.first_neighbors(axis) - 1)));
                is_inside = hn::IfThenElseZero(hn::Eq(inside, first), is_inside);
                at = hn::MulAdd(inside, hn::Set(d, stride), at);
                stride *= static_cast<double>(extents[axis]);
                // The weights along z are computed last, and are 0 for samples outside of the box.
                const auto factor = a == 0 ? is_inside : one;
                store_doubles(hn::Mul(factor, hn::Sub(one, upper)), weights[a][0] + i);
                store_doubles(hn::Mul(factor, upper), weights[a][1] + i);
            }
            store_doubles(at, cell + i);
        }
        const InLanes<T> of_values;
        for (std::size_t i = 0; i < lanes; i += hn::Lanes(of_values)) {
            const auto load = [&](const T* from)
                                  HWY_ATTR { return hn::LoadU(of_values, from + i); };
            const auto before = hn::Mul(load(values), load(weights[0][0]));
            const auto behind = hn::Mul(load(values), load(weights[0][1]));
            const auto above = load(weights[1][0]), below = load(weights[1][1]);
            hn::StoreInterleaved4(hn::Mul(before, above), hn::Mul(before, below),
                                  hn::Mul(behind, above), hn::Mul(behind, below), of_values,
                                  of_samples + 4 * i);
        }
        for (index_t i = 0; i < count; ++i) {
            T* const sums = cells + 4 * static_cast<index_t>(cell[i]);
            add_four(weights[2][0][i], of_samples + 4 * i, sums);
            add_four(weights[2][1][i], of_samples + 4 * i, sums + 4);
        }
    }
}

template <class T>
HWY_INLINE void add_cells_of(const CornerBox& box, const T* cells, const Shape3& object,
                             T* values) {
    const Shape3 extents = box.cells(), voxels = box.voxels.shape();
    const index_t row = 4 * extents.x, plane = row * extents.y;
    for (index_t z = 0; z < voxels.z; ++z)
        for (index_t y = 0; y < voxels.y; ++y) {
            // The voxel is the second neighbor of samples in the cells before it.
            const T* const last = cells + z * plane + y * row + 4;
            const T *const of_y = last + plane, *const of_z = last + row, *const own = of_y + row;
            T* const sums =
                values + ((box.voxels.begin.z + z) * object.y + box.voxels.begin.y + y) * object.x +
                box.voxels.begin.x;
#pragma omp simd
            for (index_t x = 0; x < voxels.x; ++x)
                sums[x] += (own[4 * x] + of_y[4 * x + 1]) + (of_z[4 * x + 2] + last[4 * x + 3]);
        }
}

template <class T>
HWY_INLINE void gather_samples_of(const SampleRow& samples, const IndexRange& range,
                                  const T* object, T* row) {
    if (can_gather<T>(samples))
        gather_near<T, hwy::MakeSigned<T>>(samples, range, object, row);
    else
        gather_near<T, index_t>(samples, range, object, row);
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
#define CONVOLUME_LOOPS(Real)                                                 \
    static constexpr auto& gather_row_##Real = gather_row_of<Real>;           \
    static constexpr auto& scatter_row_##Real = scatter_row_of<Real>;         \
    static constexpr auto& gather_samples_##Real = gather_samples_of<Real>;   \
    static constexpr auto& scatter_samples_##Real = scatter_samples_of<Real>; \
    static constexpr auto& add_cells_##Real = add_cells_of<Real>;
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
                   (const SampleRow& samples, const IndexRange& range, const CornerBox& box,      \
                    const Real* row, Real* cells),                                                \
                   samples, range, box, row, cells)                                               \
    CONVOLUME_LOOP(add_cells, Real,                                                               \
                   (const CornerBox& box, const Real* cells, const Shape3& object, Real* values), \
                   box, cells, object, values)
CONVOLUME_LOOPS(float)
CONVOLUME_LOOPS(double)

}  // namespace convolume::forward
#endif
