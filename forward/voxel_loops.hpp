// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functors of a forward model on a GPU, called with the index (z, y, x) of each voxel. They also
// run on the host, where tests compare them with ViewSampling.

#include <cmath>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume::forward {

/// The parameters of a ViewSampling in plain arrays. Axes are z, y, x.
struct SamplingParameters {
    Shape3 object, grid;
    double matrix[3][3], offset[3];  ///< from the grid to the object
    double back[3][3];               ///< the inverse matrix
    /// Largest distance along each axis of the grid from the place of an object's voxel to that of
    /// a voxel whose samples depend on it.
    double reach[3];
    index_t samples[3];  ///< number of samples of a voxel along each axis of the grid
    double share;        ///< weight of one sample

    /// Calls visit(at) with the position in the object of every sample of a voxel.
    template <class Visit>
    CONVOLUME_DEVICE void for_each_sample(index_t z, index_t y, index_t x,
                                          const Visit& visit) const {
        for (index_t i = 0; i < samples[0]; ++i)
            for (index_t j = 0; j < samples[1]; ++j)
                for (index_t k = 0; k < samples[2]; ++k) {
                    const double from[3] = {within(z, i, samples[0]), within(y, j, samples[1]),
                                            within(x, k, samples[2])};
                    double at[3];
                    for (int a = 0; a < 3; ++a)
                        at[a] = matrix[a][0] * from[0] + matrix[a][1] * from[1] +
                                matrix[a][2] * from[2] + offset[a];
                    visit(at);
                }
    }

  private:
    CONVOLUME_DEVICE static double within(index_t voxel, index_t sample, index_t count) {
        return static_cast<double>(voxel) +
               (static_cast<double>(sample) + 0.5) / static_cast<double>(count) - 0.5;
    }
};

/// Writes a voxel of the grid: the mean of its samples, between voxels of the object linearly.
template <class T>
struct GridSample {
    SamplingParameters parameters;
    const T* object;
    T* grid;

    CONVOLUME_DEVICE void operator()(index_t z, index_t y, index_t x) const {
        T sum = 0;
        parameters.for_each_sample(z, y, x, [&](const double* at) { sum += value_at(at); });
        grid[(z * parameters.grid.y + y) * parameters.grid.x + x] =
            static_cast<T>(parameters.share) * sum;
    }

  private:
    CONVOLUME_DEVICE T value_at(const double* at) const {
        index_t first[3];
        T upper[3];
        for (int a = 0; a < 3; ++a) {
            const double floor = std::floor(at[a]);
            first[a] = static_cast<index_t>(floor);
            upper[a] = static_cast<T>(at[a] - floor);
        }
        const Shape3& size = parameters.object;
        T sum = 0;
        for (int corner = 0; corner < 8; ++corner) {
            const int dz = corner / 4, dy = corner / 2 % 2, dx = corner % 2;
            const index_t z = first[0] + dz, y = first[1] + dy, x = first[2] + dx;
            if (z < 0 || z >= size.z || y < 0 || y >= size.y || x < 0 || x >= size.x) continue;
            const T weight = (dz == 1 ? upper[0] : 1 - upper[0]) *
                             (dy == 1 ? upper[1] : 1 - upper[1]) *
                             (dx == 1 ? upper[2] : 1 - upper[2]);
            sum += weight * object[(z * size.y + y) * size.x + x];
        }
        return sum;
    }
};

/// Adds the adjoint of GridSample to a voxel of the object. Each voxel gathers from the grid, so
/// that sums always have the same order.
template <class T>
struct GridGathering {
    SamplingParameters parameters;
    const T* grid;
    T* object;

    CONVOLUME_DEVICE void operator()(index_t z, index_t y, index_t x) const {
        const double voxel[3] = {static_cast<double>(z), static_cast<double>(y),
                                 static_cast<double>(x)};
        index_t first[3], last[3];
        const index_t size[3] = {parameters.grid.z, parameters.grid.y, parameters.grid.x};
        for (int a = 0; a < 3; ++a) {
            double place = 0;
            for (int b = 0; b < 3; ++b)
                place += parameters.back[a][b] * (voxel[b] - parameters.offset[b]);
            // Places at the distance itself have no weight.
            first[a] =
                static_cast<index_t>(std::fmax(std::floor(place - parameters.reach[a]) + 1, 0.0));
            last[a] = static_cast<index_t>(std::fmin(std::ceil(place + parameters.reach[a]) - 1,
                                                     static_cast<double>(size[a] - 1)));
        }
        T sum = 0;
        for (index_t i = first[0]; i <= last[0]; ++i)
            for (index_t j = first[1]; j <= last[1]; ++j)
                for (index_t k = first[2]; k <= last[2]; ++k) {
                    T weight = 0;
                    parameters.for_each_sample(
                        i, j, k, [&](const double* at) { weight += weight_of(at, voxel); });
                    if (weight > 0) sum += weight * grid[(i * size[1] + j) * size[2] + k];
                }
        object[(z * parameters.object.y + y) * parameters.object.x + x] +=
            static_cast<T>(parameters.share) * sum;
    }

  private:
    CONVOLUME_DEVICE static T weight_of(const double* at, const double* voxel) {
        T weight = 1;
        for (int a = 0; a < 3; ++a)
            weight *= static_cast<T>(std::fmax(0.0, 1 - std::fabs(at[a] - voxel[a])));
        return weight;
    }
};

/// A box inside an array, and weights of its voxels: the product of one for each axis, or 1 if
/// there are none.
template <class T>
struct WeightedBox {
    Shape3 array;
    Box3 box;
    const T *weights_z = nullptr, *weights_y = nullptr, *weights_x = nullptr;

    CONVOLUME_DEVICE index_t in_array(index_t z, index_t y, index_t x) const {
        return ((box.begin.z + z) * array.y + box.begin.y + y) * array.x + box.begin.x + x;
    }
    CONVOLUME_DEVICE index_t in_box(index_t z, index_t y, index_t x) const {
        return (z * (box.end.y - box.begin.y) + y) * (box.end.x - box.begin.x) + x;
    }
    CONVOLUME_DEVICE T weight(index_t z, index_t y, index_t x) const {
        return weights_z == nullptr ? T{1} : weights_z[z] * weights_y[y] * weights_x[x];
    }
};

/// Copies a voxel of a box from the array, times its weight.
template <class T>
struct BoxCopy {
    WeightedBox<T> at;
    const T* array;
    T* box;

    CONVOLUME_DEVICE void operator()(index_t z, index_t y, index_t x) const {
        box[at.in_box(z, y, x)] = at.weight(z, y, x) * array[at.in_array(z, y, x)];
    }
};

/// Adds a voxel of a box to the array, times its weight.
template <class T>
struct BoxAddition {
    WeightedBox<T> at;
    const T* box;
    T* array;

    CONVOLUME_DEVICE void operator()(index_t z, index_t y, index_t x) const {
        array[at.in_array(z, y, x)] += at.weight(z, y, x) * box[at.in_box(z, y, x)];
    }
};

/// Multiplies a voxel of a box by that of a mask with the extents of the array.
template <class T>
struct BoxMasking {
    WeightedBox<T> at;
    const T* mask;
    T* box;

    CONVOLUME_DEVICE void operator()(index_t z, index_t y, index_t x) const {
        box[at.in_box(z, y, x)] *= mask[at.in_array(z, y, x)];
    }
};

}  // namespace convolume::forward
