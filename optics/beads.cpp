// SPDX-License-Identifier: Apache-2.0
#include "convolume/beads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "core/order_statistics.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "optics/find_beads.hpp"
#include "optics/least_squares.hpp"

namespace convolume {

namespace {

using Values = std::vector<double>;

constexpr index_t tap_count = 16;

struct InterpolationTaps {
    index_t first;  ///< index of the sample that the first tap of the first value reads
    double weights[tap_count];
};

InterpolationTaps interpolation_taps(double center, index_t extent) {
    const double begin = center - static_cast<double>(extent / 2);
    const double whole = std::floor(begin), fraction = begin - whole;
    InterpolationTaps axis{static_cast<index_t>(whole) - tap_count / 2 + 1, {}};
    constexpr double beta = 6;
    double sum = 0;
    for (index_t i = 0; i < tap_count; ++i) {
        const double away = static_cast<double>(i - tap_count / 2 + 1) - fraction;
        const double angle = std::numbers::pi * away;
        const double edge = std::max(0.0, 1 - away * away / (0.25 * tap_count * tap_count));
        double& weight = axis.weights[i];
        weight = (std::abs(angle) < 1e-9 ? 1 : std::sin(angle) / angle) *
                 std::cyl_bessel_i(0, beta * std::sqrt(edge));
        sum += weight;
    }
    for (double& weight : axis.weights) weight /= sum;
    return axis;
}

/// Interpolates a box of `size` values of `stack` (float32, contiguous), a voxel apart, whose
/// middle value is at `center`. Along each axis it sums 16 samples by a sinc under a Kaiser window,
/// with weights of sum 1. Beyond the stack its outermost samples are repeated.
Values shifted_box(const ConstImageView& stack, const std::array<double, 3>& center,
                   const Shape3& size) {
    const InterpolationTaps z = interpolation_taps(center[0], size.z),
                            y = interpolation_taps(center[1], size.y),
                            x = interpolation_taps(center[2], size.x);
    const index_t depth = size.z + tap_count - 1, height = size.y + tap_count - 1,
                  plane = size.y * size.x;
    Values along_x(static_cast<std::size_t>(depth * height * size.x)),
        along_y(static_cast<std::size_t>(depth * plane)),
        box(static_cast<std::size_t>(size.z * plane));
    double* sum = along_x.data();
    for (index_t k = 0; k < depth; ++k)
        for (index_t j = 0; j < height; ++j) {
            const auto* const row = static_cast<const float*>(
                stack.at(std::clamp(z.first + k, index_t{0}, stack.shape.z - 1),
                         std::clamp(y.first + j, index_t{0}, stack.shape.y - 1), 0));
            for (index_t i = 0; i < size.x; ++i, ++sum)
                for (index_t t = 0; t < tap_count; ++t)
                    *sum += x.weights[t] *
                            static_cast<double>(
                                row[std::clamp(x.first + i + t, index_t{0}, stack.shape.x - 1)]);
        }
    // Adds one line of `length` samples for each tap, times the tap's weight.
    const auto add_taps = [](const InterpolationTaps& axis, const double* from, index_t length,
                             double* to) {
        for (index_t t = 0; t < tap_count; ++t)
            for (index_t i = 0; i < length; ++i) to[i] += axis.weights[t] * from[t * length + i];
    };
    for (index_t k = 0; k < depth; ++k)
        for (index_t j = 0; j < size.y; ++j)
            add_taps(y, along_x.data() + (k * height + j) * size.x, size.x,
                     along_y.data() + k * plane + j * size.x);
    for (index_t k = 0; k < size.z; ++k)
        add_taps(z, along_y.data() + k * plane, plane, box.data() + k * plane);
    return box;
}

struct BoxGeometry {
    Shape3 size;
    index_t stride(int axis) const { return axis == 0 ? size.y * size.x : axis == 1 ? size.x : 1; }
    const double* middle(const Values& box) const {
        return box.data() + size.z / 2 * stride(0) + size.y / 2 * stride(1) + size.x / 2;
    }
};

/// Returns the shift (z, y, x) of `box` against `mean`. Fits brightness, background and the three
/// slopes of the mean to the samples around the middle by least squares.
std::array<double, 3> fit_shift(const Values& box, const Values& mean,
                                const BoxGeometry& geometry) {
    optics::Matrix normal(5, std::vector<double>(5));
    std::array<double, 5> right{};
    const auto reach = [&](int axis) { return std::min<index_t>(5, geometry.size[axis] / 2 - 1); };
    for (index_t z = -reach(0); z <= reach(0); ++z)
        for (index_t y = -reach(1); y <= reach(1); ++y)
            for (index_t x = -reach(2); x <= reach(2); ++x) {
                const index_t i = z * geometry.stride(0) + y * geometry.stride(1) + x;
                const double* const m = geometry.middle(mean) + i;
                std::array<double, 5> row{*m, 1, 0, 0, 0};
                for (int axis = 0; axis < 3; ++axis)
                    row[static_cast<std::size_t>(axis) + 2] =
                        (m[-geometry.stride(axis)] - m[geometry.stride(axis)]) / 2;
                for (std::size_t j = 0; j < 5; ++j) {
                    for (std::size_t k = 0; k < 5; ++k) normal[j][k] += row[j] * row[k];
                    right[j] += row[j] * geometry.middle(box)[i];
                }
            }
    const optics::Matrix inverse = optics::symmetric_inverse(normal);
    const auto solution = [&](std::size_t i) {
        return std::inner_product(right.begin(), right.end(), inverse[i].begin(), 0.0);
    };
    std::array<double, 3> shift{};
    for (std::size_t axis = 0; axis < 3; ++axis)
        shift[axis] = solution(0) > 0 ? std::clamp(solution(axis + 2) / solution(0), -1.0, 1.0) : 0;
    return shift;
}

/// Returns the offset, in samples, of the vertex of a parabola through the middle sample and its
/// neighbors `stride` elements away.
double peak_offset(const double* middle, index_t stride) {
    const double before = middle[-stride], after = middle[stride];
    const double bend = before - 2 * *middle + after;
    return bend < 0 ? std::clamp((before - after) / (2 * bend), -1.0, 1.0) : 0;
}

double fwhm_of(const double* middle, index_t stride, index_t half_extent) {
    const double half = *middle / 2;
    double width = 0;
    for (const index_t step : {-stride, stride}) {
        index_t i = 1;
        while (i < half_extent && middle[i * step] > half) ++i;
        const double near = middle[(i - 1) * step], far = middle[i * step];
        width += static_cast<double>(i - 1) + (near > far ? (near - half) / (near - far) : 0);
    }
    return width;
}

class Alignment {
  public:
    Alignment(const ConstImageView& stack, const Shape3& size, double background)
        : stack_(stack), geometry_{size}, background_(background) {}

    /// Cuts the boxes around `beads`, and computes their mean, scaled to a sum of 1.
    void average(std::vector<Bead>& beads, const ExecutionContext& context) {
        boxes_.clear();
        mean_.assign(static_cast<std::size_t>(element_count(geometry_.size)), 0.0);
        for (Bead& bead : beads) {
            throw_if_stopped(context);
            boxes_.push_back(shifted_box(stack_, bead.at, geometry_.size));
            bead.flux = 0;
            for (std::size_t i = 0; i < mean_.size(); ++i) {
                boxes_.back()[i] -= background_;
                bead.flux += boxes_.back()[i];
                mean_[i] += boxes_.back()[i];
            }
        }
        const double sum = std::accumulate(mean_.begin(), mean_.end(), 0.0);
        if (!(sum > 0))
            throw InvalidArgument(
                "the beads are not brighter than the background: give a stack of bright beads");
        for (double& value : mean_) value /= sum;
    }
    /// Moves each bead to the position at which its box fits the mean best.
    void align(std::vector<Bead>& beads) const {
        for (std::size_t i = 0; i < beads.size(); ++i) {
            const auto shift = fit_shift(boxes_[i], mean_, geometry_);
            for (std::size_t axis = 0; axis < 3; ++axis) beads[i].at[axis] += shift[axis];
        }
    }
    /// Moves all beads so that the brightest point of their mean is in its middle.
    void center(std::vector<Bead>& beads) const {
        for (int axis = 0; axis < 3; ++axis)
            for (Bead& bead : beads)
                bead.at[static_cast<std::size_t>(axis)] +=
                    peak_offset(geometry_.middle(mean_), geometry_.stride(axis));
    }
    const Values& mean() const { return mean_; }

  private:
    const ConstImageView& stack_;
    BoxGeometry geometry_;
    double background_;
    std::vector<Values> boxes_;
    Values mean_;
};

/// Removes clumps and dirt, which are much brighter or dimmer than beads, and returns their number.
index_t remove_unusual(std::vector<Bead>& beads) {
    std::vector<double> fluxes;
    for (const Bead& bead : beads) fluxes.push_back(bead.flux);
    const double middle = upper_median(fluxes);
    return static_cast<index_t>(std::erase_if(beads, [&](const Bead& bead) {
        return bead.flux < 0.4 * middle || bead.flux > 2.5 * middle;
    }));
}

/// Checks the options, and finds the beads of the whole stack.
BeadPsf beads_of(const ConstImageView& stack, const BeadOptions& options,
                 const ExecutionContext& context) {
    if (stack.type != PixelType::float32)
        throw InvalidArgument("beads are found in stacks of float32: convert the stack");
    for (int axis = 0; axis < 3; ++axis)
        if (options.size[axis] < 3 || options.size[axis] % 2 == 0 ||
            options.size[axis] > stack.shape[axis])
            throw InvalidArgument(message("a PSF of ", options.size[axis], " voxels along ",
                                          axis_name(axis), " cannot be cut from a stack of ",
                                          stack.shape[axis],
                                          ": give an odd size from 3 up to the stack's"));
    if (const auto bad = pixels::find_nonfinite(stack, thread_count(0)))
        throw BadData(message("the stack of beads holds ", bad->value, " at z,y,x ", bad->index.z,
                              ",", bad->index.y, ",", bad->index.x,
                              ": repair it, or cut out a part without it"));
    BeadPsf psf = optics::find_beads(stack, options, context);
    if (psf.found == 0)
        throw InvalidArgument(
            "no bead stands out of the noise: record more light, or give a stack that has beads");
    return psf;
}

void refuse_none(const BeadPsf& psf, const Shape3& size) {
    if (psf.beads.empty())
        throw InvalidArgument(
            message("of ", psf.found, " beads none can be used: ", psf.crowded,
                    " have others in the box of ", to_string(size), " voxels, ", psf.at_border,
                    " are too near the border, ", psf.saturated,
                    " are saturated: give a smaller size, or record fewer beads with less light"));
}

/// Aligns the beads, and averages them.
void average_beads(const ConstImageView& stack, const Shape3& size, BeadPsf& psf,
                   const ExecutionContext& context) {
    refuse_none(psf, size);
    Alignment alignment(stack, size, psf.background);
    alignment.average(psf.beads, context);
    psf.unusual = remove_unusual(psf.beads);
    refuse_none(psf, size);
    constexpr int rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        alignment.average(psf.beads, context);
        if (round > 0) alignment.align(psf.beads);
        if (round > 0) alignment.average(psf.beads, context);
        alignment.center(psf.beads);
    }
    alignment.average(psf.beads, context);

    psf.values = Volume(size, PixelType::float32);
    std::copy(alignment.mean().begin(), alignment.mean().end(), psf.values.elements<float>());
    for (const Bead& bead : psf.beads)
        psf.flux += bead.flux / static_cast<double>(psf.beads.size());
    const BoxGeometry geometry{size};
    for (int axis = 0; axis < 3; ++axis)
        psf.fwhm[static_cast<std::size_t>(axis)] =
            fwhm_of(geometry.middle(alignment.mean()), geometry.stride(axis), size[axis] / 2);
}

/// Returns the number along an axis of the region that has a position.
index_t region_of(double position, index_t extent, index_t regions) {
    const double share = (position + 0.5) / static_cast<double>(extent);
    return std::clamp(static_cast<index_t>(share * static_cast<double>(regions)), index_t{0},
                      regions - 1);
}

/// Sets the places of regions: along each axis, the mean position of the beads in a row of regions.
void set_places(std::vector<RegionPsf>& psfs, const Shape3& regions) {
    const index_t strides[] = {regions.y * regions.x, regions.x, 1};
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const auto row_of = [&](std::size_t k) {
            return static_cast<std::size_t>(static_cast<index_t>(k) / strides[axis] %
                                            regions[axis]);
        };
        std::vector<double> sums(static_cast<std::size_t>(regions[axis])), counts(sums.size());
        for (std::size_t k = 0; k < psfs.size(); ++k)
            for (const Bead& bead : psfs[k].psf.beads) {
                sums[row_of(k)] += bead.at[a];
                ++counts[row_of(k)];
            }
        for (std::size_t k = 0; k < psfs.size(); ++k)
            psfs[k].at[a] = sums[row_of(k)] / counts[row_of(k)];
    }
}

}  // namespace

BeadPsf psf_from_beads(const ConstImageView& stack, const BeadOptions& options,
                       const ExecutionContext& context) {
    BeadPsf psf = beads_of(stack, options, context);
    average_beads(stack, options.size, psf, context);
    return psf;
}

std::vector<RegionPsf> psfs_from_beads(const ConstImageView& stack, const Shape3& regions,
                                       const BeadOptions& options,
                                       const ExecutionContext& context) {
    for (int axis = 0; axis < 3; ++axis)
        if (regions[axis] < 1 || regions[axis] > stack.shape[axis])
            throw InvalidArgument(message(regions[axis], " regions along ", axis_name(axis),
                                          " of a stack of ", stack.shape[axis],
                                          " voxels: give a number from 1 up to it"));
    BeadPsf all = beads_of(stack, options, context);
    refuse_none(all, options.size);
    const std::vector<Bead> beads = std::exchange(all.beads, {});
    std::vector<RegionPsf> psfs(static_cast<std::size_t>(element_count(regions)));
    for (RegionPsf& one : psfs) {
        one.psf.found = all.found;
        one.psf.crowded = all.crowded;
        one.psf.saturated = all.saturated;
        one.psf.at_border = all.at_border;
        one.psf.background = all.background;
    }
    for (const Bead& bead : beads) {
        index_t region = 0;
        for (int axis = 0; axis < 3; ++axis)
            region = region * regions[axis] + region_of(bead.at[static_cast<std::size_t>(axis)],
                                                        stack.shape[axis], regions[axis]);
        psfs[static_cast<std::size_t>(region)].psf.beads.push_back(bead);
    }
    for (std::size_t k = 0; k < psfs.size(); ++k) {
        if (psfs[k].psf.beads.empty()) {
            const auto i = static_cast<index_t>(k);
            throw InvalidArgument(message(
                "of the ", beads.size(), " beads that can be used, none is in region ",
                i / (regions.y * regions.x), ",", i / regions.x % regions.y, ",", i % regions.x,
                " (z,y,x from 0): give fewer regions, or record more beads"));
        }
        average_beads(stack, options.size, psfs[k].psf, context);
    }
    set_places(psfs, regions);
    return psfs;
}

}  // namespace convolume
