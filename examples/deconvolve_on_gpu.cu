// SPDX-License-Identifier: Apache-2.0
// Blurs, deconvolves and again blurs an image that never leaves the GPU, with one shared workspace.
// Fails unless the result is sharper and explains the image.

#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "convolume/device.hpp"

using namespace convolume;

namespace {

std::vector<float> gaussian(const Shape3& shape, float sigma) {
    std::vector<float> values;
    const auto square = [](index_t i, index_t extent) {
        return static_cast<float>((i - extent / 2) * (i - extent / 2));
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x)
                values.push_back(
                    std::exp(-(square(z, shape.z) + square(y, shape.y) + square(x, shape.x)) /
                             (2 * sigma * sigma)));
    return values;
}

}  // namespace

int main() {
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cout << why << '\n';
        return 0;
    }
    const Shape3 shape{40, 64, 80}, psf_shape{9, 9, 9};
    const std::vector<float> object = gaussian(shape, 1.5F), taps = gaussian(psf_shape, 2);
    const ConstImageView psf = view_of(taps.data(), psf_shape);

    const DeviceDeconvolver deconvolver(shape, psf);
    Options options;
    options.normalization = KernelNormalization::sum;
    DeviceOptions shares;
    shares.workspace_of = &deconvolver;
    const DeviceConvolver convolver(shape, psf, options, shares);
    std::cout << format_bytes(deconvolver.plan().device_bytes) << " to deconvolve, and "
              << format_bytes(convolver.device_bytes()) << " more to convolve ("
              << format_bytes(DeviceConvolver(shape, psf, options).device_bytes())
              << " in a workspace of its own)\n";

    thrust::device_vector<float> image(object.begin(), object.end());
    thrust::device_vector<float> restored(object.size()), again(object.size());
    convolver.execute(image.data().get(), image.data().get());
    deconvolver.execute(image.data().get(), restored.data().get());
    convolver.execute(restored.data().get(), again.data().get());

    std::vector<float> blurred(object.size()), sharp(object.size()), explained(object.size());
    thrust::copy(image.begin(), image.end(), blurred.begin());
    thrust::copy(restored.begin(), restored.end(), sharp.begin());
    thrust::copy(again.begin(), again.end(), explained.begin());
    const float peak = *std::max_element(blurred.begin(), blurred.end());
    const float sharper = *std::max_element(sharp.begin(), sharp.end()) / peak;
    float wrong = 0;
    for (std::size_t i = 0; i < blurred.size(); ++i)
        wrong = std::max(wrong, std::abs(explained[i] - blurred[i]) / peak);
    std::cout << "brightest voxel times " << sharper << ", image explained to " << wrong << '\n';
    return sharper > 1.5F && wrong < 0.02F ? 0 : 1;
}
