// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/images.hpp"

namespace convolume::testing {

void write_image(const std::string& path, const Array& array, PixelType type) {
    io::ImageMetadata metadata;
    metadata.type = type;
    write_image(path, std::vector<Array>{array}, metadata);
}

void write_image(const std::string& path, const std::vector<Array>& volumes,
                 io::ImageMetadata metadata) {
    metadata.shape = volumes.at(0).shape;
    const auto writer = io::create_image(path, metadata);
    std::size_t next = 0;
    for (index_t t = 0; t < metadata.frames; ++t)
        for (index_t c = 0; c < metadata.channels; ++c) {
            const Volume volume = to_volume(volumes.at(next++), metadata.type);
            writer->write(t, c, volume.view());
        }
    writer->commit();
}

ImageFile read_image(const std::string& path) {
    const auto reader = io::open_image(path);
    ImageFile file{reader->metadata(), {}};
    Volume volume(file.metadata.shape, file.metadata.type);
    for (index_t t = 0; t < file.metadata.frames; ++t)
        for (index_t c = 0; c < file.metadata.channels; ++c) {
            reader->read(t, c, volume.view());
            file.volumes.push_back(to_array(volume.view()));
        }
    return file;
}

Array scaled(Array array, double factor) {
    for (Complex& value : array.values) value *= factor;
    return array;
}

Complex sum_of(const Array& array) {
    Complex sum = 0;
    for (const Complex& value : array.values) sum += value;
    return sum;
}

}  // namespace convolume::testing
