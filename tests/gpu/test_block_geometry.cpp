// SPDX-License-Identifier: Apache-2.0
// Tests how blocks are laid out and walked through: arithmetic that needs no device.

#include <algorithm>
#include <set>

#include "deconvolve/executors/element_passes.hpp"
#include "gpu/fft/lengths.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/volumes/block_geometry.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Block random_block(Random& random) {
    Block block;
    for (BlockAxis& axis : block.axes) {
        axis.kernel = random.integer(1, 40);
        axis.loaded = random.integer(1, 400);
        const index_t full = axis.loaded + axis.kernel - 1;
        axis.kept_begin = random.integer(0, full - 1);
        axis.kept = random.integer(1, full - axis.kept_begin);
        axis.grid = gpu::good_column_length(full);
    }
    block.axes[2].grid = gpu::good_row_length(block.axes[2].grid, false);
    block.walks = random.chance(0.8);
    if (random.chance(0.3)) block.algorithm = Algorithm::direct;
    return block;
}

}  // namespace

TEST_CASE("windows load every plane before it is used and keep every result once") {
    const std::uint64_t seed = test_seed("block geometry");
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    int walks = 0;
    for (std::uint64_t n = 0; n < 400; ++n) {
        Random random(seed, n);
        const Block block = random_block(random);
        const bool in_space = block.algorithm == Algorithm::direct;
        const BlockAxis z = (in_space ? gpu::widened_block(block) : block).axes[0];
        const index_t limit = random.pick<index_t>({0, 1 << 30, 1 << 28, 1 << 26});
        const auto g = gpu::block_geometry(block, gpu::expected_plane_bytes(block), limit, rates);
        const auto windows = g.windows(z);
        walks += windows.size() > 1;
        INFO("case " << n << ": loaded " << z.loaded << " kernel " << z.kernel << " kept "
                     << z.kept_begin << "+" << z.kept << " length " << g.z_length << " slab "
                     << g.slab << " ring " << g.ring);
        CHECK(g.ring >= 1);
        index_t kept = 0, loaded = 0;
        for (const gpu::ZWindow& window : windows) {
            CHECK(window.kept_begin == kept);
            kept += window.kept;
            CHECK(window.loaded_end <= z.loaded);
            loaded = std::max(loaded, window.loaded_end);
            CHECK(window.load.count <= g.ring);
            CHECK(window.store.count <= g.ring);
            CHECK(window.load.begin + window.load.count <= g.z_length);
            if (g.slab == 0) continue;
            // The inputs of each result are in the window, in the slots into which they were
            // loaded.
            for (index_t out = 0; out < window.kept; ++out) {
                const index_t at = z.kept_begin + window.kept_begin + out;
                for (index_t tap = 0; tap < z.kernel; ++tap) {
                    const index_t plane = at - tap;
                    if (plane < 0 || plane >= z.loaded) continue;
                    const index_t position = window.store.begin + out - tap;
                    const index_t element = position - window.load.begin;
                    const bool inside = element >= 0 && element < window.load.count;
                    const bool in_place =
                        inside && (window.load.first + element) % g.ring == plane % g.ring;
                    if (!in_place || plane >= window.loaded_end) FAIL_CHECK("plane " << plane);
                }
            }
            // Planes that the next window needs are not overwritten.
            if (&window == &windows.back()) continue;
            const gpu::ZWindow& next = (&window)[1];
            std::set<index_t> overwritten;
            for (index_t out = 0; out < window.kept; ++out)
                overwritten.insert((window.store.first + out) % g.ring);
            for (index_t plane = next.first; plane < window.loaded_end; ++plane)
                if (plane >= 0 && overwritten.count(plane % g.ring))
                    FAIL_CHECK("lost plane " << plane);
        }
        CHECK(kept == z.kept);
        CHECK(g.workspace_bytes() > 0);
    }
    CHECK(walks > 20);
}

TEST_CASE("direct sums are predicted to win for the sizes at which they were measured to win") {
    gpu::DeviceRates rates;  // roughly the rates of an H200
    rates.device = gpu::any_device;
    rates.memory = 2.9e12;
    rates.multiply_adds = 29e12;
    const auto seconds = [&](const Shape3& image, const Shape3& kernel, Algorithm algorithm) {
        Block block;
        block.algorithm = algorithm;
        block.walks = algorithm == Algorithm::fft;
        for (int a = 0; a < 3; ++a) {
            BlockAxis& axis = block.axes[static_cast<std::size_t>(a)];
            axis = {gpu::good_column_length(image[a] + kernel[a] / 2), image[a], kernel[a],
                    kernel[a] / 2, image[a]};
        }
        block.axes[2].grid = gpu::good_row_length(block.axes[2].grid, false);
        const auto g = gpu::block_geometry(block, gpu::expected_plane_bytes(block), 0, rates);
        return gpu::block_times(block, g, rates).alone_s;
    };
    const auto direct_wins = [&](const Shape3& image, const Shape3& kernel) {
        return seconds(image, kernel, Algorithm::direct) < seconds(image, kernel, Algorithm::fft);
    };
    CHECK(direct_wins({512, 1024, 1024}, {5, 5, 5}));
    CHECK(!direct_wins({512, 1024, 1024}, {11, 11, 11}));
    CHECK(direct_wins({1, 1024, 1024}, {1, 15, 15}));
    CHECK(!direct_wins({1, 1024, 1024}, {1, 31, 31}));
}

TEST_CASE("kernels' spectra are kept where passes with them were measured to be faster") {
    gpu::DeviceRates rates;  // those of an H100
    rates.device = gpu::any_device;
    rates.memory = 2.01e12;
    rates.multiply_adds = 28.7e12;
    Block block;
    block.axes[1] = {1024, 1024, 64, 0, 1024};
    block.axes[2] = {1024, 1024, 64, 0, 1024};
    const auto keeps = [&](const BlockAxis& z, index_t limit) {
        block.axes[0] = z;
        return gpu::block_geometry(block, {0, 0}, limit, rates, true).keeps_spectrum;
    };
    const BlockAxis circular{512, 512, 64, 0, 512}, long_kernel{640, 512, 255, 127, 512};
    CHECK(!keeps(circular, 0));
    CHECK(!keeps({576, 512, 64, 32, 512}, 0));
    CHECK(!keeps({1024, 1024, 64, 0, 1024}, 0));
    CHECK(keeps(long_kernel, 0));
    // Nearly as fast with a spectrum, which would take as much memory again: a slab with halos.
    CHECK(!keeps({270, 260, 9, 8, 256}, 0));
    CHECK(keeps({1056, 1024, 64, 32, 1024}, 0));
    // The limit is that of a kernel that is used often: without its taps.
    const auto kept = gpu::block_geometry(block, {0, 0}, 0, rates, true);
    CHECK(keeps(block.axes[0], kept.workspace_bytes() + kept.kernel_bytes));
    CHECK(!keeps(block.axes[0], kept.workspace_bytes() + kept.kernel_bytes - 1));
    block.precision = Precision::float64;
    CHECK(keeps(circular, 0));
    rates.memory = 2.88e12;  // an H200 has more of it, and computes as fast
    block.precision = Precision::float32;
    CHECK(keeps(circular, 0));
}

TEST_CASE("planes that are apart need no transform along z") {
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    rates.memory = 2e12;
    rates.multiply_adds = 28e12;
    Block block;
    block.axes[0] = {6250, 6144, 1, 0, 6144};  // too long for a pass
    block.axes[1] = block.axes[2] = {128, 64, 65, 32, 64};
    CHECK(gpu::block_geometry(block, {0, 0}, 0, rates, true).uses_cufft);
    block.planes_are_apart = true;
    for (const Precision precision : {Precision::float32, Precision::float64}) {
        block.precision = precision;
        const auto g = gpu::block_geometry(block, {0, 0}, 0, rates, true);
        CHECK(g.convolves_planes);
        CHECK(!g.uses_cufft);
        CHECK(!g.keeps_spectrum);
        CHECK(g.ring == 6144);
        // In single precision, planes of this size are convolved in one pass.
        CHECK(g.fuses_planes == (precision == Precision::float32));
        CHECK((g.ring_bytes == 0) == g.fuses_planes);
        CHECK(g.kernel_bytes < 2 * g.plane_bytes());
        CHECK(g.batch_bytes == 0);
        Block joined = block;
        joined.planes_are_apart = false;
        joined.axes[0] = {4096, 4096, 1, 0, 4096};
        block.axes[0] = joined.axes[0];
        const auto of_planes = gpu::block_geometry(block, {0, 0}, 0, rates, true);
        const auto of_volume = gpu::block_geometry(joined, {0, 0}, 0, rates, true);
        CHECK(gpu::block_times(block, of_planes, rates).compute_s <
              0.8 * gpu::block_times(joined, of_volume, rates).compute_s);
        block.axes[0] = {6250, 6144, 1, 0, 6144};
    }
}

TEST_CASE("rows of up to 4096 samples are padded to a length with element passes") {
    const auto& lengths = gpu::lengths<float>;
    for (index_t least = 1; least <= 4096; ++least) {
        const index_t length = deconvolve::good_element_length(least);
        INFO("at least " << least << ": " << length);
        CHECK(length >= least);
        CHECK(std::find(lengths.begin(), lengths.end(), length / 2) != lengths.end());
    }
}
