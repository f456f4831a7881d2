// SPDX-License-Identifier: Apache-2.0
// Uses every public part that a caller needs. Fails unless a delta kernel gives the image back, a
// deconvolution with it changes nothing, and a delta filter gives the signal back.

#include <cmath>
#include <cstdio>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/image_file.hpp"
#include "convolume/image_format.hpp"
#include "convolume/version.hpp"

int main() {
    using namespace convolume;
    const Shape3 shape{5, 6, 7};
    Volume image(shape, PixelType::float32);
    for (index_t i = 0; i < element_count(shape); ++i)
        image.elements<float>()[i] = static_cast<float>(i % 17);
    Volume delta({3, 3, 3}, PixelType::float32);
    delta.elements<float>()[13] = 1;
    Options options;
    options.method = Method::in_core;
    const Volume result = convolve(image.view(), delta.view(), options);

    io::ImageMetadata metadata;
    metadata.shape = result.shape();
    metadata.type = result.type();
    io::CreateOptions create;
    create.overwrite = true;
    const auto writer = io::create_image("consumer.npy", metadata, create);
    writer->write(0, 0, result.view());
    writer->commit();
    Volume read(shape, PixelType::float32);
    io::open_image("consumer.npy")->read(0, 0, read.view());
    std::remove("consumer.npy");

    double worst = 0;
    for (index_t i = 0; i < element_count(shape); ++i)
        worst = std::fmax(worst, std::fabs(read.elements<float>()[i] - image.elements<float>()[i]));

    DeconvolveOptions deconvolve_options;
    deconvolve_options.background = 0;
    Deconvolver deconvolver(shape, delta.view(), deconvolve_options);
    deconvolver.execute(image.view(), read.view());
    for (index_t i = 0; i < element_count(shape); ++i)
        worst = std::fmax(worst,
                          std::fabs(read.elements<float>()[i] - image.elements<float>()[i]) / 16);

    const Shape3 signal_shape{1, 1, element_count(shape)};
    const float delta_filter[] = {0, 1, 0};
    const FilterBank bank({1, signal_shape.x}, {view_of(delta_filter, {1, 1, 3})});
    Volume filtered({1, bank.filters(), bank.result_samples()}, bank.result_type());
    bank.execute(view_of(image.elements<float>(), signal_shape), filtered.view());
    for (index_t i = 0; i < signal_shape.x; ++i)
        worst =
            std::fmax(worst, std::fabs(filtered.elements<float>()[i] - image.elements<float>()[i]));
    std::printf("largest difference %g, formats", worst);
    for (const io::ImageFormat& format : io::image_formats())
        std::printf(" %s", format.name.c_str());
    std::printf("\n");
    return worst < 1e-5 ? 0 : 1;
}
