// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs direct sums of 3D images on the host, and compares with the same sums in double precision.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "bench/direct_samples.hpp"
#include "gpu/volumes/direct/direct_kernel.hpp"
#include "gpu/volumes/direct/taps.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

template <class T>
std::complex<double> value_of(T sample) {
    if constexpr (is_complex_pixel<T>)
        return {sample.re, sample.im};
    else
        return sample;
}

template <class T>
T random_sample(std::mt19937& random) {
    std::uniform_real_distribution<real_type_t<T>> uniform(-0.5, 1);
    if constexpr (is_complex_pixel<T>)
        return {uniform(random), uniform(random)};
    else
        return uniform(random);
}

template <class T>
inline constexpr PixelType pixel_of = sizeof(real_type_t<T>) == 4
                                          ? (is_complex_pixel<T> ? PixelType::complex64
                                                                 : PixelType::float32)
                                          : (is_complex_pixel<T> ? PixelType::complex128
                                                                 : PixelType::float64);

/// Checks outputs of shape `kept` in a ring buffer whose first plane is not in its first slot.
template <class T, class Taps, template <class, class> class Source>
void check_sums(const Shape3& kernel, const Shape3& kept) {
    std::mt19937 random(static_cast<unsigned>(kernel.z * 10000 + kernel.y * 100 + kernel.x));
    const auto at = [](index_t i) { return static_cast<std::size_t>(i); };
    const TapLayout layout = tap_layout<T>(kernel);
    std::vector<T> taps(at(element_count(kernel)));
    for (T& tap : taps) tap = random_sample<T>(random);
    const auto packs = arrange_taps<T>(layout, taps.data(), kernel);
    CHECK(static_cast<index_t>(packs.size()) == layout.packs<T>());

    DirectJob<T, Taps> job;
    set_outputs(layout, kept.y, kept.x, job);
    job.planes = kept.z;
    if constexpr (std::is_same_v<Taps, GlobalTaps<T>>)
        job.taps.packs = packs.data();
    else
        std::copy(packs.begin(), packs.end(), job.taps.packs);
    job.addend = random_sample<T>(random);
    DirectSamples<T>& samples = job.samples;
    samples.row_packs = pack_count<T>(kept.x) + layout.reach_packs<T>();
    samples.rows = round_up(kept.y, index_t{DirectShape::thread_rows}) + layout.reach_y();
    samples.plane_packs = samples.rows * samples.row_packs;
    samples.ring = kept.z + kernel.z;
    samples.first_slot = samples.ring - 1;
    std::vector<Pack<T>> data(at(samples.ring * samples.plane_packs));
    for (auto& pack : data)
        for (T& sample : pack.v) sample = random_sample<T>(random);
    samples.data = data.data();

    // Rows that are aligned for packed loads, and rows that are not.
    for (const index_t spare : {index_t{0}, index_t{1}}) {
        const index_t row = round_up(kept.x, index_t{pack_size<T>}) + spare;
        const T poison = [] {
            T value{};
            reinterpret_cast<real_type_t<T>&>(value) =
                std::numeric_limits<real_type_t<T>>::quiet_NaN();
            return value;
        }();
        std::vector<Pack<T>> memory(at(pack_count<T>(kept.z * kept.y * row)));
        for (auto& pack : memory)
            for (T& sample : pack.v) sample = poison;
        T* const target = memory.front().v;
        RowTarget rows;
        rows.pixels = {target, pixel_of<T>, kept.y * row, row};
        rows.kept_x = kept.x;
        job.target = rows.pixels;
        job.whole_packs = can_store_packs<T>(rows);
        unsigned long long clamped[2] = {0, 0};
        job.clamped = clamped;
        const index_t shared = Source<T, HostBlock>::bytes(layout) +
                               (job.groups_per_sum > 0 ? DirectShape::sums_bytes : 0);
        with_tap_group<T>(layout, [&](auto width, auto height) {
            run_on_host(thread_blocks(job), DirectShape::threads, shared,
                        [&](const HostBlock& block) {
                            direct_sums<decltype(width)::value, decltype(height)::value, Source>(
                                block, job);
                        });
        });

        double error = 0, size = 0;
        index_t untouched = 0;
        for (index_t z = 0; z < kept.z; ++z)
            for (index_t y = 0; y < kept.y; ++y)
                for (index_t x = 0; x < row; ++x) {
                    const auto got = value_of(target[(z * kept.y + y) * row + x]);
                    if (x >= kept.x) {
                        untouched += std::isnan(got.real());
                        continue;
                    }
                    std::complex<double> want = value_of(job.addend);
                    const T* tap = taps.data();
                    for (index_t k = kernel.z - 1; k >= 0; --k)
                        for (index_t j = kernel.y - 1; j >= 0; --j)
                            for (index_t i = kernel.x - 1; i >= 0; --i) {
                                const index_t slot = (samples.first_slot + z + k) % samples.ring;
                                const Pack<T>& pack =
                                    data[at(slot * samples.plane_packs +
                                            (y + j) * samples.row_packs + (x + i) / pack_size<T>)];
                                want += value_of(pack.v[(x + i) % pack_size<T>]) * value_of(*tap++);
                            }
                    error += std::norm(got - want);
                    size += std::norm(want);
                }
        INFO("kernel " << to_string(kernel) << " kept " << to_string(kept) << " tap groups "
                       << layout.height << " × " << layout.width << " spare " << spare);
        CHECK(std::sqrt(error / size) < (sizeof(real_type_t<T>) == 4 ? 5e-7 : 2e-15));
        CHECK(untouched == kept.z * kept.y * (row - kept.x));
    }
}

template <class T>
void check_sources(const Shape3& kernel, const Shape3& kept) {
    check_sums<T, GlobalTaps<T>, CachedSamples>(kernel, kept);
    check_sums<T, GlobalTaps<T>, SharedSamples>(kernel, kept);
    check_sums<T, GlobalTaps<T>, CachedHaloSamples>(kernel, kept);
    if (tap_layout<T>(kernel).template are_constant<T>())
        check_sums<T, ConstantTaps<T>, CachedSamples>(kernel, kept);
}

}  // namespace convolume::gpu
