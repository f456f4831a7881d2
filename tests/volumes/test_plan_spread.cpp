// SPDX-License-Identifier: Apache-2.0
// Plans that spread one image over several emulated GPUs: when they are chosen, and what they say.

#include <algorithm>

#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/array.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/volumes/plan_checks.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

/// Links between emulated GPUs.
struct Links {
    double bytes_per_s = 1e11;
    std::string why_none = {};  ///< why the GPUs do not reach each other; empty if they do
};

/// Several emulated GPUs that hold a block together.
class JoinedGpus : public ReferenceEngine {
  public:
    JoinedGpus(const EngineList& gpus, const Links& links)
        : ReferenceEngine({.name = "gpus", .is_gpu = true}),
          info_(gpus.front()->info()),
          links_(links) {
        for (const auto& gpu : gpus) info_.members.push_back(gpu->info().name);
        info_.tasks_in_flight = 1;
    }

    const EngineInfo& info() const override { return info_; }
    bool supports(Algorithm algorithm) const override { return algorithm == Algorithm::fft; }
    std::string why_unsuitable(const Block&) const override { return links_.why_none; }
    BlockCost estimate(const Block& block) const override {
        BlockCost cost = ReferenceEngine::estimate(block);
        const auto count = static_cast<index_t>(info_.members.size());
        const auto devices = static_cast<double>(count);
        cost.workspace_bytes = ceil_div(cost.workspace_bytes, count);
        cost.kernel_bytes = ceil_div(cost.kernel_bytes, count);
        cost.host_to_device_s /= devices;
        cost.device_to_host_s /= devices;
        cost.compute_s = cost.compute_s / devices +
                         static_cast<double>(cost.workspace_bytes) / links_.bytes_per_s;
        cost.seconds = cost.host_to_device_s + cost.compute_s + cost.device_to_host_s;
        return cost;
    }

  private:
    EngineInfo info_;
    Links links_;
};

class LinkedGpu : public ReferenceEngine {
  public:
    LinkedGpu(int number, index_t limit, const Links& links)
        : ReferenceEngine({"gpu:" + std::to_string(number), true, limit}), links_(links) {}
    std::shared_ptr<Engine> join(const EngineList& gpus) const override {
        return std::make_shared<JoinedGpus>(gpus, links_);
    }

  private:
    Links links_;
};

EngineList linked_gpus(int count, index_t limit, const Links& links = {}) {
    EngineList engines;
    for (int i = 0; i < count; ++i) engines.push_back(std::make_shared<LinkedGpu>(i, limit, links));
    return with_joined_gpus(engines);
}

Options in_core() {
    Options options;
    options.method = Method::in_core;
    return options;
}

// A kernel that is larger than a tile would be, so that tiles load each sample many times.
ConvolutionProblem wide_kernel() {
    return same_problem({256, 256, 256}, {201, 201, 201});
}
// Bytes of the spectra of wide_kernel() and of its taps, in the reference engine's model.
constexpr index_t wide_bytes = 4 * (index_t{384} * 384 * 384 + 201 * 201 * 201);

}  // namespace

TEST_CASE("an image that no GPU holds is spread over as many as hold it together") {
    for (const int count : {1, 2, 4, 8}) {
        INFO(count << " GPUs");
        for (const index_t limit : {wide_bytes / 2, wide_bytes / 4, wide_bytes / 8}) {
            const EngineList engines = linked_gpus(count, limit + mib);
            const auto make = [&] { return make_plan(wide_kernel(), in_core(), engines); };
            if (limit * count < wide_bytes - mib) {
                CHECK_THROWS_AS(make(), OutOfMemory);
                continue;
            }
            const TaskPlan plan = make();
            INFO(plan.summary().to_string());
            CHECK(broken_rule(plan, {engines.back()}, limit + mib) == "");
            CHECK(plan.chosen.gpus_per_block == count);
            CHECK(plan.chosen.method == Method::in_core);
            CHECK(plan.tasks.size() == 1);
            CHECK(plan.engine_indices == std::vector<int>{count});
            CHECK(plan.engines.size() == static_cast<std::size_t>(count));
            CHECK(plan.engines.back() == "gpu:" + std::to_string(count - 1));
            CHECK(plan.chosen.engine_bytes <= limit + mib);
            CHECK(contains(plan.summary().to_string(),
                           "whole on " + std::to_string(count) + " GPUs"));
            CHECK(contains(plan.summary().to_json(), "\"gpus_per_block\": "));
        }
    }
}

TEST_CASE("each GPU more makes a spread plan smaller and faster") {
    double before_s = make_plan(wide_kernel(), in_core(), linked_gpus(1, 0)).chosen.seconds;
    index_t before = make_plan(wide_kernel(), in_core(), linked_gpus(1, 0)).chosen.engine_bytes;
    for (const int count : {2, 4, 8}) {
        const PlanCandidate chosen =
            make_plan(wide_kernel(), in_core(), linked_gpus(count, 0)).chosen;
        CHECK(chosen.gpus_per_block == count);
        CHECK(chosen.seconds < before_s);
        CHECK(chosen.engine_bytes < before);
        before_s = chosen.seconds;
        before = chosen.engine_bytes;
        const PlanStages& stages = chosen.stages;
        CHECK(stages.to_gpu.seconds > 0);
        CHECK(stages.to_gpu.seconds + stages.convolve.seconds + stages.from_gpu.seconds ==
              Approx(chosen.seconds).epsilon(0.01));
    }
}

TEST_CASE("predicted times decide between a spread image, tiles and parts") {
    for (const int count : {2, 4, 8}) {
        INFO(count << " GPUs");
        const auto chosen = [&](const ConvolutionProblem& problem, double link_bytes_per_s) {
            const TaskPlan plan = make_plan(
                problem, {}, linked_gpus(count, wide_bytes / 2 + mib, {link_bytes_per_s}));
            double least_s = plan.chosen.seconds;
            for (const PlanCandidate& candidate : plan.candidates)
                if (candidate.rejected.empty()) least_s = std::min(least_s, candidate.seconds);
            INFO(plan.summary().to_string());
            CHECK(plan.chosen.seconds <= 1.1 * least_s);
            return plan.chosen;
        };
        CHECK(chosen(wide_kernel(), 1e11).gpus_per_block == count);
        CHECK(chosen(wide_kernel(), 1e6).gpus_per_block == 1);
        CHECK(chosen(same_problem({256, 256, 256}, {3, 3, 3}), 1e6).gpus_per_block == 1);
    }
}

TEST_CASE("a spread image that hardly takes longer than several tiles or parts is preferred") {
    const index_t limit = wide_bytes / 2 + mib;
    const Links none{1e11, "no link"};
    const PlanCandidate divided = make_plan(wide_kernel(), {}, linked_gpus(2, limit, none)).chosen;
    CHECK(divided.parts * element_count(divided.tiles) > 1);
    const auto spread = [&](double link_bytes_per_s) {
        return make_plan(wide_kernel(), in_core(), linked_gpus(2, limit, {link_bytes_per_s}))
            .chosen;
    };
    const double exchange_s = spread(1e9).seconds - spread(1e30).seconds;  // at 1e9 bytes/s
    const auto chosen_at = [&](double factor) {
        const double rate = 1e9 * exchange_s / (factor * divided.seconds - spread(1e30).seconds);
        REQUIRE(rate > 0);
        CHECK(spread(rate).seconds == Approx(factor * divided.seconds));
        return make_plan(wide_kernel(), {}, linked_gpus(2, limit, {rate})).chosen.gpus_per_block;
    };
    CHECK(chosen_at(1.05) == 2);
    CHECK(chosen_at(1.2) == 1);
}

TEST_CASE("GPUs that do not reach each other hold no image together, and the plan says why") {
    const Links none{1e11, "GPU 0 does not reach the memory of GPU 1"};
    const auto spread = [](const TaskPlan& plan) {
        std::vector<PlanCandidate> found;
        for (const PlanCandidate& candidate : plan.candidates)
            if (candidate.gpus_per_block > 1) found.push_back(candidate);
        return found;
    };
    const TaskPlan forced = make_plan(wide_kernel(), in_core(), linked_gpus(2, 0, none));
    CHECK(forced.chosen.gpus_per_block == 1);
    REQUIRE(spread(forced).size() == 1);
    CHECK(spread(forced)[0].rejected == none.why_none);
    CHECK(contains(forced.summary().to_string(), none.why_none));
    CHECK(spread(make_plan(wide_kernel(), {}, linked_gpus(2, 0, none))).empty());
    CHECK(spread(make_plan(wide_kernel(), in_core(), linked_gpus(1, 0))).empty());
    CHECK_THROWS_AS(make_plan(wide_kernel(), in_core(), linked_gpus(2, wide_bytes / 2, none)),
                    OutOfMemory);
}

TEST_CASE("the least limit that the error names is enough for GPUs that are joined") {
    const auto plan_within = [](index_t limit) {
        return make_plan(wide_kernel(), in_core(), linked_gpus(4, limit));
    };
    const std::string refusal = message_of<OutOfMemory>([&] { plan_within(mib); });
    INFO(refusal);
    const auto at = refusal.find("allow each engine ");
    REQUIRE(at != std::string::npos);
    const index_t named = std::stoll(refusal.substr(at + 18));
    const bool in_kibi = contains(refusal, std::to_string(named) + " KiB");
    CHECK((in_kibi || contains(refusal, std::to_string(named) + " MiB")));
    const index_t limit = named << (in_kibi ? 10 : 20);
    CHECK(plan_within(limit).chosen.gpus_per_block == 4);
    CHECK(limit < wide_bytes / 3);
}

TEST_CASE("a spread plan runs as one task, as often as it is executed") {
    Random random(test_seed("spread plan"));
    const Array image = random.array({20, 24, 28}, false), kernel = random.array({5, 7, 3}, false);
    const Volume pixels = to_volume(image, PixelType::float32),
                 taps = to_volume(kernel, PixelType::float32);
    const auto run = [&](const EngineList& engines, int count) {
        const Convolver convolver =
            ConvolverFactory::make(image.shape, taps.view(), in_core(), engines);
        CHECK(convolver.plan().chosen.gpus_per_block == count);
        Volume result(image.shape, PixelType::float32);
        std::vector<Array> results;
        for (int execution = 0; execution < 2; ++execution) {
            poison(result.view());
            convolver.execute(pixels.view(), result.view());
            results.push_back(to_array(result.view()));
        }
        CHECK(results[0].values == results[1].values);
        return results[0].values;
    };
    const auto alone = run(linked_gpus(1, 0), 1);
    for (const int count : {2, 4, 8}) CHECK(run(linked_gpus(count, 0), count) == alone);
}
