// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "convolume/volume.hpp"
#include "core/short_float.hpp"
#include "deconvolve/executors/plane_geometry.hpp"
#include "deconvolve/functors.hpp"
#include "deconvolve/problem.hpp"
#include "gpu/runtime/device_memory.hpp"

// The arrays of walks: whole arrays in host memory, and some of their planes on a device.
namespace convolume::deconvolve {

/// Rows of a plane, and samples of a row.
struct PlaneShape {
    index_t rows = 0, row = 0;
    index_t samples() const { return checked_multiply(rows, row); }
};

/// An array of planes in page-locked host memory, with samples of any size.
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
    /// Returns an array that uses the memory of another one, which must outlive it.
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

/// Arrays that stay on the GPU during all walks. They take no host memory, and do not cross the bus
/// in every iteration. Only a single walker over whole planes keeps arrays.
struct ResidentArrays {
    bool change = false, data = false, weights = false;

    /// Returns all arrays that can stay on the GPU. Held-out photons are drawn in host memory.
    static ResidentArrays most(const DeconvolutionProblem& problem) {
        const bool steps = !problem.traits.solves_system;
        return {problem.traits.keeps_change, steps && !problem.options.hold_out, steps};
    }
};

/// Bytes of a sample of each array; 0: there is no such array.
struct SampleBytes {
    /// Returns the bytes in host memory, which `resident` arrays do not take.
    SampleBytes(const DeconvolutionProblem& problem, const ResidentArrays& resident)
        : SampleBytes(problem) {
        if (resident.change) change = 0;
        if (resident.data) data = 0;
        if (resident.weights) weights = 0;
    }
    explicit SampleBytes(const DeconvolutionProblem& problem) {
        if (problem.keeps_uint16()) data = sizeof(std::uint16_t);
        if (problem.options.hold_out) held_out = sizeof(float);
        if (problem.traits.solves_system) {
            residual = object;
            return;
        }
        weights = object;
        if (problem.traits.keeps_previous) before = object;
        if (problem.traits.keeps_change) change = sizeof(ShortFloat);
    }

    index_t object = sizeof(float), image = sizeof(float), data = sizeof(float), held_out = 0;
    index_t weights = 0, before = 0, change = 0;
    index_t residual = 0;  ///< bytes of a sample in each array that only linear systems have
};

struct WalkArrays {
    /// `in_tiles`: the walk goes through tiles, so that steps must not overwrite the estimate that
    /// later tiles read.
    WalkArrays(const DeconvolutionProblem& problem, const PairAxis& z, bool in_tiles,
               const ResidentArrays& resident, int threads)
        : data_is_uint16(problem.keeps_uint16()),
          object{problem.object.y, problem.object.x},
          image{problem.image.y, problem.image.x},
          equal_planes(alike_planes(problem, z, z.whole_object())) {
        const SampleBytes bytes(problem, resident);
        const index_t planes = problem.object.z;
        const auto make = [&](PlaneArray& array, index_t count, const PlaneShape& shape,
                              index_t sample_bytes) {
            if (sample_bytes > 0) array = PlaneArray(count, shape, sample_bytes, threads);
        };
        make(newest, planes, object, bytes.object);
        make(before, planes, object, bytes.before);
        make(next, planes, object, next_bytes(bytes, in_tiles));
        make(change, planes, object, bytes.change);
        make(held_out, problem.image.z, image, bytes.held_out);
        make(weights, equal_planes.stored(planes), object, bytes.weights);
        make(direction, planes, object, bytes.residual);
        make(residual, planes, object, bytes.residual);
        make(product, planes, object, bytes.residual);
        if (product)
            data = PlaneArray::within(product, image, bytes.data);
        else
            make(data, problem.image.z, image, bytes.data);
    }

    static index_t bytes(const DeconvolutionProblem& problem, const PairAxis& z, bool in_tiles,
                         const ResidentArrays& resident) {
        const SampleBytes bytes(problem, resident);
        const auto equal_planes = alike_planes(problem, z, z.whole_object());
        const index_t data = bytes.residual > 0 ? 0 : bytes.data;
        const index_t of_object = bytes.object + bytes.before + bytes.change +
                                  next_bytes(bytes, in_tiles) + 3 * bytes.residual;
        const index_t weights =
            checked_multiply(equal_planes.stored(problem.object.z),
                             checked_multiply(bytes.weights, problem.object.y * problem.object.x));
        return checked_add(
            checked_multiply(element_count(problem.object), of_object),
            checked_add(checked_multiply(element_count(problem.image), data + bytes.held_out),
                        weights));
    }

    /// Returns the array that steps overwrite: in walks over whole planes the previous estimate, if
    /// there is one.
    PlaneArray& target() { return product ? product : next ? next : before ? before : newest; }
    /// Makes the array that steps have written the newest estimate.
    void advance() {
        if (before) std::swap(newest, before);
        if (next) std::swap(newest, next);
    }

    bool data_is_uint16;  ///< whether the image is uint16
    PlaneShape object, image;
    PlaneArray newest, before, next, change, held_out, weights;
    /// Arrays of linear systems, whose solution is `newest`.
    PlaneArray direction, residual, product;
    PlaneArray data;           ///< the image; linear systems keep it in the memory of `product`
    EqualPlanes equal_planes;  ///< planes with equal weights

  private:
    static index_t next_bytes(const SampleBytes& bytes, bool in_tiles) {
        return in_tiles && bytes.residual == 0 ? bytes.object : 0;
    }
};

// Planes of arrays on the device while a walk needs them.

/// A ring buffer of planes on the device: plane z is in slot z mod `slots`, or in that of its
/// stored plane.
struct PlaneRing {
    index_t slots = 0;  ///< number of slots; 0: there is no such array
    index_t sample_bytes = 0;
    EqualPlanes equal_planes;  ///< planes that are stored once
    bool of_image = false;     ///< whether planes have the image's extents, or the object's
    index_t plane = 0;         ///< samples of a plane
    gpu::DeviceMemory memory;

    index_t plane_bytes() const { return checked_multiply(plane, sample_bytes); }
    index_t bytes() const { return checked_multiply(slots, plane_bytes()); }
    void allocate(int device) {
        memory = gpu::DeviceMemory(device, bytes(), "the arrays of a deconvolution");
    }
    index_t slot(index_t z) const { return equal_planes.stored(z) % slots; }
    char* bytes_of(index_t z) const { return memory.data() + slot(z) * plane_bytes(); }
    float* at(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
    ShortFloat* short_at(index_t z) const { return reinterpret_cast<ShortFloat*>(bytes_of(z)); }
};

/// Calls work(first plane, count) for runs of planes that lie one after another in all rings.
template <class Rings = std::initializer_list<const PlaneRing*>, class Work>
void for_runs(const IndexRange& planes, const Rings& rings, const Work& work) {
    for (index_t z = planes.begin; z < planes.end;) {
        index_t count = planes.end - z;
        for (const PlaneRing* ring : rings)
            if (ring->slots > 0) count = std::min(count, ring->slots - ring->slot(z));
        work(z, count);
        z += count;
    }
}

/// The rings of a device for a walk with steps of `depth` planes.
struct WalkerRings {
    static constexpr index_t most_fused_iterations = 4;

    /// Plans rings for `iterations_a_walk` fused iterations, and planes of at most `most` samples.
    WalkerRings(const DeconvolutionProblem& problem, const PairAxis& z, index_t depth,
                index_t iterations_a_walk, const PlaneSampleCounts& most, bool in_tiles,
                const ResidentArrays& resident = {});
    index_t bytes() const;
    void allocate(int device);
    /// Sets the number of samples of later planes.
    void set_planes(const PlaneSampleCounts& samples);

    /// Returns the number of rings of spectra.
    static index_t spectra(const DeconvolutionProblem& problem, index_t iterations_a_walk) {
        return problem.traits.projections > 1 ? 3 : iterations_a_walk;
    }

    /// Estimates that points are made from, the last changes, the image, and weights.
    /// `equal_weights` has the one stored plane of the weights that are equal in many planes.
    /// Linear systems have directions in `newest`, and blurred directions in `data`.
    PlaneRing newest, before, changes, data, held_out, weights, equal_weights;
    /// Points of each fused iteration, which wait for their update and become estimates.
    std::array<PlaneRing, most_fused_iterations> points;
    /// Arrays for a total variation: the divisors of a step, and the step's points with the planes
    /// before and after them.
    PlaneRing divisors, neighborhood;
    /// Arrays for operations between passes: one or two images to project back; corrections, which
    /// become estimates; and the second back projection.
    PlaneRing ratios, other_ratios, corrections, agreements;
    /// Residual of a linear system, and the product of its matrix and the direction.
    PlaneRing residuals, products;

  private:
    template <class Rings>
    static auto all(Rings& of) {
        return std::array{&of.points[0],    &of.points[1], &of.points[2],     &of.points[3],
                          &of.newest,       &of.before,    &of.changes,       &of.data,
                          &of.held_out,     &of.weights,   &of.equal_weights, &of.divisors,
                          &of.neighborhood, &of.ratios,    &of.other_ratios,  &of.corrections,
                          &of.agreements,   &of.residuals, &of.products};
    }
};

}  // namespace convolume::deconvolve
