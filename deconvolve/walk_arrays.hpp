// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays of a walk, in host memory that GPUs transfer from and to.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "convolume/volume.hpp"
#include "core/short_float.hpp"
#include "deconvolve/plane_walk.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"

namespace convolume::deconvolve {

/// Rows of a plane, and samples of a row.
struct PlaneShape {
    index_t rows = 0, row = 0;
    index_t samples() const { return checked_multiply(rows, row); }
};

/// Planes of samples of so many bytes.
class PlaneArray {
  public:
    PlaneArray() = default;
    PlaneArray(index_t planes, const PlaneShape& shape, index_t sample_bytes, int threads)
        : shape_(shape),
          sample_bytes_(sample_bytes),
          buffer_(checked_multiply(planes, plane_bytes()), "the arrays of a deconvolution") {
        buffer_.touch(threads);
        buffer_.lock_pages();
        bytes_ = buffer_.as<char>();
    }
    /// Others in the memory of an array that outlives this one.
    static PlaneArray within(const PlaneArray& array, const PlaneShape& shape,
                             index_t sample_bytes) {
        PlaneArray other;
        other.shape_ = shape;
        other.sample_bytes_ = sample_bytes;
        other.bytes_ = array.bytes_;
        return other;
    }
    explicit operator bool() const { return bytes_ != nullptr; }
    const PlaneShape& shape() const { return shape_; }
    index_t sample_bytes() const { return sample_bytes_; }
    index_t row_bytes() const { return shape_.row * sample_bytes_; }
    index_t plane_bytes() const { return checked_multiply(shape_.samples(), sample_bytes_); }
    char* bytes_of(index_t z) const { return bytes_ + z * plane_bytes(); }
    float* plane(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
    float* data() const { return plane(0); }

  private:
    PlaneShape shape_;
    index_t sample_bytes_ = 0;
    Buffer buffer_;
    char* bytes_ = nullptr;
};

/// Of a sample of each array; 0: there is no such array.
struct SampleBytes {
    explicit SampleBytes(const Problem& problem) {
        if (problem.keeps_uint16()) data = sizeof(std::uint16_t);
        if (problem.options.hold_out) held = sizeof(float);
        if (problem.options.method == DeconvolveMethod::wiener) {
            residual = object;
            return;
        }
        weights = object;
        const Momentum momentum = momentum_of(problem.options);
        if (momentum != Momentum::none) before = object;
        if (momentum == Momentum::biggs_andrews) change = sizeof(ShortFloat);
    }

    index_t object = sizeof(float), image = sizeof(float), data = sizeof(float), held = 0;
    index_t weights = 0, before = 0, change = 0;
    index_t residual = 0;  ///< and the other arrays of wiener
};

struct WalkArrays {
    /// `in_tiles`: what a walk reads is not overwritten before the next.
    WalkArrays(const Problem& problem, const gpu::PairAxis& z, bool in_tiles, int threads)
        : narrow_data(problem.keeps_uint16()),
          object{problem.object.y, problem.object.x},
          image{problem.image.y, problem.image.x},
          alike(alike_planes(problem, z, z.whole_object())) {
        const SampleBytes bytes(problem);
        const index_t planes = problem.object.z;
        const auto make = [&](PlaneArray& array, index_t count, const PlaneShape& shape,
                              index_t sample_bytes) {
            if (sample_bytes > 0) array = PlaneArray(count, shape, sample_bytes, threads);
        };
        make(newest, planes, object, bytes.object);
        make(before, planes, object, bytes.before);
        make(next, planes, object, next_bytes(bytes, in_tiles));
        make(change, planes, object, bytes.change);
        make(held, problem.image.z, image, bytes.held);
        make(weights, planes - (alike.last - alike.first), object, bytes.weights);
        make(direction, planes, object, bytes.residual);
        make(residual, planes, object, bytes.residual);
        make(product, planes, object, bytes.residual);
        if (product)
            data = PlaneArray::within(product, image, bytes.data);
        else
            make(data, problem.image.z, image, bytes.data);
    }

    static index_t bytes(const Problem& problem, const gpu::PairAxis& z, bool in_tiles) {
        const SampleBytes bytes(problem);
        const auto alike = alike_planes(problem, z, z.whole_object());
        const index_t data = bytes.residual > 0 ? 0 : bytes.data;
        const index_t of_object = bytes.object + bytes.before + bytes.change +
                                  next_bytes(bytes, in_tiles) + 3 * bytes.residual;
        const index_t weights =
            checked_multiply(problem.object.z - (alike.last - alike.first),
                             checked_multiply(bytes.weights, problem.object.y * problem.object.x));
        return checked_add(
            checked_multiply(element_count(problem.object), of_object),
            checked_add(checked_multiply(element_count(problem.image), data + bytes.held),
                        weights));
    }

    /// What steps overwrite: of whole planes, the estimate before, where there is one.
    PlaneArray& target() { return product ? product : next ? next : before ? before : newest; }
    /// What steps have written is the newest estimate.
    void advance() {
        if (before) std::swap(newest, before);
        if (next) std::swap(newest, next);
    }

    bool narrow_data;  ///< the image is uint16
    PlaneShape object, image;
    PlaneArray newest, before, next, change, held, weights;
    PlaneArray direction, residual, product;  ///< of wiener, whose solution is `newest`
    PlaneArray data;                          ///< of wiener: in the memory of the product
    AlikePlanes alike;                        ///< of the weights

  private:
    static index_t next_bytes(const SampleBytes& bytes, bool in_tiles) {
        return in_tiles && bytes.residual == 0 ? bytes.object : 0;
    }
};

}  // namespace convolume::deconvolve
