// SPDX-License-Identifier: Apache-2.0
// Blurs two stacks in memory by a Gaussian, with one plan that is executed twice.

#include <cmath>
#include <iostream>

#include "convolume/convolver.hpp"

using namespace convolume;

namespace {

Volume gaussian(index_t radius, double sigma) {
    const index_t side = 2 * radius + 1;
    Volume kernel({side, side, side}, PixelType::float32);
    float* tap = kernel.elements<float>();
    for (index_t z = -radius; z <= radius; ++z)
        for (index_t y = -radius; y <= radius; ++y)
            for (index_t x = -radius; x <= radius; ++x)
                *tap++ = static_cast<float>(
                    std::exp(-static_cast<double>(z * z + y * y + x * x) / (2 * sigma * sigma)));
    return kernel;
}

}  // namespace

int main() {
    const Shape3 shape{24, 60, 60};  // z, y, x
    Options options;
    options.normalization = KernelNormalization::sum;
    options.boundary = {BoundaryKind::reflect};
    const Convolver blur(shape, gaussian(3, 1.2).view(), options);
    std::cout << blur.plan().to_string() << '\n';

    Volume image(shape, PixelType::float32);
    Volume blurred(blur.output_shape(), blur.natural_output_type());
    for (const float brightness : {1.0F, 50.0F}) {
        image.view().at<float>(12, 30, 30) = brightness;
        blur.execute(image.view(), blurred.view());
        std::cout << "a voxel of " << brightness << " becomes a peak of "
                  << blurred.view().at<float>(12, 30, 30) << '\n';
    }
}
