// SPDX-License-Identifier: Apache-2.0
// Tests plans of random problems: tasks, choices and explanations. No transform is run.

#include <nlohmann/json.hpp>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/volumes/plan_checks.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

ConvolutionProblem random_problem(Random& random) {
    ConvolutionProblem problem;
    problem.boundary =
        random.pick({BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect,
                     BoundaryKind::mirror, BoundaryKind::wrap});
    const Mode mode = random.pick({Mode::full, Mode::same, Mode::valid});
    for (int a = 0; a < 3; ++a) {
        problem.image[a] = random.chance(0.1) ? 1 : random.integer(1, 150);
        problem.kernel[a] = random.chance(0.1) ? 1 : random.integer(1, 60);
        if (mode == Mode::valid) problem.kernel[a] = std::min(problem.kernel[a], problem.image[a]);
        const OutputRange range = output_range(mode, problem.image[a], problem.kernel[a],
                                               random.integer(0, problem.kernel[a] - 1));
        problem.output.begin[a] = range.begin;
        problem.output.end[a] = range.end;
    }
    problem.complex_kernel = random.chance(0.3);
    problem.complex_data = problem.complex_kernel || random.chance(0.2);
    problem.rank1_kernel = !problem.complex_kernel && random.chance(0.2);
    problem.precision = random.pick({Precision::float32, Precision::float64});
    return problem;
}

std::string describe(const ConvolutionProblem& p, const Options& options) {
    return message("image ", to_string(p.image), " kernel ", to_string(p.kernel), " ",
                   to_string(p.boundary), " outputs from ", to_string(p.output.begin), " to ",
                   to_string(p.output.end), " method ", to_string(options.method), " parts ",
                   options.parts, p.complex_data ? " complex" : " real");
}

}  // namespace

TEST_CASE("tasks of random plans are disjoint and cover the output") {
    const std::uint64_t seed = test_seed("random plans");
    for (std::uint64_t n = 0; n < 1500; ++n) {
        Random random(seed, n);
        const ConvolutionProblem problem = random_problem(random);
        Options options;
        options.method = random.pick(
            {Method::automatic, Method::in_core, Method::dif, Method::tiled, Method::direct});
        if (options.method == Method::dif) options.parts = random.pick({0, 1, 2, 4, 8, 16});
        const index_t limit = random.pick<index_t>({0, mib / 4, mib, 8 * mib});
        EngineList engines;
        for (index_t e = random.integer(1, 3); e > 0; --e)
            engines.push_back(std::make_shared<ReferenceEngine>(
                ReferenceEngineOptions{"gpu", random.chance(0.5), limit}));
        INFO("case " << n << ": " << describe(problem, options) << ", limit " << limit);
        try {
            const TaskPlan plan = make_plan(problem, options, engines);
            const std::string broken = broken_rule(plan, engines, limit);
            INFO(plan.summary().to_string());
            CHECK(broken == "");
            // The plan chose engines of a single kind, and all engines of that kind.
            std::vector<int> of_kind;
            for (std::size_t e = 0; e < engines.size(); ++e)
                if (engines[e]->info().is_gpu == plan.chosen.on_gpu)
                    of_kind.push_back(static_cast<int>(e));
            CHECK(plan.engine_indices == of_kind);
            CHECK(plan.engines.size() == of_kind.size());
            if (options.method != Method::automatic) CHECK(plan.chosen.method == options.method);
            if (options.method == Method::dif && options.parts > 0)
                CHECK(plan.chosen.parts == options.parts);
        } catch (const OutOfMemory&) {
            // Only a forced method or a limit below one tile may fail.
            CHECK(limit > 0);
        }
    }
}

TEST_CASE("an automatic plan is the simplest of those that hardly differ from the fastest") {
    const std::uint64_t seed = test_seed("plan choice");
    for (std::uint64_t n = 0; n < 200; ++n) {
        Random random(seed, n);
        const EngineList engines{
            std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"cpu", false, 4 * mib})};
        const TaskPlan plan = make_plan(random_problem(random), {}, engines);
        INFO("case " << n << "\n" << plan.summary().to_string());
        CHECK(plan.candidates.size() >= 3);
        double least_s = plan.chosen.seconds;
        for (const PlanCandidate& candidate : plan.candidates)
            if (candidate.rejected.empty()) least_s = std::min(least_s, candidate.seconds);
        CHECK(plan.chosen.seconds <= 1.1 * least_s);
        const auto tasks = [](const PlanCandidate& candidate) {
            return candidate.parts * element_count(candidate.tiles);
        };
        for (const PlanCandidate& candidate : plan.candidates) {
            if (!candidate.rejected.empty() || candidate.seconds > 1.1 * least_s) continue;
            CHECK(tasks(plan.chosen) <= tasks(candidate));
            if (tasks(plan.chosen) == tasks(candidate))
                CHECK(plan.chosen.seconds <= candidate.seconds);
        }
    }
}

TEST_CASE("small limits divide the output into tiles along every axis") {
    const ConvolutionProblem problem = same_problem({96, 128, 160}, {5, 7, 9});
    const index_t all = 4 * 100 * 134 * 168;
    bool cut[3] = {};
    for (const index_t limit : {all / 2, all / 8, all / 64, all / 512}) {
        const EngineList engines{
            std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"gpu", true, limit})};
        Options options;
        options.method = Method::tiled;
        const TaskPlan plan = make_plan(problem, options, engines);
        INFO(plan.summary().to_string());
        CHECK(broken_rule(plan, engines, limit) == "");
        for (int a = 0; a < 3; ++a) cut[a] |= plan.chosen.tiles[a] > 1;
    }
    CHECK((cut[0] && cut[1] && cut[2]));
}

TEST_CASE("direct wins for tiny kernels, separable for rank 1, Fourier for large ones") {
    const EngineList engines{std::make_shared<ReferenceEngine>()};
    CHECK(make_plan(same_problem({64, 64, 64}, {1, 1, 3}), {}, engines).chosen.algorithm ==
          Algorithm::direct);
    ConvolutionProblem gaussian = same_problem({64, 64, 64}, {9, 9, 9});
    gaussian.rank1_kernel = true;
    CHECK(make_plan(gaussian, {}, engines).chosen.algorithm == Algorithm::separable);
    CHECK(make_plan(same_problem({64, 64, 64}, {31, 31, 31}), {}, engines).chosen.algorithm ==
          Algorithm::fft);
}

TEST_CASE("numbers of parts that are not supported are refused") {
    const EngineList engines{std::make_shared<ReferenceEngine>()};
    for (const int parts : {-1, 3, 5, 6, 32}) {
        Options options;
        options.method = Method::dif;
        options.parts = parts;
        const auto text = message_of<InvalidArgument>([&] {
            make_plan(same_problem({8, 8, 8}, {3, 3, 3}), options, engines);
        });
        INFO(text);
        CHECK(contains(text, std::to_string(parts)));
        CHECK(contains(text, "16"));
    }
    Options tiled;
    tiled.method = Method::tiled;
    tiled.parts = 4;
    CHECK_THROWS_AS(make_plan(same_problem({8, 8, 8}, {3, 3, 3}), tiled, engines), InvalidArgument);
    CHECK_THROWS_AS(make_plan(same_problem({8, 8, 8}, {3, 3, 3}), {}, {}), InvalidArgument);
}

TEST_CASE("plans are explained as text and as JSON") {
    const EngineList engines{
        std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"stand-in:0", true, 8 * mib}),
        std::make_shared<ReferenceEngine>(ReferenceEngineOptions{"stand-in:1", true, 8 * mib})};
    const TaskPlan plan = make_plan(same_problem({100, 200, 300}, {11, 21, 31}), {}, engines);
    const std::string text = plan.summary().to_string();
    INFO(text);
    CHECK(contains(text, "100×200×300"));
    CHECK(contains(text, "11×21×31"));
    CHECK(contains(text, to_string(plan.chosen.method)));
    CHECK(contains(text, "stand-in:1"));
    const auto json = nlohmann::json::parse(plan.summary().to_json());
    CHECK(json.is_object());
    CHECK(contains(json.dump(), "stand-in:0"));
    CHECK(contains(json.dump(), to_string(plan.chosen.method)));
}
