// SPDX-License-Identifier: Apache-2.0
// The problem of a PSF that varies with depth.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "convolume/error.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

namespace {

void check_depths(const std::vector<DepthPsf>& psfs, const DeconvolveOptions& options) {
    if (psfs.empty()) throw InvalidArgument("no PSF was given: give one for each depth");
    if (uses_option(options.method, "unmatched"))
        throw InvalidArgument(
            message("the back projector of ", to_string(options.method),
                    " is made of one PSF: choose another method for a PSF that varies with depth"));
    if (options.boundary && options.boundary->kind != BoundaryKind::zero)
        throw InvalidArgument(
            "a PSF that varies with depth needs the edges extend or zero: choose one of these");
    for (const DepthPsf& one : psfs)
        if (!std::isfinite(one.depth_um))
            throw InvalidArgument(
                message("the depth of a PSF is ", one.depth_um, " um: give a finite number"));
    for (std::size_t k = 1; k < psfs.size(); ++k)
        if (psfs[k].depth_um == psfs[k - 1].depth_um)
            throw InvalidArgument(message("two PSFs are of the depth ", psfs[k].depth_um,
                                          " um: give one for each depth"));
}

// The extents around a center that hold all PSFs.
struct CommonBox {
    Shape3 shape{1, 1, 1};
    Index3 center;

    void hold(const Shape3& psf, const Index3& psf_center) {
        for (int a = 0; a < 3; ++a) {
            const index_t behind =
                std::max(shape[a] - center[a], checked_add(psf[a], -psf_center[a]));
            center[a] = std::max(center[a], psf_center[a]);
            shape[a] = checked_add(center[a], behind);
        }
    }
};

Volume placed(const Volume& psf, const Index3& center, const CommonBox& box) {
    if (psf.shape() == box.shape) {
        Volume copy(box.shape, PixelType::float32);
        std::copy_n(psf.elements<float>(), element_count(box.shape), copy.elements<float>());
        return copy;
    }
    Volume larger(box.shape, PixelType::float32);
    const Shape3 shape = psf.shape();
    const float* row = psf.elements<float>();
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y, row += shape.x)
            std::copy_n(row, shape.x,
                        static_cast<float*>(larger.view().at(z + box.center.z - center.z,
                                                             y + box.center.y - center.y,
                                                             box.center.x - center.x)));
    return larger;
}

// Leaves out the PSFs of depths that the object does not reach.
void leave_out_unused(DeconvolutionProblem& problem) {
    const PlaneWeights weights = psf_weights(problem);
    std::vector<Volume> psfs;
    std::vector<double> planes;
    for (index_t k = 0; weights.vary() && k < weights.kernels(); ++k) {
        if (weights.used(k).count() == 0) continue;
        const auto at = static_cast<std::size_t>(k);
        psfs.push_back(std::move(k == 0 ? problem.psf : problem.deeper_psfs[at - 1]));
        planes.push_back(problem.psf_planes[at]);
    }
    if (psfs.empty()) return;
    problem.psf = std::move(psfs.front());
    psfs.erase(psfs.begin());
    problem.deeper_psfs = std::move(psfs);
    problem.psf_planes = std::move(planes);
}

}  // namespace

DeconvolutionProblem resolve_problem(const Shape3& image, const std::vector<DepthPsf>& psfs,
                                     const DeconvolveOptions& options, int threads) {
    std::vector<DepthPsf> sorted = psfs;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const DepthPsf& a, const DepthPsf& b) { return a.depth_um < b.depth_um; });
    check_depths(sorted, options);
    std::vector<DeconvolutionProblem> single;
    CommonBox box;
    index_t negative = 0;
    for (const DepthPsf& one : sorted) {
        DeconvolveOptions of_one = options;
        of_one.center = one.center.value_or(options.center);
        single.push_back(resolve_problem(image, one.psf, of_one, threads));
        const DeconvolutionProblem& resolved = single.back();
        if (!resolved.has_light)
            throw BadData(message("the PSF of the depth ", one.depth_um,
                                  " um has no light: give one that has"));
        box.hold(resolved.psf.shape(), resolved.options.center.index);
        negative += resolved.negative_psf_samples;
    }
    DeconvolveOptions together = options;
    together.center = {KernelCenter::Kind::explicit_, box.center};
    DeconvolutionProblem problem;
    for (std::size_t k = 0; k < single.size(); ++k) {
        Volume psf = placed(single[k].psf, single[k].options.center.index, box);
        if (k == 0)
            problem = resolve_problem(image, psf.view(), together, threads);
        else
            problem.deeper_psfs.push_back(std::move(psf));
        if (single.size() > 1)
            problem.psf_planes.push_back(sorted[k].depth_um / options.voxel.z_um);
    }
    problem.psf_sum = single.front().psf_sum;
    problem.negative_psf_samples = negative;
    leave_out_unused(problem);
    return problem;
}

std::vector<ConstImageView> DeconvolutionProblem::psf_views() const {
    std::vector<ConstImageView> views{psf.view()};
    for (const Volume& deeper : deeper_psfs) views.push_back(deeper.view());
    return views;
}

PlaneWeights psf_weights(const DeconvolutionProblem& problem) {
    PlaneWeights weights;
    weights.planes = problem.object.z;
    if (!problem.psf_varies()) return weights;
    const std::vector<double>& planes = problem.psf_planes;
    weights.values.resize(planes.size() * static_cast<std::size_t>(weights.planes));
    for (index_t z = 0; z < weights.planes; ++z) {
        const double at =
            std::clamp(static_cast<double>(z - problem.image_at.z), planes.front(), planes.back());
        const auto next = std::clamp<std::ptrdiff_t>(
            std::upper_bound(planes.begin(), planes.end(), at) - planes.begin(), 1,
            static_cast<std::ptrdiff_t>(planes.size()) - 1);
        const auto deeper = static_cast<std::size_t>(next);
        const double share = (at - planes[deeper - 1]) / (planes[deeper] - planes[deeper - 1]);
        const auto element = [&](std::size_t k) -> float& {
            return weights
                .values[k * static_cast<std::size_t>(weights.planes) + static_cast<std::size_t>(z)];
        };
        element(deeper) = static_cast<float>(share);
        element(deeper - 1) = 1 - element(deeper);
    }
    return weights;
}

}  // namespace convolume::deconvolve
