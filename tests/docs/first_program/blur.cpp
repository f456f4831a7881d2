// SPDX-License-Identifier: Apache-2.0
// Blurs one bright voxel. docs/library/using.md quotes this program as its first one.

#include <iostream>

#include "convolume/convolver.hpp"

int main() {
    using namespace convolume;
    const Shape3 shape{32, 64, 64};  // z, y, x
    Volume image(shape, PixelType::float32);
    image.elements<float>()[(16 * shape.y + 32) * shape.x + 32] = 27;

    Volume box({3, 3, 3}, PixelType::float32);
    for (index_t i = 0; i < 27; ++i) box.elements<float>()[i] = 1;

    Options options;
    options.normalization = KernelNormalization::sum;
    options.boundary = {BoundaryKind::nearest};
    const Volume blurred = convolve(image.view(), box.view(), options);

    const float center = blurred.elements<float>()[(16 * shape.y + 32) * shape.x + 32];
    std::cout << "the voxel has become " << center << '\n';
    return center > 0.999F && center < 1.001F ? 0 : 1;
}
