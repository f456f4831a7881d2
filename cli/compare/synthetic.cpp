// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/synthetic.hpp"

#include <cmath>

namespace convolume::cli {

namespace {

/// SplitMix64: a sequence that C++ libraries cannot differ in.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    /// In [0, 1), of 53 bits.
    double uniform() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t bits = state_;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
        return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
    }

  private:
    std::uint64_t state_;
};

}  // namespace

Volume synthetic_image(const Shape3& shape, std::uint64_t seed) {
    Volume image(shape, PixelType::uint16);
    Random random(seed);
    auto* const voxels = image.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(shape); ++i) {
        const double u = random.uniform();
        const double square = u * u;
        voxels[i] = static_cast<std::uint16_t>(std::lround(100 + 3995 * square * square));
    }
    return image;
}

Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed) {
    Volume kernel(shape, PixelType::float32);
    Random random(seed);
    auto* sample = kernel.elements<float>();
    // Distance from the middle in standard deviations.
    const auto deviations = [](index_t i, index_t extent) {
        return (static_cast<double>(i) - static_cast<double>(extent - 1) / 2) /
               (static_cast<double>(extent) / 6);
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const double dz = deviations(z, shape.z);
                const double dy = deviations(y, shape.y);
                const double dx = deviations(x, shape.x);
                const double envelope = std::exp(-(dz * dz + dy * dy + dx * dx) / 2);
                *sample++ = static_cast<float>(envelope * (0.5 + random.uniform()));
            }
    return kernel;
}

Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed) {
    Volume volume({1, rows, samples}, PixelType::float32);
    Random random(seed);
    auto* const values = volume.elements<float>();
    for (index_t i = 0; i < element_count(volume.shape()); ++i)
        values[i] = static_cast<float>(2 * random.uniform() - 1);
    return volume;
}

}  // namespace convolume::cli
