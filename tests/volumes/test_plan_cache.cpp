// SPDX-License-Identifier: Apache-2.0
// Tests the cache of plans: results are the same bit by bit, and the cache keeps its limits, also
// with several threads and in a forked process.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "convolume/cache.hpp"
#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineChoice on_cpu() {
    EngineChoice engines;
    engines.device = EngineChoice::Device::cpu;
    engines.threads = 2;
    return engines;
}

// Empties the cache, and restores its limits at the end.
class EmptyCache {
  public:
    explicit EmptyCache(const PlanCacheLimits& limits) : before_(plan_cache_info().limits) {
        clear_plan_cache();
        limit_plan_cache(limits.host_bytes, limits.gpu_bytes);
    }
    ~EmptyCache() {
        clear_plan_cache();
        limit_plan_cache(before_.host_bytes, before_.gpu_bytes);
    }
    EmptyCache(const EmptyCache&) = delete;
    EmptyCache& operator=(const EmptyCache&) = delete;

  private:
    PlanCacheLimits before_;
};

constexpr index_t mebi = index_t{1} << 20;

Volume random_volume(Random& random, const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    std::generate_n(volume.elements<float>(), element_count(shape),
                    [&] { return static_cast<float>(2 * random.uniform() - 1); });
    return volume;
}

struct Case {
    Volume image, kernel;
    Options options;
    Volume expected;  // of a Convolver, which the cache does not know
};

Case random_case(Random& random) {
    const Shape3 shape{random.integer(1, 32), random.integer(16, 96), random.integer(16, 96)};
    Case one;
    one.image = random_volume(random, shape);
    one.kernel =
        random_volume(random, {random.integer(1, 5), random.integer(1, 9), random.integer(1, 9)});
    one.options.mode = random.pick<Mode>({Mode::same, Mode::full});
    one.options.boundary.kind =
        random.pick<BoundaryKind>({BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap});
    one.options.operation = random.pick<Operation>({Operation::convolve, Operation::correlate});
    one.options.method =
        random.pick<Method>({Method::automatic, Method::in_core, Method::in_core, Method::direct});
    one.options.expected_executions = 1;
    Options planned_options = one.options;
    planned_options.expected_executions.reset();  // a kept plan serves later calls, too
    const Convolver planned(shape, one.kernel.view(), planned_options, on_cpu());
    one.expected = Volume(planned.output_shape(), PixelType::float32);
    planned.execute(one.image.view(), one.expected.view());
    return one;
}

bool is_as_expected(const Case& one) {
    const Volume found = convolve(one.image.view(), one.kernel.view(), one.options, on_cpu());
    return found.shape() == one.expected.shape() &&
           std::memcmp(found.view().data, one.expected.view().data,
                       static_cast<std::size_t>(found.bytes())) == 0;
}

}  // namespace

TEST_CASE("random calls through a small cache give the results of their own plans") {
    const EmptyCache cache({64 * mebi, 0});
    const std::uint64_t seed = test_seed("plan cache");
    std::vector<Case> cases;
    for (std::uint64_t n = 0; n < 400; ++n) {
        Random random(seed, n);
        cases.push_back(random_case(random));
    }
    const PlanCacheInfo before = plan_cache_info();
    Random random(seed, cases.size());
    index_t different = 0, most_bytes = 0;
    constexpr int calls = 4000;
    for (int call = 0; call < calls; ++call) {
        const auto number =
            static_cast<std::size_t>(random.integer(0, static_cast<index_t>(cases.size()) - 1));
        different += !is_as_expected(cases[number]);
        most_bytes = std::max(most_bytes, plan_cache_info().host_bytes);
    }
    CHECK(different == 0);
    CHECK(most_bytes <= 64 * mebi);
    CHECK(most_bytes > 60 * mebi);
    const PlanCacheInfo after = plan_cache_info();
    const index_t hits = after.hits - before.hits, misses = after.misses - before.misses;
    CHECK(hits + misses == calls);
    CHECK(hits > 0);
    CHECK(misses > static_cast<index_t>(cases.size()));  // some plans were dropped and made again

    limit_plan_cache(0, 0);
    CHECK(plan_cache_info().plans == 0);
    for (std::size_t number = 0; number < 20; ++number) {
        CHECK(is_as_expected(cases[number]));
        CHECK(plan_cache_info().plans == 0);
    }
}

TEST_CASE("a plan is found again only for the same arguments") {
    const EmptyCache cache({64 * mebi, 0});
    Random random(test_seed("plan cache keys"), 0);
    const Shape3 shape{4, 20, 24};
    const Volume kernel = random_volume(random, {3, 3, 3});
    const auto first = cached_convolver(shape, kernel.view(), {}, on_cpu());
    CHECK(cached_convolver(shape, kernel.view(), {}, on_cpu()) == first);
    // The samples decide, not their address or strides.
    Volume larger({3, 3, 6}, PixelType::float32);
    ImageView apart = larger.view();
    apart.shape.x = 3;
    apart.strides.x = 2;
    convert_pixels(kernel.view(), apart);
    CHECK(cached_convolver(shape, apart, {}, on_cpu()) == first);

    Volume other = random_volume(random, {3, 3, 3});
    CHECK(cached_convolver(shape, other.view(), {}, on_cpu()) != first);
    CHECK(cached_convolver({4, 24, 20}, kernel.view(), {}, on_cpu()) != first);
    Options options;
    options.boundary.value = 1;
    CHECK(cached_convolver(shape, kernel.view(), options, on_cpu()) != first);
    EngineChoice engines = on_cpu();
    engines.threads = 1;
    CHECK(cached_convolver(shape, kernel.view(), {}, engines) != first);
    CHECK(cached_convolver(shape, kernel.view(), {}, on_cpu(), PixelType::uint8) != first);
    CHECK(cached_convolver(shape, kernel.view(), {}, on_cpu()) == first);
    CHECK(plan_cache_info().plans == 6);
}

TEST_CASE("the plan that was used least recently is dropped first") {
    const EmptyCache cache({index_t{1} << 40, 0});
    Random random(test_seed("plan cache order"), 0);
    const Volume kernel = random_volume(random, {3, 3, 3});
    const auto plan = [&](index_t rows) {
        return cached_convolver({4, rows, 24}, kernel.view(), {}, on_cpu());
    };
    const std::weak_ptr<const Convolver> first = plan(20), second = plan(21);
    const auto third = plan(22);
    plan(20);
    limit_plan_cache(plan_cache_info().host_bytes - 1, 0);
    CHECK(second.expired());
    CHECK_FALSE(first.expired());
    clear_plan_cache();
    CHECK(first.expired());
    CHECK(third->output_shape() == Shape3{4, 22, 24});  // a plan in use stays valid
    CHECK_THROWS_AS(limit_plan_cache(-1, 0), InvalidArgument);
}

TEST_CASE("plans that are never found again do not fill the cache") {
    const EmptyCache cache({index_t{1} << 40, 0});
    Random random(test_seed("plan cache unused"), 0);
    std::vector<Volume> kernels;
    for (int n = 0; n < 300; ++n) kernels.push_back(random_volume(random, {3, 3, 3}));
    const auto plan = [&](int n) {
        cached_convolver({4, 20, 24}, kernels[static_cast<std::size_t>(n)].view(), {}, on_cpu());
    };
    for (int n = 0; n < 300; ++n) plan(n);
    CHECK(plan_cache_info().plans == 48);
    // Kernels that take turns are all kept after some rounds.
    clear_plan_cache();
    for (int round = 0; round < 20; ++round)
        for (int n = 0; n < 100; ++n) plan(n);
    CHECK(plan_cache_info().plans == 100);
}

TEST_CASE("threads share plans") {
    const EmptyCache cache({64 * mebi, 0});
    const std::uint64_t seed = test_seed("plan cache threads");
    std::vector<Case> cases;
    for (std::uint64_t n = 0; n < 3; ++n) {
        Random random(seed, n);
        cases.push_back(random_case(random));
    }
    std::atomic<int> different{0};
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([&, thread] {
                for (int call = 0; call < 100; ++call) {
                    different += !is_as_expected(cases[static_cast<std::size_t>(call) % 3]);
                    if (thread == 0 && call % 25 == 24) clear_plan_cache();
                }
            });
    }
    CHECK(different == 0);
}

TEST_CASE("a forked process starts with an empty cache") {
    const EmptyCache cache({64 * mebi, 0});
    Random random(test_seed("plan cache fork"), 0);
    const Case one = random_case(random);
    CHECK(is_as_expected(one));
    REQUIRE(plan_cache_info().plans == 1);
    const pid_t child = fork();
    if (child == 0) {
        const PlanCacheInfo info = plan_cache_info();
        const bool empty = info.plans == 0 && info.host_bytes == 0 && info.hits == 0;
        const bool limited = info.limits == PlanCacheLimits{64 * mebi, 0};
        const bool works = is_as_expected(one) && plan_cache_info().plans == 1;
        _exit(empty && limited && works ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(plan_cache_info().plans == 1);
}
