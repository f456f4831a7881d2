// SPDX-License-Identifier: Apache-2.0
// Tests slabs and walks along z without a GPU, on objects whose planes are single samples. They are
// convolved in circles of the grid's length, and must agree with direct sums. This finds wrong
// slots, ranges and lengths.

#include <utility>
#include <vector>

#include "deconvolve/executors/plane_geometry.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::deconvolve;
using convolume::testing::Random;
using convolume::testing::test_seed;

namespace {

constexpr double no_value = 1e30;
using Samples = std::vector<double>;

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

// Returns an object that is as large as the image, or larger by the reach of the PSF.
PairAxis random_axis(Random& random) {
    PairAxis axis;
    axis.taps = random.integer(1, 9);
    axis.object = axis.taps + random.integer(0, 30);
    if (random.chance(0.5)) {
        axis.image = axis.object - axis.taps + 1;
        axis.shift = axis.taps - 1;
    } else {
        axis.image = axis.object;
        axis.shift = random.integer(0, axis.taps - 1);
    }
    return axis;
}

// A ring of samples in slots, and convolutions along a circle of the grid's length.
struct Slots {
    const PairAxis& axis;
    const Samples& taps;
    Samples values;

    Slots(const PairAxis& pair_axis, const Samples& kernel, index_t count)
        : axis(pair_axis), taps(kernel), values(at(count), no_value) {}

    double& operator[](index_t slot) { return values.at(at(slot)); }

    void along_z(const PositionMap& load, const PositionMap& store, bool adjoint) {
        REQUIRE(load.count <= axis.grid);
        REQUIRE(store.count <= axis.grid);
        Samples before(at(axis.grid)), after(at(axis.grid));
        for (index_t i = 0; i < load.count; ++i)
            before[at((load.begin + i) % axis.grid)] = (*this)[(load.first + i) % load.ring];
        for (index_t p = 0; p < axis.grid; ++p)
            for (index_t t = 0; t < axis.taps; ++t) {
                const index_t from = adjoint ? p + t : p - t + axis.grid * axis.taps;
                after[at(p)] += taps[at(t)] * before[at(from % axis.grid)];
            }
        for (index_t i = 0; i < store.count; ++i)
            (*this)[(store.first + i) % store.ring] = after[at((store.begin + i) % axis.grid)];
    }
};

// Blurs by direct sums.
Samples blurred(const PairAxis& axis, const Samples& taps, const Samples& object) {
    Samples image(at(axis.image));
    for (index_t i = 0; i < axis.image; ++i)
        for (index_t t = 0; t < axis.taps; ++t) {
            const index_t o = i + axis.shift - t;
            if (o >= 0 && o < axis.object) image[at(i)] += taps[at(t)] * object[at(o)];
        }
    return image;
}
Samples projected_back(const PairAxis& axis, const Samples& taps, const Samples& image) {
    Samples object(at(axis.object));
    for (index_t i = 0; i < axis.image; ++i)
        for (index_t t = 0; t < axis.taps; ++t) {
            const index_t o = i + axis.shift - t;
            if (o >= 0 && o < axis.object) object[at(o)] += taps[at(t)] * image[at(i)];
        }
    return object;
}

// Expected result of an iteration, by direct sums: `back` is the back projection of the ratios of
// the data to the blurred object.
struct DirectIteration {
    Samples taps, object, data, back;

    DirectIteration(const PairAxis& axis, Random& random) {
        const auto fill = [&](Samples& samples, index_t count) {
            for (index_t i = 0; i < count; ++i) samples.push_back(0.5 + random.uniform());
        };
        fill(taps, axis.taps);
        fill(object, axis.object);
        fill(data, axis.image);
        Samples ratios = blurred(axis, taps, object);
        for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = data[i] / ratios[i];
        back = projected_back(axis, taps, ratios);
    }
};

// The ring buffer of a walk.
struct WalkSlots : Slots {
    PlaneWalk walk;

    WalkSlots(const PairAxis& pair_axis, const Samples& kernel, const PlaneWalk& plane_walk)
        : Slots(pair_axis, kernel, plane_walk.ring()), walk(plane_walk) {}

    void load(const WalkStep& step, const Samples& object) {
        for (index_t o = step.load.begin; o < step.load.end; ++o)
            (*this)[walk.of_object(o)] = object[at(o)];
    }
    void blur(const WalkStep& step) {
        if (step.image.count() == 0) return;
        along_z(axis.object_map(step.seen, walk.of_object(step.seen.begin), walk.ring()),
                axis.image_map(step.image, walk.of_image(step.image.begin), walk.ring()), false);
    }
    void blur_back(const WalkStep& step) {
        if (step.update.count() == 0) return;
        along_z(axis.image_map(step.light, walk.of_image(step.light.begin), walk.ring()),
                axis.object_map(step.update, walk.of_update(step.update.begin), walk.ring()), true);
    }
    // Returns an updated sample, and poisons its slot.
    double take(index_t o) { return std::exchange((*this)[walk.of_update(o)], no_value); }
};

void check_equal(const Samples& got, const Samples& want) {
    for (std::size_t i = 0; i < want.size(); ++i)
        REQUIRE(std::abs(got[i] - want[i]) <= 1e-12 * want[i]);
}

// Returns speeds of devices, some of them equal.
std::vector<double> random_speeds(Random& random, index_t count) {
    std::vector<double> speeds;
    for (index_t i = 0; i < count; ++i)
        speeds.push_back(static_cast<double>(random.pick({1, 1, 1, 3, 40})));
    return speeds;
}

}  // namespace

TEST_CASE("deconvolve: slabs with their neighbors' planes agree with direct sums") {
    Random random(test_seed("slabs of planes"));
    for (int k = 0; k < 400; ++k) {
        PairAxis axis = random_axis(random);
        const DirectIteration direct(axis, random);
        const index_t count = random.integer(1, std::min<index_t>(axis.object, 6));
        const std::vector<SlabPlanes> parts = divide_planes(axis, random_speeds(random, count));
        axis.grid = least_grid(axis, parts) + random.integer(0, 3);
        INFO(axis.object << " planes, image " << axis.image << ", taps " << axis.taps << ", shift "
                         << axis.shift << ", parts " << count);
        std::vector<Slots> memory;
        index_t objects = 0, images = 0;
        for (const SlabPlanes& part : parts) {
            REQUIRE(part.object.begin == objects);
            REQUIRE(part.image.begin == images);
            REQUIRE(part.object.count() > 0);
            objects = part.object.end;
            images = part.image.end;
            memory.emplace_back(axis, direct.taps, part.slots());
            for (index_t o = part.seen.begin; o < part.seen.end; ++o)
                memory.back()[o - part.seen.begin] = direct.object[at(o)];
        }
        REQUIRE(objects == axis.object);
        REQUIRE(images == axis.image);
        Samples ratios(at(axis.image));
        for (std::size_t g = 0; g < parts.size(); ++g) {
            const SlabPlanes& part = parts[g];
            if (part.image.count() == 0) continue;
            const IndexRange seen = axis.seen_by(part.image);
            const index_t first = part.image.begin - part.light.begin;
            memory[g].along_z(axis.object_map(seen, seen.begin - part.seen.begin, part.slots()),
                              axis.image_map(part.image, first, part.slots()), false);
            for (index_t i = part.image.begin; i < part.image.end; ++i)
                ratios[at(i)] = direct.data[at(i)] / memory[g][first + i - part.image.begin];
        }
        Samples back(at(axis.object));
        for (std::size_t g = 0; g < parts.size(); ++g) {
            const SlabPlanes& part = parts[g];
            for (index_t i = part.light.begin; i < part.light.end; ++i)
                memory[g][i - part.light.begin] = ratios[at(i)];
            const IndexRange light = axis.lit_by(part.object);
            memory[g].along_z(axis.image_map(light, light.begin - part.light.begin, part.slots()),
                              axis.object_map(part.object, 0, part.slots()), true);
            for (index_t o = part.object.begin; o < part.object.end; ++o)
                back[at(o)] = memory[g][o - part.object.begin];
        }
        check_equal(back, direct.back);
    }
}

TEST_CASE("deconvolve: a walk along z computes an iteration") {
    Random random(test_seed("walks of planes"));
    for (int k = 0; k < 600; ++k) {
        PairAxis axis = random_axis(random);
        const DirectIteration direct(axis, random);
        const index_t depth = random.integer(1, 12);
        axis.grid = PlaneWalk::least_grid(axis, depth) + random.integer(0, 3);
        const std::vector<SlabPlanes> parts = divide_planes(
            axis, random_speeds(random, random.integer(1, std::min<index_t>(axis.object, 3))));
        INFO(axis.object << " planes, image " << axis.image << ", taps " << axis.taps << ", shift "
                         << axis.shift << ", depth " << depth << ", walks " << parts.size());
        Samples back(at(axis.object));
        std::vector<int> updates(at(axis.object));
        for (const SlabPlanes& part : parts) {
            const PlaneWalk walk(axis, part.object, depth);
            WalkSlots slots(axis, direct.taps, walk);
            for (index_t s = 0; s < walk.steps(); ++s) {
                const WalkStep step = walk.planes_at_step(s);
                slots.load(step, direct.object);
                slots.blur(step);
                for (index_t i = step.image.begin; i < step.image.end; ++i) {
                    double& value = slots[walk.of_image(i)];
                    value = direct.data[at(i)] / value;
                }
                slots.blur_back(step);
                for (index_t o = step.update.begin; o < step.update.end; ++o) {
                    back[at(o)] = slots.take(o);
                    ++updates[at(o)];
                }
            }
        }
        REQUIRE(updates == std::vector<int>(updates.size(), 1));
        check_equal(back, direct.back);
    }
}

// An iteration of rlgc is a chain of walks: the back projections of two images are multiplied, and
// the second walk blurs and projects back their product.
TEST_CASE("deconvolve: a walk in a chain uses the planes that the walk before it updates") {
    Random random(test_seed("chains of walks"));
    for (int k = 0; k < 600; ++k) {
        PairAxis axis = random_axis(random);
        const DirectIteration direct(axis, random);
        const Samples second = DirectIteration(axis, random).data;
        Samples want = projected_back(axis, direct.taps, second);
        for (std::size_t o = 0; o < want.size(); ++o) want[o] *= direct.back[o];
        want = projected_back(axis, direct.taps, blurred(axis, direct.taps, want));

        const index_t depth = random.integer(1, 12);
        axis.grid = PlaneWalk::least_grid(axis, depth) + random.integer(0, 3);
        const std::vector<SlabPlanes> parts = divide_planes(
            axis, random_speeds(random, random.integer(1, std::min<index_t>(axis.object, 3))));
        INFO(axis.object << " planes, image " << axis.image << ", taps " << axis.taps << ", shift "
                         << axis.shift << ", depth " << depth << ", walks " << parts.size());
        Samples got(at(axis.object));
        std::vector<int> updates(at(axis.object));
        for (const SlabPlanes& part : parts) {
            const std::vector<PlaneWalk> walks = PlaneWalk::chain(axis, part.object, depth, 2);
            REQUIRE(walks.size() == 2);
            WalkSlots halves[] = {{axis, direct.taps, walks[0]}, {axis, direct.taps, walks[0]}};
            WalkSlots last(axis, direct.taps, walks[1]);
            for (index_t s = 0; s < walks[1].steps(); ++s) {
                const WalkStep step = walks[0].planes_at_step(s),
                               behind = walks[1].planes_at_step(s);
                REQUIRE(behind.load.begin == step.update.begin);
                REQUIRE(behind.load.end == step.update.end);
                halves[0].load(step, direct.object);
                halves[0].blur(step);
                for (index_t i = step.image.begin; i < step.image.end; ++i) {
                    const index_t slot = walks[0].of_image(i);
                    halves[0][slot] = direct.data[at(i)] / halves[0][slot];
                    halves[1][slot] = second[at(i)];
                }
                for (WalkSlots& half : halves) half.blur_back(step);
                for (index_t o = step.update.begin; o < step.update.end; ++o)
                    last[walks[1].of_object(o)] = halves[0].take(o) * halves[1].take(o);
                last.blur(behind);
                last.blur_back(behind);
                for (index_t o = behind.update.begin; o < behind.update.end; ++o) {
                    got[at(o)] = last.take(o);
                    ++updates[at(o)];
                }
            }
        }
        REQUIRE(updates == std::vector<int>(updates.size(), 1));
        check_equal(got, want);
    }
}

// Fused iterations are a chain of walks: each walk loads the planes that the walk before it
// updates.
TEST_CASE("deconvolve: a chain of walks computes several iterations") {
    Random random(test_seed("iterations in a chain"));
    for (int k = 0; k < 300; ++k) {
        PairAxis axis = random_axis(random);
        const DirectIteration direct(axis, random);
        const index_t count = random.integer(1, 4), depth = random.integer(1, 12);
        Samples want = direct.object;
        for (index_t i = 0; i < count; ++i) {
            Samples ratios = blurred(axis, direct.taps, want);
            for (std::size_t z = 0; z < ratios.size(); ++z) ratios[z] = direct.data[z] / ratios[z];
            want = projected_back(axis, direct.taps, ratios);
        }
        axis.grid = PlaneWalk::least_grid(axis, depth) + random.integer(0, 3);
        const std::vector<PlaneWalk> walks =
            PlaneWalk::chain(axis, axis.whole_object(), depth, count);
        INFO(axis.object << " planes, image " << axis.image << ", taps " << axis.taps << ", shift "
                         << axis.shift << ", depth " << depth << ", iterations " << count);
        std::vector<WalkSlots> slots;
        for (const PlaneWalk& walk : walks) slots.emplace_back(axis, direct.taps, walk);
        std::vector<Samples> estimates(at(count + 1), Samples(at(axis.object), no_value));
        estimates.front() = direct.object;
        for (index_t s = 0; s < walks.back().steps(); ++s)
            for (index_t i = 0; i < count; ++i) {
                const WalkStep step = walks[at(i)].planes_at_step(s);
                WalkSlots& ring = slots[at(i)];
                ring.load(step, estimates[at(i)]);
                ring.blur(step);
                for (index_t z = step.image.begin; z < step.image.end; ++z) {
                    double& value = ring[walks[at(i)].of_image(z)];
                    value = direct.data[at(z)] / value;
                }
                ring.blur_back(step);
                for (index_t o = step.update.begin; o < step.update.end; ++o)
                    estimates[at(i + 1)][at(o)] = ring.take(o);
            }
        for (std::size_t o = 0; o < want.size(); ++o)
            REQUIRE(std::abs(estimates.back()[o] - want[o]) <= 1e-11 * want[o]);
    }
}

TEST_CASE("deconvolve: iterations are fused while the bus is slower than the GPU") {
    PairAxis z;
    z.object = z.image = 300;
    z.taps = 30;
    const auto seconds = [&](index_t depth, index_t together, double bus, double memory) {
        const WalkTraffic traffic{300e6, 100e6, 500e6};
        return iteration_seconds(z, 1e6, depth, together, traffic, {bus, bus, memory});
    };
    // Bound by the bus, two fused iterations take half of the time each.
    CHECK(seconds(30, 2, 1e9, 1e12) == Approx(seconds(30, 1, 1e9, 1e12) / 2));
    CHECK(seconds(30, 1, 1e9, 1e12) > 0.3);
    CHECK(seconds(30, 1, 1e9, 1e12) < 0.4);
    // Bound by the GPU: fusing gains nothing, and shallow steps lose.
    CHECK(seconds(30, 2, 1e15, 1e12) == seconds(30, 1, 1e15, 1e12));
    CHECK(seconds(3, 2, 1e15, 1e12) > 1.5 * seconds(30, 1, 1e15, 1e12));
}

TEST_CASE("deconvolve: slabs have planes in proportion to their devices' speed, and at least one") {
    PairAxis axis;
    axis.object = axis.image = 100;
    const auto planes = [&](const std::vector<double>& speeds) {
        std::vector<index_t> counts;
        for (const SlabPlanes& part : divide_planes(axis, speeds))
            counts.push_back(part.object.count());
        return counts;
    };
    CHECK(planes({1, 1, 1, 1}) == std::vector<index_t>{25, 25, 25, 25});
    CHECK(planes({4.8e12, 1.2e12, 2.4e12, 1.6e12}) == std::vector<index_t>{48, 12, 24, 16});
    CHECK(planes({1, 1e-9, 1, 1e-9}) == std::vector<index_t>{50, 1, 48, 1});
    // Eight devices of unequal speed: no device waits for more than 5 % of the time of the slowest.
    axis.object = axis.image = 2048;
    const std::vector<double> speeds{1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};
    const std::vector<index_t> counts = planes(speeds);
    double least = 1e9, most = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        const double time = static_cast<double>(counts[i]) / speeds[i];
        least = std::min(least, time);
        most = std::max(most, time);
    }
    CHECK(least > 0.95 * most);
}

TEST_CASE("deconvolve: tiles divide the axis, and each loads all that its updates depend on") {
    Random random(test_seed("tiles"));
    const auto random_samples = [&](index_t count) {
        Samples samples(at(count));
        for (double& sample : samples) sample = static_cast<double>(random.integer(1, 9));
        return samples;
    };
    for (int k = 0; k < 300; ++k) {
        const PairAxis axis = random_axis(random);
        const index_t count = random.integer(1, std::min<index_t>(axis.object, 5));
        const index_t chained = random.integer(1, 2);
        const Samples taps = random_samples(axis.taps);
        const Samples object = random_samples(axis.object);
        const Samples image = blurred(axis, taps, object);
        const Samples back = projected_back(axis, taps, image);
        const auto tiles = divide_axis(axis, count, chained);
        PairAxis whole = axis;
        whole.grid = least_grid(axis, tiles);
        index_t own_end = 0, counted_end = 0;
        for (const TileAxis& tile : tiles) {
            INFO("case " << k << ", taps " << axis.taps << ", object " << axis.object
                         << ", tile of " << tile.own.begin << " to " << tile.own.end);
            CHECK(tile.own.begin == own_end);
            CHECK(tile.counted.begin == counted_end);
            own_end = tile.own.end;
            counted_end = tile.counted.end;
            const PairAxis part = tile.within(whole);
            Slots slots(part, taps, part.grid);
            for (index_t i = 0; i < part.object; ++i) slots[i] = object[at(tile.object.begin + i)];
            slots.along_z(part.object_map(part.whole_object(), 0, part.grid),
                          part.image_map(part.whole_image(), 0, part.grid), false);
            for (index_t i = 0; i < part.image; ++i)
                CHECK(slots[i] == Approx(image[at(tile.image.begin + i)]));
            slots.along_z(part.image_map(part.whole_image(), 0, part.grid),
                          part.object_map(part.whole_object(), 0, part.grid), true);
            for (index_t i = tile.updated.begin; i < tile.updated.end; ++i)
                CHECK(slots[i - tile.object.begin] == Approx(back[at(i)]));
        }
        CHECK(own_end == axis.object);
        CHECK(counted_end == axis.image);
    }
}
