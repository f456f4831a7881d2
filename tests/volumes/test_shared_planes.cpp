// SPDX-License-Identifier: Apache-2.0
// Reads random boxes of tasks through a ring from several threads: all samples are right, every
// plane is read once, and errors of the source reach every task.

#include <atomic>
#include <map>
#include <mutex>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"
#include "volumes/shared_planes.hpp"
#include "volumes/task_workers.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

float value_at(index_t volume, index_t z, index_t y, index_t x) {
    return static_cast<float>(volume * 1000 + z * 100 + y * 10 + x);
}

/// An image of numbered samples that counts how often each plane is read.
class CountedSource : public ImageSource {
  public:
    explicit CountedSource(const StackFormat& format) : format_(format) {}
    StackFormat format() const override { return format_; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        const index_t volume = t * format_.channels + c;
        for (index_t z = box.begin.z; z < box.end.z; ++z) {
            if (volume * format_.shape.z + z == fails_at) throw IoError("the disk is gone");
            const std::lock_guard lock(mutex);
            ++reads[volume * format_.shape.z + z];
        }
        const Shape3 shape = box.shape();
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t y = 0; y < shape.y; ++y)
                for (index_t x = 0; x < shape.x; ++x)
                    *static_cast<float*>(target.at(z, y, x)) =
                        value_at(volume, box.begin.z + z, box.begin.y + y, box.begin.x + x);
    }

    std::mutex mutex;
    std::map<index_t, int> reads;
    index_t fails_at = -1;

  private:
    StackFormat format_;
};

struct RingCase {
    StackFormat format;
    std::vector<IndexRange> needed;
    int in_flight = 1;

    explicit RingCase(Random& random) {
        format.shape = {random.integer(1, 20), random.integer(1, 4), random.integer(1, 5)};
        format.frames = random.integer(1, 2);
        format.channels = random.integer(1, 2);
        const index_t slabs = random.integer(1, format.shape.z), tiles = random.integer(1, 4);
        const index_t halo = random.integer(0, 6);
        for (index_t slab = 0; slab < slabs; ++slab)
            for (index_t tile = 0; tile < tiles; ++tile) {
                const index_t begin = slab * format.shape.z / slabs,
                              end = (slab + 1) * format.shape.z / slabs;
                needed.push_back(
                    {std::max<index_t>(begin - halo, 0), std::min(end + halo, format.shape.z)});
            }
        // Ranges need not be in order, as with boundaries that continue the image.
        if (random.chance(0.3)) needed.back().begin = 0;
        in_flight = static_cast<int>(random.integer(1, 5));
    }
};

/// Runs all tasks, which read all their planes in random boxes. Returns the number of wrong
/// samples.
int wrong_samples(const RingCase& c, SharedPlanes& ring, std::uint64_t seed) {
    std::atomic<int> wrong{0};
    const index_t tasks = std::ssize(c.needed);
    run_on_workers(c.in_flight, tasks * c.format.volumes(), {}, [&](int, index_t task) {
        struct End {
            SharedPlanes& ring;
            index_t task;
            ~End() { ring.end_task(task); }
        } const end{ring, task};
        ring.begin_task(task);
        Random random(seed, static_cast<std::uint64_t>(task));
        const IndexRange planes = c.needed[static_cast<std::size_t>(task % tasks)];
        const index_t volume = task / tasks;
        for (index_t z = planes.begin; z < planes.end;) {
            const index_t count = random.integer(1, planes.end - z);
            const Shape3& s = c.format.shape;
            const index_t y = random.integer(0, s.y - 1), x = random.integer(0, s.x - 1);
            const Box3 box{{z, y, x}, {z + count, random.integer(y + 1, s.y), s.x}};
            Volume read(box.shape(), PixelType::float32);
            ring.read_box(volume / c.format.channels, volume % c.format.channels, box, read.view());
            for (index_t k = 0; k < count; ++k)
                for (index_t j = 0; j < read.shape().y; ++j)
                    for (index_t i = 0; i < read.shape().x; ++i)
                        wrong += *static_cast<const float*>(read.view().at(k, j, i)) !=
                                 value_at(volume, z + k, y + j, x + i);
            z += count;
        }
    });
    return wrong;
}

}  // namespace

TEST_CASE("a ring reads every plane once for all tasks", "[ring]") {
    const std::uint64_t seed = test_seed("plane ring");
    for (std::uint64_t n = 0; n < 200; ++n) {
        Random random(seed, n);
        const RingCase c(random);
        CountedSource source(c.format);
        SharedPlanes ring(source, c.needed, c.in_flight, 1);
        ring.allocate();
        INFO("case " << n << ": " << to_string(c.format.shape) << ", " << c.needed.size()
                     << " tasks, " << c.in_flight << " in flight, " << ring.planes() << " planes");
        CHECK(wrong_samples(c, ring, seed + n) == 0);
        int repeated = 0;
        for (const auto& [plane, reads] : source.reads) repeated += reads - 1;
        CHECK(repeated == 0);
    }
}

TEST_CASE("a failing source ends all tasks that read through a ring", "[ring]") {
    const std::uint64_t seed = test_seed("failing ring");
    for (std::uint64_t n = 0; n < 50; ++n) {
        Random random(seed, n);
        const RingCase c(random);
        CountedSource source(c.format);
        source.fails_at = c.needed.front().begin;
        SharedPlanes ring(source, c.needed, c.in_flight, 1);
        ring.allocate();
        CHECK_THROWS_AS(wrong_samples(c, ring, seed), IoError);
    }
}
