// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/photon_halves.hpp"

#include <algorithm>
#include <vector>

#include "core/pixels/rows.hpp"
#include "core/threads.hpp"

namespace convolume::deconvolve {

HalfSource::HalfSource(CallerImages& image, const DeconvolutionProblem& problem,
                       const PhotonScale& photons, int threads, index_t first_pixel)
    : image_(image),
      shape_(problem.image),
      bounds_(problem.bounds()),
      seed_(problem.options.seed),
      gain_(static_cast<float>(photons.gain)),
      offset_(static_cast<float>(photons.offset)),
      threads_(threads),
      first_pixel_(first_pixel) {}

void HalfSource::choose(int split, bool is_second) {
    constexpr auto first_split = static_cast<std::uint32_t>(ThinningPurpose::splits);
    purpose_ = static_cast<ThinningPurpose>(first_split + static_cast<std::uint32_t>(split));
    is_second_ = is_second;
}

void HalfSource::read_box(index_t, index_t, const Box3& box, const ImageView& target) {
    const Shape3 extents = box.shape();
    Volume pixels(extents, image_.type());
    image_.read(box, pixels.view());
    const pixels::RowGather gather(identity_indices(extents.x));
    parallel_ranges(extents.z * extents.y, threads_, [&](index_t first, index_t last, int) {
        std::vector<float> row(static_cast<std::size_t>(extents.x));
        for (index_t k = first; k < last; ++k) {
            const index_t z = k / extents.y, y = k % extents.y;
            pixels::load_row(pixels.view(), z, y, gather, {}, row.data());
            const index_t number = first_pixel_ +
                                   ((box.begin.z + z) * shape_.y + box.begin.y + y) * shape_.x +
                                   box.begin.x;
            for (index_t x = 0; x < extents.x; ++x)
                target.at<float>(z, y, x) = half_of(row[static_cast<std::size_t>(x)], number + x);
        }
    });
}

float HalfSource::half_of(float value, index_t pixel) const {
    if (bounds_.apply_to(value)) return bounds_.in_halves(value);
    PixelRandomBits bits(seed_, purpose_, pixel);
    const PixelHalves halves = divide_pixel(value, gain_, offset_, bits);
    return is_second_ ? halves.second : halves.first;
}

OptionsOfHalves::OptionsOfHalves(DeconvolutionProblem& problem, const DeconvolveReport& report)
    : problem_(problem), planned_(problem.options), bounds_(problem.bounds()) {
    DeconvolveOptions& options = problem.options;
    options.splits = 0;
    options.hold_out = false;
    // Only the number of iterations may end them, as a change of 0 is never reached.
    options.iterations = std::max(1, report.iterations);
    options.stop.reset();
    if (problem.traits.stops_by_residual) options.stop = 0;
    options.consensus = 0;
    options.background = report.background;
    // Twice the value of a half: gain and offset follow from gain (value / 2 - offset / 2).
    set_photons(options, {report.photons.gain / 2, report.photons.offset});
    if (problem.traits.penalizes_variation()) options.tv_weight = report.tv_weight;
    if (problem.traits.penalizes_roughness()) options.roughness = report.roughness;
    if (options.saturation) problem.set_bounds(encoded_bounds());
}

}  // namespace convolume::deconvolve
