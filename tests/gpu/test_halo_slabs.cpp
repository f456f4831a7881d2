// SPDX-License-Identifier: Apache-2.0
// Tests the division of convolutions into slabs with halos, without a device: the work of each
// slab is done on samples along z alone, and compared with sums over the whole axis.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gpu/volumes/halo_geometry.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/axis_case.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

Block block_of(const BlockAxis& z) {
    Block block;
    block.axes = {z, BlockAxis{8, 8, 1, 0, 8}, BlockAxis{8, 8, 1, 0, 8}};
    return block;
}

/// Whether results of a slab depend on less than the grid, and on planes that follow each other.
bool is_divisible(const AxisCase& c, const IndexRange& stored) {
    const index_t positions = stored.count() + c.z.kernel - 1;
    if (positions > c.z.grid) return false;
    index_t runs = 0;
    bool before = false;
    for (index_t i = 0; i < positions; ++i) {
        const index_t from =
            wrap(c.z.kept_begin + stored.begin + c.shift - c.z.kernel + 1 + i, c.z.grid);
        const bool here = from < c.z.loaded;
        if (here && c.planes[at(from)] < 0) return false;
        runs += here && !before;
        before = here;
    }
    return runs <= 1;
}

/// Does the work of all slabs. Memory that no slab writes is NaN.
Samples result_of(const AxisCase& c, const std::vector<gpu::HaloSlab>& slabs,
                  const std::vector<IndexRange>& inputs) {
    std::vector<Samples> rings;
    for (std::size_t i = 0; i < slabs.size(); ++i) {
        const gpu::HaloSlab& slab = slabs[i];
        Samples ring(at(slab.geometry.ring), std::numeric_limits<double>::quiet_NaN());
        for (const auto* const runs : {&slab.copied, &slab.others})
            for (const gpu::LoadRun& run : *runs)
                for (index_t p = 0; p < run.count; ++p)
                    ring[at(run.slot + p)] = c.image[at(inputs[i].begin + run.plane + p)];
        rings.push_back(std::move(ring));
    }
    const std::vector<Samples> made = rings;
    for (std::size_t i = 0; i < slabs.size(); ++i)
        for (const gpu::HaloCopy& copy : slabs[i].copies) {
            REQUIRE(copy.from != i);
            std::copy_n(made[copy.from].begin() + copy.from_slot, copy.count,
                        rings[i].begin() + copy.slot);
        }
    Samples result;
    for (std::size_t i = 0; i < slabs.size(); ++i) {
        const BlockAxis& z = slabs[i].block.axes[0];
        if (z.kept == 0) continue;
        const gpu::ZWindow window = slabs[i].geometry.windows(z).front();
        const index_t length = slabs[i].geometry.z_length;
        Samples line(at(length)), convolved(at(length));
        for (index_t p = 0; p < window.load.count; ++p)
            line[at((window.load.begin + p) % length)] =
                rings[i][at((window.load.first + p) % window.load.ring)];
        for (index_t p = 0; p < length; ++p)
            for (index_t tap = 0; tap < z.kernel; ++tap)
                convolved[at((p + tap) % length)] += line[at(p)] * c.taps[at(tap)];
        for (index_t p = 0; p < window.store.count; ++p) {
            CHECK((window.store.first + p) % window.store.ring == p);  // results are in order
            result.push_back(convolved[at((window.store.begin + p) % length)]);
        }
    }
    return result;
}

}  // namespace

TEST_CASE("slabs with halos: the results of all slabs are those of the whole axis") {
    const std::uint64_t seed = test_seed("slabs with halos");
    int divided = 0, with_copies = 0;
    for (std::uint64_t number = 0; number < 3000; ++number) {
        Random random(seed, number);
        const AxisCase c = random_axis_case(random);
        const auto parts = static_cast<std::size_t>(random.integer(1, 8));
        const auto image = static_cast<index_t>(c.image.size());
        const bool evenly = random.chance(0.3);
        const auto inputs =
            evenly ? even_division(image, parts) : random_division(random, image, parts);
        const auto stored =
            evenly ? even_division(c.z.kept, parts) : random_division(random, c.z.kept, parts);
        const std::vector<int> devices(parts, gpu::any_device);
        const auto slabs =
            gpu::halo_slabs(block_of(c.z), c.shift, c.planes, inputs, stored, devices,
                            std::vector<index_t>(parts), {}, random.chance(0.5));
        if (slabs.empty()) {
            bool is_refused = false;
            for (const IndexRange& own : stored)
                is_refused |= own.count() > 0 && !is_divisible(c, own);
            CHECK(is_refused);
            continue;
        }
        ++divided;
        for (const gpu::HaloSlab& slab : slabs) with_copies += !slab.copies.empty();
        INFO("case " << number << ": grid " << c.z.grid << ", loaded " << c.z.loaded << ", kernel "
                     << c.z.kernel << ", kept " << c.z.kept_begin << "+" << c.z.kept << ", shift "
                     << c.shift << ", " << parts << " slabs");
        const Samples want = c.expected(), got = result_of(c, slabs, inputs);
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i < want.size(); ++i) REQUIRE(std::abs(got[i] - want[i]) < 1e-12);
    }
    CHECK(divided > 1500);
    CHECK(with_copies > 1000);
}

TEST_CASE(
    "slabs with halos: work and memory fall with each GPU, planes that others need go first") {
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    rates.memory = 2e12;
    Block block;
    block.axes[0] = {1024, 1024, 64, 0, 1024};
    block.axes[1] = block.axes[2] = {2048, 2048, 64, 0, 2048};
    std::vector<index_t> planes;
    for (index_t plane = 0; plane < 1024; ++plane) planes.push_back(plane);
    double before_s = 1e9;
    index_t before_bytes = index_t{1} << 50;
    for (const std::size_t parts :
         {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
        const auto division = even_division(1024, parts);
        const std::vector<int> devices(parts, gpu::any_device);
        const auto slabs = gpu::halo_slabs(block, 32, planes, division, division, devices,
                                           std::vector<index_t>(parts), {}, true);
        if (parts == 1) {
            CHECK(slabs.empty());  // with its halo, one slab is more than the period
            continue;
        }
        REQUIRE(slabs.size() == parts);
        for (const gpu::HaloSlab& slab : slabs) {
            index_t copied = 0, first = 0, others = 0;
            for (const gpu::HaloCopy& copy : slab.copies) copied += copy.count;
            for (const gpu::LoadRun& run : slab.copied) first += run.count;
            for (const gpu::LoadRun& run : slab.others) others += run.count;
            CHECK(copied == 63);
            CHECK(first == 63);
            CHECK(first + others == 1024 / static_cast<index_t>(parts));
            CHECK(slab.geometry.z_length < 1024 / static_cast<index_t>(parts) + 80);
            CHECK(slab.bytes() < before_bytes);
        }
        before_bytes = slabs[0].bytes();
        const double seconds = gpu::halo_times(slabs, rates, 3e11).seconds;
        CHECK(seconds < before_s);
        CHECK(gpu::halo_times(slabs, rates, 3e11).hides_copies == (parts < 8));
        const gpu::HaloTimes slow = gpu::halo_times(slabs, rates, 1e9);
        CHECK(slow.seconds > 63.0 * 2048 * 1032 * 8 / 1e9);
        CHECK_FALSE(slow.hides_copies);
        before_s = seconds;
    }
}

TEST_CASE("slabs with halos: a slab needs a pass along z of its own planes alone") {
    const index_t count = 6000;
    Block block;
    block.axes = {BlockAxis{6048, count, 7, 3, count}, BlockAxis{16, 12, 5, 2, 12},
                  BlockAxis{20, 16, 3, 1, 16}};
    std::vector<index_t> planes;
    for (index_t plane = 0; plane < count; ++plane) planes.push_back(plane);
    for (const std::size_t parts : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        const auto division = even_division(count, parts);
        const std::vector<int> devices(parts, gpu::any_device);
        const auto slabs = gpu::halo_slabs(block, 0, planes, division, division, devices,
                                           std::vector<index_t>(parts), {}, true);
        CHECK(slabs.empty() == (parts == 1));  // passes have up to 4096 samples
        for (const gpu::HaloSlab& slab : slabs)
            CHECK(slab.geometry.z_length >= count / static_cast<index_t>(parts) + 3);
    }
}
