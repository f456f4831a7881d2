// SPDX-License-Identifier: Apache-2.0
// Plans beyond 2^31 voxels and bytes: no memory is allocated, no sum overflows, every loop ends.

#include <chrono>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/volumes/plan_checks.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr index_t gib = index_t{1} << 30, tib = gib << 10;

EngineList gpus(int count, index_t limit) {
    EngineList engines;
    for (int i = 0; i < count; ++i)
        engines.push_back(std::make_shared<ReferenceEngine>(
            ReferenceEngineOptions{"gpu:" + std::to_string(i), true, limit}));
    return engines;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a stack of 4096×8192×8192 with a kernel of 1001³ is planned for GPUs of 128 GiB") {
    const index_t before = memory_use().current_bytes;
    const auto start = std::chrono::steady_clock::now();
    const ConvolutionProblem problem = same_problem({4096, 8192, 8192}, {1001, 1001, 1001});
    const EngineList engines = gpus(4, 128 * gib);
    for (const Method method : {Method::automatic, Method::dif, Method::tiled}) {
        Options options;
        options.method = method;
        options.max_host_bytes = 16 * tib;
        const TaskPlan plan = make_plan(problem, options, engines);
        INFO(plan.summary().to_string());
        CHECK(broken_rule(plan, engines, 128 * gib) == "");
        CHECK(plan.chosen.host_bytes >= 2 * tib);
        CHECK(plan.chosen.seconds > 0);
        for (const PlanCandidate& candidate : plan.candidates) {
            CHECK(candidate.seconds >= 0);
            CHECK(candidate.host_bytes >= 0);
            CHECK(candidate.engine_bytes >= 0);
        }
        if (method == Method::dif) {
            CHECK(plan.chosen.parts == 16);
            CHECK(plan.scratch_bytes >= tib);
        }
    }
    Options in_core;
    in_core.method = Method::in_core;
    in_core.max_host_bytes = 16 * tib;
    CHECK_THROWS_AS(make_plan(problem, in_core, engines), OutOfMemory);
    CHECK(seconds_since(start) < 5);
    CHECK(memory_use().current_bytes == before);
}

TEST_CASE("single axes beyond 2^31 are planned") {
    const EngineList engines = gpus(2, 16 * gib);
    Options options;
    options.max_host_bytes = 1024 * tib;
    for (const Shape3& image :
         {Shape3{1, 1, 3 * gib}, Shape3{1, 3 * gib, 1}, Shape3{3 * gib, 1, 1}}) {
        Shape3 kernel{1, 1, 1};
        for (int a = 0; a < 3; ++a)
            if (image[a] > 1) kernel[a] = 1000003;
        for (const BoundaryKind boundary :
             {BoundaryKind::zero, BoundaryKind::reflect, BoundaryKind::wrap}) {
            const TaskPlan plan =
                make_plan(same_problem(image, kernel, boundary), options, engines);
            INFO(plan.summary().to_string());
            CHECK(broken_rule(plan, engines, 16 * gib) == "");
        }
    }
}

TEST_CASE("sizes beyond 64 bits are errors that say so") {
    const EngineList engines = gpus(1, 128 * gib);
    const index_t huge = index_t{1} << 40;
    CHECK_THROWS_AS(make_plan(same_problem({huge, huge, 1}, {3, 3, 3}), {}, engines), Error);
    CHECK_THROWS_AS(make_plan(same_problem({huge, 1 << 20, 1 << 10}, {3, 3, 3}), {}, engines),
                    Error);
    CHECK_THROWS_AS(make_plan(same_problem({index_t{1} << 61, 1, 1}, {3, 1, 1}), {}, engines),
                    Error);
}

TEST_CASE("many tiles are planned in little time") {
    const auto start = std::chrono::steady_clock::now();
    const ConvolutionProblem problem = same_problem({2048, 4096, 4096}, {31, 61, 61});
    const EngineList engines = gpus(8, gib / 8);
    Options options;
    options.method = Method::tiled;
    options.max_host_bytes = 16 * tib;
    const TaskPlan plan = make_plan(problem, options, engines);
    CHECK(broken_rule(plan, engines, gib / 8) == "");
    CHECK(plan.tasks.size() > 100);
    CHECK(seconds_since(start) < 5);
}
