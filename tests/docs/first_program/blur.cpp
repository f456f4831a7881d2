// SPDX-License-Identifier: Apache-2.0
// Blurs one bright voxel. docs/library/using.md quotes this program as its first one.

#include <algorithm>
#include <iostream>

#include "convolume/convolver.hpp"

int main() {
    using namespace convolume;
    Volume image({32, 64, 64}, PixelType::float32);  // z, y, x
    image.view().at<float>(16, 32, 32) = 27;

    Volume box({3, 3, 3}, PixelType::float32);
    std::fill_n(box.elements<float>(), 27, 1.0F);

    Options options;
    options.normalization = KernelNormalization::sum;
    options.boundary = {BoundaryKind::nearest};
    const Volume blurred = convolve(image.view(), box.view(), options);

    const float center = blurred.view().at<float>(16, 32, 32);
    std::cout << "the voxel in " << blurred.shape() << " has become " << center << '\n';
    return center > 0.999F && center < 1.001F ? 0 : 1;
}
