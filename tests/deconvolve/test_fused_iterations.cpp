// SPDX-License-Identifier: Apache-2.0
// Tests which iterations are fused into one walk if the executor offers it: iterations whose
// estimate is not read, and after which the loop cannot end.

#include <vector>

#include "deconvolve/loop.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::deconvolve;

namespace {

// Records how many iterations each call fused, and their starting points.
struct CountingExecutor : Executor {
    std::vector<int> groups;
    std::vector<StepStart> starts;

    HostMemory staging() const override { return HostMemory::ordinary; }
    int threads() const override { return 1; }
    void write_image(const float*, index_t, index_t) override {}
    void write_estimate(const float*, index_t, index_t) override {}
    void read_estimate(float*, index_t, index_t) const override {}
    void hold_out(const PhotonScale&, int) override {}
    void put_back() override {}
    void begin(const LoadedImage&, float) override {}
    StepResult iterate(const StepStart& start, const IterationProgress& progress) override {
        return iterate_fused({start}, progress).front();
    }
    int most_fused_iterations() const override { return 4; }
    std::vector<StepResult> iterate_fused(const std::vector<StepStart>& asked,
                                          const IterationProgress&) override {
        groups.push_back(static_cast<int>(asked.size()));
        std::vector<StepResult> all;
        for (const StepStart& start : asked) {
            starts.push_back(start);
            all.emplace_back().sums[pixel_sums].first = 1.0 / start.iteration;
        }
        return all;
    }
};

struct GroupedRun {
    CountingExecutor executor;
    std::vector<int> reported;
    IterationOutcome outcome;
};

/// Estimates from iteration `accepted_from` on are accepted, unless it is 0.
GroupedRun iterations(const DeconvolveOptions& options, int reads_every, float held_share = 0,
                      int accepted_from = 0) {
    DeconvolutionProblem problem;
    problem.options = options;
    problem.image = problem.object = {1, 1, 1};
    GroupedRun grouped;
    DeconvolveRun run;
    run.reads_every = reads_every;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        grouped.reported.push_back(iteration.number);
    };
    if (accepted_from > 0)
        run.accepts = [&](const Iteration& iteration) { return iteration.number >= accepted_from; };
    const ExecutionContext context;
    IterationProgress progress(context, run, *options.iterations);
    grouped.outcome =
        iterate(grouped.executor, problem, {}, held_share, progress, *options.iterations);
    return grouped;
}

DeconvolveOptions heavy_ball(int iterations) {
    DeconvolveOptions options;
    options.method = DeconvolveMethod::scaled_heavy_ball;
    options.iterations = iterations;
    return options;
}

using Groups = std::vector<int>;

}  // namespace

TEST_CASE("deconvolve: iterations are fused up to the next one whose estimate is read") {
    CHECK(iterations(heavy_ball(11), 0).executor.groups == Groups{4, 4, 3});
    CHECK(iterations(heavy_ball(3), 1).executor.groups == Groups{1, 1, 1});
    CHECK(iterations(heavy_ball(8), 3).executor.groups == Groups{3, 3, 2});
    CHECK(iterations(heavy_ball(13), 6).executor.groups == Groups{4, 2, 4, 2, 1});
    CHECK(iterations(heavy_ball(4), 0).reported == Groups{1, 2, 3, 4});
    CHECK(iterations(heavy_ball(4), 0).outcome.report.iterations == 4);
}

TEST_CASE("deconvolve: an estimate is accepted at the end of a group") {
    const GroupedRun accepted = iterations(heavy_ball(20), 6, 0, 7);
    CHECK(accepted.executor.groups == Groups{4, 2, 4, 2});
    CHECK(accepted.outcome.report.iterations == 12);
    CHECK(iterations(heavy_ball(9), 0, 0, 7).outcome.report.iterations == 9);
}

TEST_CASE("deconvolve: iterations that may be the last are not fused") {
    DeconvolveOptions options = heavy_ball(5);
    options.stop = 1e-9;
    CHECK(iterations(options, 0).executor.groups == Groups(5, 1));
    CHECK(iterations(heavy_ball(5), 0, 0.1F).executor.groups == Groups(5, 1));
}

TEST_CASE("deconvolve: fused iterations have the same starting points as single ones") {
    const GroupedRun together = iterations(heavy_ball(9), 0), alone = iterations(heavy_ball(9), 1);
    REQUIRE(together.executor.starts.size() == alone.executor.starts.size());
    for (std::size_t i = 0; i < alone.executor.starts.size(); ++i) {
        const StepStart &got = together.executor.starts[i], &want = alone.executor.starts[i];
        CHECK(got.iteration == static_cast<int>(i) + 1);
        CHECK(got.iteration == want.iteration);
        CHECK(got.extrapolation.factor == want.extrapolation.factor);
        CHECK(got.extrapolation.least_share == want.extrapolation.least_share);
        CHECK(got.restart == want.restart);
        CHECK(got.restart == (i == 0));
        CHECK(got.objective_limit == want.objective_limit);
    }
}
