// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays of a walk, in host memory that GPUs transfer from and to.

#include <algorithm>
#include <cstdint>

#include "convolume/volume.hpp"
#include "deconvolve/plane_walk.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"

namespace convolume::deconvolve {

/// Planes of float32 samples, or of others of so many bytes.
class PlaneArray {
  public:
    PlaneArray() = default;
    PlaneArray(index_t planes, index_t plane, int threads,
               index_t sample_bytes = index_t{sizeof(float)})
        : plane_bytes_(checked_multiply(plane, sample_bytes)),
          buffer_(checked_multiply(planes, plane_bytes_), "the arrays of a deconvolution") {
        buffer_.touch(threads);
        buffer_.lock_pages();
    }
    explicit operator bool() const { return buffer_.data() != nullptr; }
    index_t plane_bytes() const { return plane_bytes_; }
    char* bytes_of(index_t z) const { return buffer_.as<char>() + z * plane_bytes_; }
    float* plane(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
    float* data() const { return plane(0); }

  private:
    index_t plane_bytes_ = 0;
    Buffer buffer_;
};

struct WalkArrays {
    WalkArrays(const Problem& problem, const gpu::PairAxis& z, int threads)
        : narrow_data(problem.keeps_uint16()),
          object_plane(problem.object.y * problem.object.x),
          image_plane(problem.image.y * problem.image.x),
          alike(alike_planes(problem, z, z.whole_object())) {
        const Momentum momentum = momentum_of(problem.options);
        const auto objects = [&](bool wanted) {
            return wanted ? PlaneArray(problem.object.z, object_plane, threads) : PlaneArray();
        };
        newest = objects(true);
        before = objects(momentum != Momentum::none);
        if (momentum == Momentum::biggs_andrews)
            change = PlaneArray(problem.object.z, object_plane, threads, sizeof(Half));
        data = PlaneArray(problem.image.z, image_plane, threads, image_sample_bytes(problem));
        if (problem.options.hold_out) held = PlaneArray(problem.image.z, image_plane, threads);
        weights = PlaneArray(problem.object.z - (alike.last - alike.first), object_plane, threads);
    }

    static index_t image_sample_bytes(const Problem& problem) {
        return problem.keeps_uint16() ? index_t{sizeof(std::uint16_t)} : index_t{sizeof(float)};
    }
    static index_t bytes(const Problem& problem, const gpu::PairAxis& z) {
        const Momentum momentum = momentum_of(problem.options);
        const auto alike = alike_planes(problem, z, z.whole_object());
        const index_t planes = (1 + (momentum != Momentum::none)) * problem.object.z +
                               problem.object.z - (alike.last - alike.first);
        const index_t plane = problem.object.y * problem.object.x;
        const index_t samples =
            checked_add(checked_multiply(planes, plane),
                        problem.options.hold_out * element_count(problem.image));
        index_t bytes = checked_add(
            checked_multiply(samples, static_cast<index_t>(sizeof(float))),
            checked_multiply(element_count(problem.image), image_sample_bytes(problem)));
        if (momentum == Momentum::biggs_andrews)
            bytes = checked_add(bytes,
                                checked_multiply(plane, problem.object.z * index_t{sizeof(Half)}));
        return bytes;
    }

    /// What steps overwrite: the estimate before, where there is one.
    PlaneArray& target() { return before ? before : newest; }

    bool narrow_data;  ///< the image is uint16
    index_t object_plane, image_plane;
    PlaneArray newest, before, change, data, held, weights;
    richardson_lucy::AlikePlanes alike;  ///< of the weights
};

}  // namespace convolume::deconvolve
