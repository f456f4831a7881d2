// SPDX-License-Identifier: Apache-2.0
#pragma once
// Planes of arrays on the device while a walk needs them.

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/short_float.hpp"
#include "deconvolve/plane_tiles.hpp"
#include "deconvolve/plane_walk.hpp"
#include "deconvolve/problem.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::deconvolve {

/// Planes of an array on the device: plane z is in place z mod `places`.
struct PlaneRing {
    index_t places = 0;  ///< 0: there is no such array
    index_t sample_bytes = 0;
    bool of_image = false;  ///< or of the object
    index_t plane = 0;      ///< samples
    gpu::DeviceMemory memory;

    index_t plane_bytes() const { return checked_multiply(plane, sample_bytes); }
    index_t bytes() const { return checked_multiply(places, plane_bytes()); }
    void allocate(int device) {
        memory = gpu::DeviceMemory(device, bytes(), "the arrays of a deconvolution");
    }
    char* bytes_of(index_t z) const { return memory.data() + z % places * plane_bytes(); }
    float* at(index_t z) const { return reinterpret_cast<float*>(bytes_of(z)); }
    ShortFloat* short_at(index_t z) const { return reinterpret_cast<ShortFloat*>(bytes_of(z)); }
};

/// Calls work(first plane, how many) for runs of planes that lie one after another in all rings.
template <class Work>
void for_runs(const gpu::Range& planes, std::initializer_list<const PlaneRing*> rings,
              const Work& work) {
    for (index_t z = planes.begin; z < planes.end;) {
        index_t count = planes.end - z;
        for (const PlaneRing* ring : rings)
            if (ring->places > 0) count = std::min(count, ring->places - z % ring->places);
        work(z, count);
        z += count;
    }
}

/// What is on the device for a walk with steps of so many planes.
struct WalkerRings {
    static constexpr index_t most_together = 4;

    /// For so many iterations together, and planes of at most so many samples, whole or in tiles.
    WalkerRings(const Problem& problem, const gpu::PairAxis& z, index_t depth, index_t together,
                const PlaneSamples& most, bool in_tiles);
    index_t bytes() const;
    void allocate(int device);
    /// Planes that follow have so many samples.
    void set_planes(const PlaneSamples& samples);

    /// Rings of spectra.
    static index_t spectra(const Problem& problem, index_t together) {
        return problem.seeks_consensus() ? 3 : together;
    }

    /// Estimates that points are made from; the last changes; image planes; weights, and the plane
    /// of those that are alike. Of wiener: directions, and blurred ones for an image.
    PlaneRing newest, before, changes, data, held, weights, alike;
    /// Points of each iteration that wait for their update, and become estimates.
    std::array<PlaneRing, most_together> points;
    /// Of a total variation: a step's divisors; its points between those of the planes beside it.
    PlaneRing divisors, neighborhood;
    /// Of tiles: ratios of a step's image planes; corrections, which become estimates. Of rlgc: of
    /// both halves; corrections that wait for the agreement of the halves; a step's agreement.
    PlaneRing ratios, other_ratios, corrections, agreements;
    /// Of wiener.
    PlaneRing residuals, products;

  private:
    template <class Rings>
    static auto all(Rings& of) {
        return std::array{&of.points[0],    &of.points[1], &of.points[2],    &of.points[3],
                          &of.newest,       &of.before,    &of.changes,      &of.data,
                          &of.held,         &of.weights,   &of.alike,        &of.divisors,
                          &of.neighborhood, &of.ratios,    &of.other_ratios, &of.corrections,
                          &of.agreements,   &of.residuals, &of.products};
    }
};

}  // namespace convolume::deconvolve
