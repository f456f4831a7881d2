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
    /// The image is kept as uint16 if it is `narrow`.
    WalkArrays(const Problem& problem, const gpu::PairAxis& z, bool narrow, int threads)
        : narrow_data(narrow),
          object_plane(problem.object.y * problem.object.x),
          image_plane(problem.image.y * problem.image.x),
          alike(alike_planes(problem, z, z.whole_object())) {
        const Momentum momentum = momentum_of(problem.options);
        const auto objects = [&](bool wanted) {
            return wanted ? PlaneArray(problem.object.z, object_plane, threads) : PlaneArray();
        };
        newest = objects(true);
        before = objects(momentum != Momentum::none);
        change = objects(momentum == Momentum::biggs_andrews);
        data = PlaneArray(problem.image.z, image_plane, threads, sample_bytes(narrow));
        if (problem.options.hold_out) held = PlaneArray(problem.image.z, image_plane, threads);
        weights = PlaneArray(problem.object.z - (alike.last - alike.first), object_plane, threads);
    }

    static index_t sample_bytes(bool narrow) {
        return narrow ? index_t{sizeof(std::uint16_t)} : index_t{sizeof(float)};
    }
    /// At most, since the image's type is not known yet.
    static index_t bytes(const Problem& problem, const gpu::PairAxis& z) {
        const Momentum momentum = momentum_of(problem.options);
        const auto alike = alike_planes(problem, z, z.whole_object());
        const index_t planes =
            (1 + (momentum != Momentum::none) + (momentum == Momentum::biggs_andrews)) *
                problem.object.z +
            problem.object.z - (alike.last - alike.first);
        const index_t samples =
            checked_add(checked_multiply(planes, problem.object.y * problem.object.x),
                        (1 + problem.options.hold_out) * element_count(problem.image));
        return checked_multiply(samples, static_cast<index_t>(sizeof(float)));
    }

    /// What steps overwrite: the estimate before, where there is one.
    PlaneArray& target() { return before ? before : newest; }

    bool narrow_data;
    index_t object_plane, image_plane;
    PlaneArray newest, before, change, data, held, weights;
    richardson_lucy::AlikePlanes alike;  ///< of the weights
};

}  // namespace convolume::deconvolve
