// SPDX-License-Identifier: Apache-2.0
// A separate program that uses the installed package. It blurs an image, restores it, and filters a
// signal. Build it with
//   c++ -std=c++20 installed_package.cpp $(pkg-config --cflags --libs convolume)

#include <cmath>
#include <cstdio>

#include "convolume/convolume.hpp"

using namespace convolume;

namespace {

// Returns the brightest pixel of an image.
float brightest(const Volume& image) {
    float largest = 0;
    for (index_t i = 0; i < element_count(image.shape()); ++i)
        largest = std::fmax(largest, image.elements<float>()[i]);
    return largest;
}

}  // namespace

int main() {
    // Blurs a point in an image of 16 × 32 × 32, by a kernel of 3 × 3 × 3 equal weights.
    const Shape3 shape{16, 32, 32};
    Volume image(shape, PixelType::float32);
    image.view().at<float>(8, 16, 16) = 2700;
    Volume kernel({3, 3, 3}, PixelType::float32);
    for (int i = 0; i < 27; ++i) kernel.elements<float>()[i] = 1;
    Options options;
    options.normalization = KernelNormalization::sum;
    const Volume blurred = convolve(image.view(), kernel.view(), options);

    // Richardson-Lucy brings most of the light back to the point.
    DeconvolveOptions richardson_lucy;
    richardson_lucy.iterations = 20;
    const Deconvolver deconvolver(shape, kernel.view(), richardson_lucy);
    Volume restored(shape, PixelType::float32);
    deconvolver.execute(blurred.view(), restored.view());

    // Filters a signal by two filters: a moving sum of four samples, and a difference.
    const float filters[] = {1, 1, 1, 1, 0, 1, -1, 0};
    Volume signal({1, 1, 1000}, PixelType::float32);
    for (index_t i = 0; i < 1000; ++i) signal.elements<float>()[i] = static_cast<float>(i % 10);
    const FilterBank bank({1, 1000}, {view_of(filters, {1, 2, 4})});
    Volume results({1, bank.filters(), bank.result_samples()}, bank.result_type());
    bank.execute(signal.view(), results.view());

    std::printf("convolume %s: blurred %.0f, restored %.0f, method %s, filtered %.0f\n", version(),
                static_cast<double>(brightest(blurred)), static_cast<double>(brightest(restored)),
                to_string(bank.plan().method), static_cast<double>(brightest(results)));
    return std::fabs(brightest(blurred) - 100) < 0.1F && brightest(restored) > 1000 &&
                   std::fabs(brightest(results) - 30) < 0.1F
               ? 0
               : 1;
}
