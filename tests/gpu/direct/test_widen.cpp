// SPDX-License-Identifier: Apache-2.0
// Tests the conversion of pixels to widened planes of samples.

#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "gpu/volumes/direct/direct_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

namespace {

template <class T>
std::complex<double> complex_of(T sample) {
    if constexpr (is_complex_pixel<T>)
        return {sample.re, sample.im};
    else
        return sample;
}

template <class T, class S>
void check_widen(PixelType type, bool gathered) {
    const Shape3 pixels{3, 5, 41};
    const index_t loaded_y = 7, loaded_x = 45;
    std::vector<S> image(static_cast<std::size_t>(element_count(pixels)));
    std::mt19937 random(7);
    for (S& pixel : image) {
        const auto number = static_cast<int>(random() % 200);
        if constexpr (is_complex_pixel<S>)
            pixel = {static_cast<decltype(S::re)>(number), 3};
        else
            pixel = static_cast<S>(number);
    }
    const auto list = [&](index_t count, index_t extent) {
        std::vector<std::int32_t> indices;
        for (index_t i = 0; i < count; ++i)
            indices.push_back(
                static_cast<std::int32_t>(random() % static_cast<unsigned>(extent + 1)) - 1);
        return indices;
    };
    const auto gather_y = list(loaded_y, pixels.y), gather_x = list(loaded_x, pixels.x);
    WidenJob<T> job;
    job.source.pixels = {image.data(), type, pixels.y * pixels.x, pixels.x};
    job.source.planes = pixels.z;
    job.source.loaded_y = gathered ? loaded_y : pixels.y;
    job.source.loaded_x = gathered ? loaded_x : pixels.x;
    job.source.gather_y = gathered ? gather_y.data() : nullptr;
    job.source.gather_x = gathered ? gather_x.data() : nullptr;
    job.source.subtract = 2;
    job.rows = loaded_y + 2;
    job.row_packs = pack_count<T>(loaded_x) + 1;
    job.plane_packs = job.rows * job.row_packs;
    std::vector<Pack<T>> samples(static_cast<std::size_t>(pixels.z * job.plane_packs));
    std::memset(static_cast<void*>(samples.data()), 0xff, samples.size() * sizeof samples[0]);
    job.samples = samples.data();
    run_on_host(2, DirectShape::threads, 0, [&](const HostBlock& block) { widen(block, job); });

    int wrong = 0;
    for (index_t z = 0; z < pixels.z; ++z)
        for (index_t y = 0; y < job.rows; ++y)
            for (index_t x = 0; x < job.row_packs * pack_size<T>; ++x) {
                const auto source = [&](index_t i, index_t count, const auto& gather) {
                    if (i >= count) return index_t{-1};
                    return gathered ? index_t{gather[static_cast<std::size_t>(i)]} : i;
                };
                const index_t from_y = source(y, job.source.loaded_y, gather_y);
                const index_t from_x = source(x, job.source.loaded_x, gather_x);
                std::complex<double> want = 0;
                if (from_y >= 0 && from_x >= 0)
                    want = complex_of(image[static_cast<std::size_t>(
                               (z * pixels.y + from_y) * pixels.x + from_x)]) -
                           2.0;
                const Pack<T>& pack = samples[static_cast<std::size_t>(
                    z * job.plane_packs + y * job.row_packs + x / pack_size<T>)];
                wrong += complex_of(pack.v[x % pack_size<T>]) != want;
            }
    INFO(to_string(type) << " gathered " << gathered);
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("widened planes hold gathered pixels of any type, and zeros") {
    for (const bool gathered : {false, true}) {
        check_widen<float, std::uint8_t>(PixelType::uint8, gathered);
        check_widen<float, std::int16_t>(PixelType::int16, gathered);
        check_widen<float, float>(PixelType::float32, gathered);
        check_widen<double, float>(PixelType::float32, gathered);
        check_widen<Complex<float>, Complex<float>>(PixelType::complex64, gathered);
        check_widen<Complex<double>, std::uint16_t>(PixelType::uint16, gathered);
    }
}

}  // namespace convolume::gpu
