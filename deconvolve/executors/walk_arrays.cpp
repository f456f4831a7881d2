// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/walk_arrays.cuh"

#include "deconvolve/executors/executor.hpp"

namespace convolume::deconvolve {

// A ring has slots for the planes of a step and for those of the next one, which are being
// uploaded. A ring that is also downloaded has slots for the last step's planes: changes go both
// ways and need all three. Planes that wait for a later step need slots for as many planes as the
// PSF reaches, and so do planes that several fused iterations use. Rings without transfers need the
// slots of one step. Resident arrays have a slot for every plane.
WalkerRings::WalkerRings(const DeconvolutionProblem& problem, const PairAxis& z, index_t depth,
                         index_t iterations_a_walk, const PlaneSampleCounts& most, bool in_tiles,
                         const ResidentArrays& resident) {
    const SampleBytes bytes(problem);
    const index_t reach = z.taps - 1;
    const bool remembers = bytes.before > 0;  // whether points are extrapolated from two estimates
    const index_t last = iterations_a_walk - 1;
    const auto ring = [](index_t slots, index_t sample_bytes) {
        PlaneRing made;
        if (sample_bytes == 0) return made;
        made.slots = slots;
        made.sample_bytes = sample_bytes;
        return made;
    };
    const auto if_any = [&](bool any) { return any ? bytes.object : 0; };
    newest = ring(2 * depth + (remembers && last > 0 ? reach : 0), bytes.object);
    before = ring(2 * depth, bytes.before);
    // Each of these iterations may be the last one of a walk, whose points are downloaded.
    for (index_t i = 0; i <= last; ++i) {
        const bool makes_second_next = remembers && i + 2 <= last;
        points[static_cast<std::size_t>(i)] = ring(
            depth + reach + (makes_second_next ? std::max(depth, reach) : depth), bytes.object);
    }
    changes = ring(resident.change ? z.object : 3 * depth, bytes.change);
    data = ring(resident.data ? z.image : 2 * depth + last * reach, bytes.data);
    held_out = ring(2 * depth, bytes.held_out);
    const auto planes_alike = alike_planes(problem, z, z.whole_object());
    const bool differ = planes_alike.first > 0 || planes_alike.last + 1 < z.object;
    weights = ring(2 * depth + last * reach, differ ? bytes.weights : 0);
    equal_weights = ring(1, bytes.weights);
    if (resident.weights && differ) {
        weights = ring(z.object - (planes_alike.last - planes_alike.first), bytes.weights);
        weights.equal_planes = planes_alike;
    }
    const bool smooth = problem.traits.penalizes_variation();
    divisors = ring(depth, if_any(smooth));
    neighborhood = ring(depth + 2, if_any(smooth));
    residuals = ring(2 * depth, bytes.residual);
    products = ring(2 * depth, bytes.residual);
    if (bytes.residual == 0 && (in_tiles || !problem.traits.fits_passes)) {
        ratios = ring(depth, bytes.image);
        corrections = ring(2 * depth, bytes.object);
    }
    if (problem.traits.projections > 1) {
        points.front().slots = depth + std::max(depth, 2 * reach);
        if (differ && !resident.weights) weights.slots += reach;
        ratios = ring(depth, bytes.image);
        other_ratios = ring(depth, bytes.image);
        corrections = ring(2 * depth + reach, bytes.object);
        agreements = ring(depth, bytes.object);
    }
    for (PlaneRing* of : {&data, &held_out, &ratios, &other_ratios}) of->of_image = true;
    set_planes(most);
}

void WalkerRings::set_planes(const PlaneSampleCounts& samples) {
    for (PlaneRing* ring : all(*this))
        ring->plane = ring->of_image ? samples.image : samples.object;
}

index_t WalkerRings::bytes() const {
    index_t sum = 0;
    for (const PlaneRing* ring : all(*this)) sum = checked_add(sum, ring->bytes());
    return sum;
}

void WalkerRings::allocate(int device) {
    for (PlaneRing* ring : all(*this)) ring->allocate(device);
}

}  // namespace convolume::deconvolve
