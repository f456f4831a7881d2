// SPDX-License-Identifier: Apache-2.0
#include "forward/corner_loops.hpp"

#include <algorithm>

#include "core/instruction_sets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forward/corner_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolume::forward::HWY_NAMESPACE {

/// The four voxels around a position, and their weights.
template <class T>
struct PlaneCorners {
    index_t y, x;  ///< the first of them
    T weights[4];  ///< of (y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)
    bool are_inside;
};

template <class T>
HWY_INLINE PlaneCorners<T> corners_of(const PlaneMap& map, double u, double v) {
    const double share = 1 / static_cast<double>(map.samples[0] * map.samples[1]);
    const double along[2] = {map.offset[0] + map.matrix[0][0] * u + map.matrix[0][1] * v,
                             map.offset[1] + map.matrix[1][0] * u + map.matrix[1][1] * v};
    index_t first[2];
    double upper[2];
    for (int a = 0; a < 2; ++a) {
        // std::floor() is a call without SSE4.1.
        first[a] = static_cast<index_t>(along[a]);
        first[a] -= along[a] < static_cast<double>(first[a]);
        upper[a] = along[a] - static_cast<double>(first[a]);
    }
    const double low = share * (1 - upper[0]), high = share * upper[0];
    return {first[0],
            first[1],
            {static_cast<T>(low * (1 - upper[1])), static_cast<T>(low * upper[1]),
             static_cast<T>(high * (1 - upper[1])), static_cast<T>(high * upper[1])},
            first[0] >= 0 && first[0] + 1 < map.object[0] && first[1] >= 0 &&
                first[1] + 1 < map.object[1]};
}

/// Returns the place of one of the corners in the object's plane, or -1 if it is outside.
template <class T>
HWY_INLINE index_t place_of(const PlaneMap& map, const PlaneCorners<T>& corners, int k) {
    const index_t y = corners.y + k / 2, x = corners.x + k % 2;
    if (y < 0 || y >= map.object[0] || x < 0 || x >= map.object[1]) return -1;
    return y * map.object[1] + x;
}

/// Returns the place of a sample of a voxel, along one axis of the grid.
HWY_INLINE double sample_place(index_t voxel, index_t sample, index_t samples) {
    return static_cast<double>(voxel) +
           (static_cast<double>(sample) + 0.5) / static_cast<double>(samples) - 0.5;
}

template <class T>
HWY_INLINE void gather(const PlaneMap& map, const PlaneCorners<T>& corners, const T* plane,
                       T* sums) {
    if (corners.are_inside) {
        const T* const near = plane + (corners.y * map.object[1] + corners.x) * lanes;
        const T* const far = near + map.object[1] * lanes;
        const T* const w = corners.weights;
        const T w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
#pragma omp simd
        for (index_t k = 0; k < lanes; ++k)
            sums[k] =
                sums[k] + w0 * near[k] + w1 * near[lanes + k] + w2 * far[k] + w3 * far[lanes + k];
        return;
    }
    for (int corner = 0; corner < 4; ++corner) {
        const index_t place = place_of(map, corners, corner);
        if (place < 0) continue;
        const T weight = corners.weights[corner];
        const T* const from = plane + place * lanes;
#pragma omp simd
        for (index_t k = 0; k < lanes; ++k) sums[k] += weight * from[k];
    }
}

template <class T>
HWY_INLINE void scatter(const PlaneMap& map, const PlaneCorners<T>& corners, const T* from,
                        T* plane) {
    for (int corner = 0; corner < 4; ++corner) {
        const index_t place = place_of(map, corners, corner);
        if (place < 0) continue;
        const T weight = corners.weights[corner];
        T* const to = plane + place * lanes;
#pragma omp simd
        for (index_t k = 0; k < lanes; ++k) to[k] += weight * from[k];
    }
}

template <class T>
HWY_INLINE void gather_row_of(const PlaneMap& map, index_t u, index_t width, const T* plane,
                              T* row) {
    for (index_t v = 0; v < width; ++v) {
        T sums[lanes] = {};
        for (index_t i = 0; i < map.samples[0]; ++i)
            for (index_t j = 0; j < map.samples[1]; ++j)
                gather(map,
                       corners_of<T>(map, sample_place(u, i, map.samples[0]),
                                     sample_place(v, j, map.samples[1])),
                       plane, sums);
        std::copy_n(sums, lanes, row + v * lanes);
    }
}

template <class T>
HWY_INLINE void scatter_row_of(const PlaneMap& map, index_t u, index_t width, const T* row,
                               T* plane) {
    for (index_t v = 0; v < width; ++v) {
        T from[lanes];
        std::copy_n(row + v * lanes, lanes, from);
        for (index_t i = 0; i < map.samples[0]; ++i)
            for (index_t j = 0; j < map.samples[1]; ++j)
                scatter(map,
                        corners_of<T>(map, sample_place(u, i, map.samples[0]),
                                      sample_place(v, j, map.samples[1])),
                        from, plane);
    }
}

// The function of each loop and precision, for HWY_EXPORT, which takes no templates.
static constexpr auto& gather_float = gather_row_of<float>;
static constexpr auto& gather_double = gather_row_of<double>;
static constexpr auto& scatter_float = scatter_row_of<float>;
static constexpr auto& scatter_double = scatter_row_of<double>;

}  // namespace convolume::forward::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolume::forward {

#define CONVOLUME_ROWS(Real)                                                                       \
    HWY_EXPORT(gather_##Real);                                                                     \
    HWY_EXPORT(scatter_##Real);                                                                    \
    template <>                                                                                    \
    void gather_row(const PlaneMap& map, index_t u, index_t width, const Real* plane, Real* row) { \
        HWY_DYNAMIC_DISPATCH(gather_##Real)(map, u, width, plane, row);                            \
    }                                                                                              \
    template <>                                                                                    \
    void scatter_row(const PlaneMap& map, index_t u, index_t width, const Real* row,               \
                     Real* plane) {                                                                \
        HWY_DYNAMIC_DISPATCH(scatter_##Real)(map, u, width, row, plane);                           \
    }
CONVOLUME_ROWS(float)
CONVOLUME_ROWS(double)

}  // namespace convolume::forward
#endif
