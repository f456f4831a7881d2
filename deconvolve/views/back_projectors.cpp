// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/views/back_projectors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"

namespace convolume::deconvolve {

namespace {

EngineChoice cpu_only(int threads) {
    EngineChoice engines;
    engines.device = EngineChoice::Device::cpu;
    engines.threads = threads;
    return engines;
}

Volume as_float64(const ConstImageView& values) {
    Volume converted(values.shape, PixelType::float64);
    convert_pixels(values, converted.view());
    return converted;
}

// Returns the map of displacements, from voxels of view v to those of view w.
VoxelMap between_views(const View& v, const View& w) {
    VoxelMap map = composed(inverse(w.map), v.map);
    map.offset = {};
    return map;
}

// Returns the PSF of view w in voxels of view v, in float64, with its center in the middle. A voxel
// holds the mean over its extents, as in a forward model.
Volume brought_to(const View& v, const View& w, int threads) {
    const FieldPsf& psf = w.psfs.front();
    const Index3& center = psf.center.index;
    VoxelMap map = between_views(v, w);
    const VoxelMap back = inverse(map);
    Shape3 box;
    for (std::size_t a = 0; a < 3; ++a) {
        double reach = 0;
        for (int b = 0; b < 3; ++b)
            reach += std::abs(back.matrix[a][static_cast<std::size_t>(b)]) *
                     static_cast<double>(std::max(center[b], psf.psf.shape[b] - 1 - center[b]));
        box[static_cast<int>(a)] = 2 * static_cast<index_t>(std::ceil(reach - 1e-9)) + 1;
    }
    std::array<double, 3> middle{};
    for (std::size_t a = 0; a < 3; ++a)
        middle[a] = static_cast<double>(box[static_cast<int>(a)] / 2);
    const std::array<double, 3> at = map(middle);
    for (std::size_t a = 0; a < 3; ++a)
        map.offset[a] = static_cast<double>(center[static_cast<int>(a)]) - at[a];
    Volume point({1, 1, 1}, PixelType::float64);
    *point.elements<double>() = 1;
    View sampled{box, {{point.view(), {}, {}}}, map, {}, {}};
    ForwardModelOptions options;
    options.precision = Precision::float64;
    const ForwardModel model({psf.psf.shape, psf.psf.shape, {}}, {sampled}, options,
                             cpu_only(threads));
    const Volume taps = as_float64(psf.psf);
    Volume brought(box, PixelType::float64);
    model.record(0, taps.view(), brought.view());
    return brought;
}

// Returns P ∗ other ∗ other*, in the extents of P. The middle of `other` is its center.
Volume blurred_by_autocorrelation(const ConstImageView& psf, const Volume& other, int threads) {
    const Shape3& reach = other.shape();
    Shape3 padded;
    Box3 inner;
    for (int a = 0; a < 3; ++a) {
        inner.begin[a] = reach[a] / 2;
        inner.end[a] = reach[a] / 2 + psf.shape[a];
        padded[a] = psf.shape[a] + reach[a] - 1;
    }
    Volume image(padded, PixelType::float64), blurred(padded, PixelType::float64);
    std::fill_n(image.elements<double>(), element_count(padded), 0.0);
    convert_pixels(psf, subview(image.view(), inner));
    Options options;
    options.mode = Mode::same;
    options.precision = Precision::float64;
    Convolver(padded, other.view(), options, cpu_only(threads))
        .execute(image.view(), blurred.view());
    options.operation = Operation::adjoint;
    Convolver(padded, other.view(), options, cpu_only(threads))
        .execute(blurred.view(), image.view());
    Volume result(psf.shape, PixelType::float64);
    convert_pixels(subview(std::as_const(image).view(), inner), result.view());
    return result;
}

}  // namespace

Volume back_projector(const std::vector<View>& views, std::size_t v, int threads) {
    const ConstImageView psf = views[v].psfs.front().psf;
    Volume product = as_float64(psf);
    double* const values = product.elements<double>();
    const index_t count = element_count(psf.shape);
    for (std::size_t w = 0; w < views.size(); ++w) {
        if (w == v) continue;
        const Volume other =
            blurred_by_autocorrelation(psf, brought_to(views[v], views[w], threads), threads);
        const double* const factors = other.elements<double>();
        // Rounding of transforms may be below 0.
        for (index_t i = 0; i < count; ++i) values[i] *= std::max(factors[i], 0.0);
        // Products of small numbers must not underflow.
        const double largest = *std::max_element(values, values + count);
        if (!(largest > 0))
            throw BadData(message("nothing is left of the PSF of view ", v + 1,
                                  " times those of others: check the PSFs and their centers, or "
                                  "choose sequential updates"));
        for (index_t i = 0; i < count; ++i) values[i] /= largest;
    }
    Volume projector(psf.shape, PixelType::float32);
    convert_pixels(std::as_const(product).view(), projector.view());
    return projector;
}

}  // namespace convolume::deconvolve
