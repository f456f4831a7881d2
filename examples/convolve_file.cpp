// SPDX-License-Identifier: Apache-2.0
// Blurs a TIFF of any size within memory limits: example_convolve_file [INPUT OUTPUT]. Without
// arguments, the input is written first.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "convolume/convolver.hpp"
#include "convolume/image_file.hpp"

using namespace convolume;

namespace {

void write_stack(const std::string& path) {
    io::ImageMetadata metadata;
    metadata.shape = {24, 60, 60};
    metadata.type = PixelType::uint16;
    metadata.voxel_size_um = {0.2, 0.1, 0.1};
    Volume stack(metadata.shape, metadata.type);
    stack.view().at<std::uint16_t>(12, 30, 30) = 2700;
    const auto writer = io::create_image(path, metadata, {.overwrite = true});
    writer->write(0, 0, stack.view());
    writer->commit();
}

}  // namespace

int main(int count, char** arguments) {
    const bool has_names = count == 3;
    const std::string input = has_names ? arguments[1] : "stack.tif";
    const std::string output = has_names ? arguments[2] : "blurred.tif";
    if (!has_names) write_stack(input);
    Volume kernel({3, 3, 3}, PixelType::float32);
    std::fill_n(kernel.elements<float>(), 27, 1.0F);

    const std::unique_ptr<io::ImageReader> image = io::open_image(input);
    io::ImageMetadata metadata = image->metadata();  // shape, voxel size, channels, times
    metadata.type = PixelType::float32;
    const auto blurred = io::create_image(output, metadata, {.overwrite = true});

    Options options;
    options.normalization = KernelNormalization::sum;
    options.streamed = true;
    options.max_host_bytes = parse_byte_size("2GiB");
    EngineChoice engines;
    engines.max_gpu_bytes = parse_byte_size("4GiB");  // of each GPU
    const Convolver blur(metadata.shape, kernel.view(), options, engines);
    std::cout << blur.plan().to_string() << '\n';

    blur.execute(*image, *blurred);  // every channel and time
    image->check_unchanged();
    blurred->commit();  // the file gets its name

    if (has_names) return 0;
    const auto result = io::open_image(output);
    Volume written(metadata.shape, PixelType::float32);
    result->read(0, 0, written.view());
    const float center = written.view().at<float>(12, 30, 30);
    std::cout << "the voxel has become " << center << '\n';
    return center > 99.99F && center < 100.01F && result->metadata().voxel_size_um[0] == 0.2 ? 0
                                                                                             : 1;
}
