// SPDX-License-Identifier: Apache-2.0
#include "convolume/beads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "convolume/error.hpp"
#include "optics/bead_finder.hpp"
#include "optics/shifted_box.hpp"

namespace convolume {

namespace {

using Values = std::vector<double>;

struct Core {
    Shape3 size;
    index_t offset(index_t z, index_t y, index_t x) const { return (z * size.y + y) * size.x + x; }
    index_t middle() const { return offset(size.z / 2, size.y / 2, size.x / 2); }
    index_t stride(int axis) const { return axis == 0 ? size.y * size.x : axis == 1 ? size.x : 1; }
};

double at(const Values& values, index_t i) {
    return values[static_cast<std::size_t>(i)];
}

/// Solves the symmetric positive system A x = b in place by Gauss's elimination.
void solve(std::array<std::array<double, 5>, 5>& a, std::array<double, 5>& b) {
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = i + 1; j < 5; ++j) {
            const double factor = a[i][i] > 0 ? a[j][i] / a[i][i] : 0;
            for (std::size_t k = i; k < 5; ++k) a[j][k] -= factor * a[i][k];
            b[j] -= factor * b[i];
        }
    for (std::size_t i = 5; i-- > 0;) {
        for (std::size_t k = i + 1; k < 5; ++k) b[i] -= a[i][k] * b[k];
        b[i] = a[i][i] > 0 ? b[i] / a[i][i] : 0;
    }
}

/// How far `box` is shifted against `mean`, z, y, x: least squares of brightness, background and
/// the three slopes of the mean, over the samples around the middle.
std::array<double, 3> shift_of(const Values& box, const Values& mean, const Core& core) {
    std::array<std::array<double, 5>, 5> normal{};
    std::array<double, 5> right{};
    constexpr index_t reach = 5;
    const Shape3 half{core.size.z / 2, core.size.y / 2, core.size.x / 2};
    const index_t rz = std::min(reach, half.z - 1), ry = std::min(reach, half.y - 1),
                  rx = std::min(reach, half.x - 1);
    for (index_t z = -rz; z <= rz; ++z)
        for (index_t y = -ry; y <= ry; ++y)
            for (index_t x = -rx; x <= rx; ++x) {
                const index_t i = core.offset(half.z + z, half.y + y, half.x + x);
                std::array<double, 5> row{at(mean, i), 1, 0, 0, 0};
                for (int axis = 0; axis < 3; ++axis)
                    row[static_cast<std::size_t>(axis) + 2] =
                        (at(mean, i - core.stride(axis)) - at(mean, i + core.stride(axis))) / 2;
                for (std::size_t j = 0; j < 5; ++j) {
                    for (std::size_t k = 0; k < 5; ++k) normal[j][k] += row[j] * row[k];
                    right[j] += row[j] * at(box, i);
                }
            }
    solve(normal, right);
    std::array<double, 3> shift{};
    for (std::size_t axis = 0; axis < 3; ++axis)
        shift[axis] = right[0] > 0 ? std::clamp(right[axis + 2] / right[0], -1.0, 1.0) : 0;
    return shift;
}

/// The top of a parabola through the middle sample and its neighbors along an axis.
double top_of(const Values& values, const Core& core, int axis) {
    const index_t i = core.middle(), stride = core.stride(axis);
    const double before = at(values, i - stride), after = at(values, i + stride);
    const double bend = before - 2 * at(values, i) + after;
    return bend < 0 ? std::clamp((before - after) / (2 * bend), -1.0, 1.0) : 0;
}

double fwhm_of(const Values& values, const Core& core, int axis) {
    const index_t half_extent = core.size[axis] / 2, stride = core.stride(axis);
    const double half = at(values, core.middle()) / 2;
    double width = 0;
    for (const index_t direction : {index_t{-1}, index_t{1}}) {
        index_t i = 1;
        while (i < half_extent && at(values, core.middle() + direction * i * stride) > half) ++i;
        const double near = at(values, core.middle() + direction * (i - 1) * stride);
        const double far = at(values, core.middle() + direction * i * stride);
        width += static_cast<double>(i - 1) + (near > far ? (near - half) / (near - far) : 0);
    }
    return width;
}

class Alignment {
  public:
    Alignment(const ConstImageView& stack, const Shape3& size, double background)
        : stack_(stack), core_{size}, background_(background) {}

    /// Boxes about the places of `beads`, and their mean with a sum of 1.
    void average(std::vector<Bead>& beads, const ExecutionContext& context) {
        boxes_.clear();
        mean_.assign(static_cast<std::size_t>(element_count(core_.size)), 0.0);
        for (Bead& bead : beads) {
            throw_if_stopped(context);
            boxes_.push_back(optics::shifted_box(stack_, bead.at, core_.size));
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
    /// Moves beads to where they fit their mean best.
    void align(std::vector<Bead>& beads) const {
        for (std::size_t i = 0; i < beads.size(); ++i) {
            const auto shift = shift_of(boxes_[i], mean_, core_);
            for (std::size_t axis = 0; axis < 3; ++axis) beads[i].at[axis] += shift[axis];
        }
    }
    /// Moves all so that the mean's brightest point is in its middle.
    void center(std::vector<Bead>& beads) const {
        for (int axis = 0; axis < 3; ++axis)
            for (Bead& bead : beads)
                bead.at[static_cast<std::size_t>(axis)] += top_of(mean_, core_, axis);
    }
    const Values& mean() const { return mean_; }
    const Core& core() const { return core_; }

  private:
    const ConstImageView& stack_;
    Core core_;
    double background_;
    std::vector<Values> boxes_;
    Values mean_;
};

/// Clumps and dirt are brighter or dimmer than beads.
index_t remove_unusual(std::vector<Bead>& beads) {
    std::vector<double> fluxes;
    for (const Bead& bead : beads) fluxes.push_back(bead.flux);
    const auto half = fluxes.begin() + static_cast<std::ptrdiff_t>(fluxes.size() / 2);
    std::nth_element(fluxes.begin(), half, fluxes.end());
    return static_cast<index_t>(std::erase_if(beads, [&](const Bead& bead) {
        return bead.flux < 0.4 * *half || bead.flux > 2.5 * *half;
    }));
}

}  // namespace

BeadPsf psf_from_beads(const ConstImageView& stack, const BeadOptions& options,
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
    const optics::FoundBeads found = optics::find_beads(stack, options, context);
    BeadPsf psf;
    psf.found = found.found;
    psf.crowded = found.crowded;
    psf.saturated = found.saturated;
    psf.at_border = found.at_border;
    psf.background = found.background;
    for (const Index3& at : found.alone)
        psf.beads.push_back(
            {{static_cast<double>(at.z), static_cast<double>(at.y), static_cast<double>(at.x)}, 0});
    if (psf.found == 0)
        throw InvalidArgument(
            "no bead stands out of the noise: record more light, or give a stack that has beads");
    const auto refuse_none = [&] {
        if (psf.beads.empty())
            throw InvalidArgument(
                message("of ", psf.found, " beads none can be used: ", psf.crowded,
                        " have others in the box of ", to_string(options.size), " voxels, ",
                        psf.at_border, " are too near the border, ", psf.saturated,
                        " are saturated: give a smaller size, or record fewer beads with less "
                        "light"));
    };
    refuse_none();

    Alignment alignment(stack, options.size, psf.background);
    alignment.average(psf.beads, context);
    psf.unusual = remove_unusual(psf.beads);
    refuse_none();
    constexpr int rounds = 5;
    for (int round = 0; round < rounds; ++round) {
        alignment.average(psf.beads, context);
        if (round > 0) alignment.align(psf.beads);
        if (round > 0) alignment.average(psf.beads, context);
        alignment.center(psf.beads);
    }
    alignment.average(psf.beads, context);

    psf.values = Volume(options.size, PixelType::float32);
    std::copy(alignment.mean().begin(), alignment.mean().end(), psf.values.elements<float>());
    for (const Bead& bead : psf.beads)
        psf.flux += bead.flux / static_cast<double>(psf.beads.size());
    for (int axis = 0; axis < 3; ++axis)
        psf.fwhm[static_cast<std::size_t>(axis)] =
            fwhm_of(alignment.mean(), alignment.core(), axis);
    return psf;
}

}  // namespace convolume
