// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays of a walk, in host memory that GPUs transfer from and to.

#include <algorithm>
#include <cstdint>

#include "convolume/volume.hpp"
#include "core/short_float.hpp"
#include "deconvolve/plane_walk.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"

namespace convolume::deconvolve {

/// Planes of so many bytes.
class PlaneArray {
  public:
    PlaneArray() = default;
    PlaneArray(index_t planes, index_t plane_bytes, int threads)
        : plane_bytes_(plane_bytes),
          buffer_(checked_multiply(planes, plane_bytes_), "the arrays of a deconvolution") {
        buffer_.touch(threads);
        buffer_.lock_pages();
        bytes_ = buffer_.as<char>();
    }
    /// Others in the memory of an array that outlives this one.
    static PlaneArray within(const PlaneArray& array, index_t plane_bytes) {
        PlaneArray other;
        other.plane_bytes_ = plane_bytes;
        other.bytes_ = array.bytes_;
        return other;
    }
    explicit operator bool() const { return bytes_ != nullptr; }
    index_t plane_bytes() const { return plane_bytes_; }
    char* bytes_of(index_t z) const { return bytes_ + z * plane_bytes_; }
    float* plane(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
    float* data() const { return plane(0); }

  private:
    index_t plane_bytes_ = 0;
    Buffer buffer_;
    char* bytes_ = nullptr;
};

/// Of a plane of each array; 0: there is no such array.
struct PlaneBytes {
    explicit PlaneBytes(const Problem& problem)
        : object(checked_multiply(problem.object.y * problem.object.x, index_t{sizeof(float)})),
          image(checked_multiply(problem.image.y * problem.image.x, index_t{sizeof(float)})),
          data(problem.keeps_uint16() ? image / 2 : image),
          held(problem.options.hold_out ? image : 0) {
        if (problem.options.method == DeconvolveMethod::wiener) {
            residual = object;
            return;
        }
        weights = object;
        const Momentum momentum = momentum_of(problem.options);
        if (momentum != Momentum::none) before = object;
        if (momentum == Momentum::biggs_andrews)
            change = object / index_t{sizeof(float) / sizeof(ShortFloat)};
    }

    index_t object, image, data, held;
    index_t weights = 0, before = 0, change = 0;
    index_t residual = 0;  ///< and the other arrays of wiener
};

struct WalkArrays {
    WalkArrays(const Problem& problem, const gpu::PairAxis& z, int threads)
        : narrow_data(problem.keeps_uint16()),
          object_plane(problem.object.y * problem.object.x),
          image_plane(problem.image.y * problem.image.x),
          alike(alike_planes(problem, z, z.whole_object())) {
        const PlaneBytes bytes(problem);
        const index_t planes = problem.object.z;
        const auto make = [&](PlaneArray& array, index_t count, index_t plane_bytes) {
            if (plane_bytes > 0) array = PlaneArray(count, plane_bytes, threads);
        };
        make(newest, planes, bytes.object);
        make(before, planes, bytes.before);
        make(change, planes, bytes.change);
        make(held, problem.image.z, bytes.held);
        make(weights, planes - (alike.last - alike.first), bytes.weights);
        make(direction, planes, bytes.residual);
        make(residual, planes, bytes.residual);
        make(product, planes, bytes.residual);
        if (product)
            data = PlaneArray::within(product, bytes.data);
        else
            make(data, problem.image.z, bytes.data);
    }

    static index_t bytes(const Problem& problem, const gpu::PairAxis& z) {
        const PlaneBytes plane(problem);
        const auto alike = alike_planes(problem, z, z.whole_object());
        const index_t data = plane.residual > 0 ? 0 : plane.data;
        return checked_add(
            checked_multiply(problem.object.z,
                             plane.object + plane.before + plane.change + 3 * plane.residual),
            checked_add(
                checked_multiply(problem.image.z, data + plane.held),
                checked_multiply(problem.object.z - (alike.last - alike.first), plane.weights)));
    }

    /// What steps overwrite: the estimate before, where there is one.
    PlaneArray& target() { return product ? product : before ? before : newest; }

    bool narrow_data;  ///< the image is uint16
    index_t object_plane, image_plane;
    PlaneArray newest, before, change, held, weights;
    PlaneArray direction, residual, product;  ///< of wiener, whose solution is `newest`
    PlaneArray data;                          ///< of wiener: in the memory of the product
    richardson_lucy::AlikePlanes alike;       ///< of the weights
};

}  // namespace convolume::deconvolve
