// Writes the demo's data: phantom.tif, a specimen of beads, filaments and hollow shells, and
// psf.tif, a widefield-like point spread function with the same voxel size.
//   make_demo_data FOLDER

#include <cmath>
#include <exception>
#include <iostream>
#include <numbers>
#include <string>

#include "convolume/image_file.hpp"
#include "phantom.hpp"

using namespace convolume;

namespace {

constexpr demo::Point voxel_um{0.2, 0.1, 0.1};

Volume make_phantom() {
    demo::Phantom phantom({96, 256, 256}, voxel_um);
    phantom.add_shells(7, 1.2, 3.2, 0.15, 200);
    phantom.add_filaments(9, 22, 0.15, 600);
    phantom.add_beads(60, 0.2, 2500);
    Volume volume(phantom.volume().shape(), PixelType::float32);
    const float* source = phantom.volume().elements<float>();
    float* target = volume.elements<float>();
    for (index_t i = 0; i < element_count(volume.shape()); ++i) target[i] = source[i] + 10;
    return volume;
}

// A spot whose width grows with defocus as that of a Gaussian beam, with the rings a circular
// aperture adds; every plane carries the same energy, as in a microscope.
Volume make_psf() {
    constexpr double waist_um = 0.26;
    constexpr double rayleigh_um = 0.8;
    constexpr double ring_period_um = 0.34;
    Volume psf({33, 49, 49}, PixelType::float32);
    const Shape3 shape = psf.shape();
    float* voxels = psf.elements<float>();
    for (index_t z = 0; z < shape.z; ++z) {
        const double defocus_um = static_cast<double>(z - shape.z / 2) * voxel_um[0];
        const double width_um = waist_um * std::hypot(1.0, defocus_um / rayleigh_um);
        float* plane = voxels + z * shape.y * shape.x;
        double sum = 0;
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double r = std::hypot(static_cast<double>(y - shape.y / 2) * voxel_um[1],
                                            static_cast<double>(x - shape.x / 2) * voxel_um[2]);
                const double ring = 1 + 0.6 * std::cos(2 * std::numbers::pi * r / ring_period_um) *
                                            (1 - std::exp(-defocus_um * defocus_um));
                const double value = ring * std::exp(-2 * r * r / (width_um * width_um));
                plane[y * shape.x + x] = static_cast<float>(value);
                sum += value;
            }
        for (index_t i = 0; i < shape.y * shape.x; ++i)
            plane[i] /= static_cast<float>(sum * static_cast<double>(shape.z));
    }
    return psf;
}

void save(const std::string& path, const Volume& volume) {
    io::ImageMetadata metadata;
    metadata.shape = volume.shape();
    metadata.type = volume.type();
    metadata.voxel_size_um = {voxel_um[0], voxel_um[1], voxel_um[2]};
    metadata.unit = "um";
    io::CreateOptions options;
    options.overwrite = true;
    const auto writer = io::create_image(path, metadata, options);
    writer->write(0, 0, volume.view());
    writer->commit();
    std::cout << path << ": z,y,x " << to_string(volume.shape()) << ", voxel 0.2×0.1×0.1 µm\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: make_demo_data FOLDER\n";
        return 2;
    }
    try {
        save(std::string(argv[1]) + "/phantom.tif", make_phantom());
        save(std::string(argv[1]) + "/psf.tif", make_psf());
    } catch (const std::exception& error) {
        std::cerr << "make_demo_data: " << error.what() << '\n';
        return 1;
    }
}
