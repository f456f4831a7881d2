// SPDX-License-Identifier: Apache-2.0
// Checks that predictions follow the rates of the machine that they are made for.

#include <cmath>

#include "core/machine_rates.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "tests/catch.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/volumes/plan_checks.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

EngineList cpu_of(const MachineRates& rates) {
    return {make_cpu_engine({"cpu:0", 0, 2, 0, rates})};
}

Options with(Method method) {
    Options options;
    options.method = method;
    return options;
}

bool is_near(double value, double wanted, double tolerance) {
    return std::abs(value - wanted) <= tolerance * wanted;
}

// Returns the rates of a machine on which everything takes twice the time.
MachineRates half_as_fast() {
    MachineRates rates;
    for (double MachineRates::*seconds :
         {&MachineRates::row_fft_s, &MachineRates::column_fft_s, &MachineRates::strided_s,
          &MachineRates::row_s, &MachineRates::planning_s, &MachineRates::passes_s,
          &MachineRates::multiply_add_s, &MachineRates::complex_multiply_add_s,
          &MachineRates::kernel_row_s, &MachineRates::file_run_s, &MachineRates::process_s,
          &MachineRates::file_sync_s, &MachineRates::kernel_tap_s, &MachineRates::task_s,
          &MachineRates::buffered_task_s})
        rates.*seconds *= 2;
    for (double MachineRates::*rate :
         {&MachineRates::memory_bytes_per_s, &MachineRates::first_touch_bytes_per_s,
          &MachineRates::split_bytes_per_s, &MachineRates::file_read_bytes_per_s,
          &MachineRates::file_write_bytes_per_s, &MachineRates::file_sync_bytes_per_s})
        rates.*rate /= 2;
    return rates;
}

ConvolutionProblem streamed_problem() {
    ConvolutionProblem problem = same_problem({64, 256, 256}, {9, 15, 15}, BoundaryKind::zero);
    problem.streamed = true;
    problem.executions = 1;
    return problem;
}

// A GPU that computes in a twentieth of the CPU's time, but needs a second to start.
class Accelerator : public ReferenceEngine {
  public:
    explicit Accelerator(const MachineRates& rates)
        : ReferenceEngine({"gpu:0", true, 0}), cpu_(make_cpu_engine({"cpu:0", 0, 2, 0, rates})) {}

    BlockCost estimate(const Block& block) const override {
        BlockCost cost = cpu_->estimate(block);
        const double saved_s = 0.95 * cost.compute_s;
        cost.compute_s -= saved_s;
        cost.seconds -= saved_s;
        cost.first_use_s += 1;
        return cost;
    }

  private:
    std::shared_ptr<Engine> cpu_;
};

}  // namespace

TEST_CASE("if files are slower than all engines, the engine that works least is chosen") {
    const ConvolutionProblem problem = streamed_problem();
    MachineRates rates;
    const auto takes_gpu = [&] {
        const EngineList engines{std::make_shared<Accelerator>(rates),
                                 make_cpu_engine({"cpu:0", 1, 2, 0, rates})};
        return make_plan(problem, with(Method::in_core), engines).chosen.on_gpu;
    };
    CHECK_FALSE(takes_gpu());
    rates.file_write_bytes_per_s = rates.file_sync_bytes_per_s = 1e6;
    CHECK(takes_gpu());
}

TEST_CASE("streamed images of one task each are in flight together on a GPU") {
    ConvolutionProblem problem = streamed_problem();
    const EngineList gpu{std::make_shared<ReferenceEngine>(
        ReferenceEngineOptions{.name = "gpu:0", .is_gpu = true, .tasks_in_flight = 3})};
    const auto in_flight = [&] {
        return make_plan(problem, with(Method::in_core), gpu).chosen.tasks_in_flight;
    };
    CHECK(in_flight() == 1);
    problem.executions = 2;
    CHECK(in_flight() == 2);
    problem.executions = 12;
    CHECK(in_flight() == 3);
    problem.streamed = false;  // images in memory are convolved one by one
    CHECK(in_flight() == 1);
}

TEST_CASE("on a machine half as fast, everything is predicted to take twice as long") {
    for (const bool streamed : {false, true})
        for (const Method method :
             {Method::in_core, Method::dif, Method::tiled, Method::direct, Method::automatic}) {
            ConvolutionProblem problem = streamed_problem();
            problem.streamed = streamed;
            const PlanCandidate fast = make_plan(problem, with(method), cpu_of({})).chosen;
            const PlanCandidate slow =
                make_plan(problem, with(method), cpu_of(half_as_fast())).chosen;
            INFO(to_string(method));
            CHECK(is_near(slow.seconds, 2 * fast.seconds, 0.01));
            CHECK(slow.method == fast.method);
            CHECK(slow.tiles == fast.tiles);
        }
}

TEST_CASE("the method that is fast on a machine is chosen on it") {
    const ConvolutionProblem problem = streamed_problem();
    MachineRates rates;
    rates.multiply_add_s /= 100;
    rates.kernel_row_s /= 100;
    CHECK(make_plan(problem, {}, cpu_of(rates)).chosen.method == Method::direct);
    rates = {};
    rates.multiply_add_s *= 100;
    CHECK(make_plan(problem, {}, cpu_of(rates)).chosen.method != Method::direct);
}

TEST_CASE("files have the machine's rates unless the problem gives its own") {
    ConvolutionProblem problem = streamed_problem();
    MachineRates rates;
    rates.file_write_bytes_per_s /= 50;
    const auto write_s = [&] {
        return make_plan(problem, with(Method::in_core), cpu_of(rates)).chosen.stages.write.seconds;
    };
    const double slow_s = write_s();
    const double bytes = 64.0 * 256 * 256 * 4;
    CHECK(slow_s > bytes / rates.file_write_bytes_per_s);
    problem.sink_bytes_per_s = 50 * rates.file_write_bytes_per_s;
    CHECK(write_s() < slow_s / 40);
}

TEST_CASE("the time that engines took to start is part of every prediction") {
    ConvolutionProblem problem = streamed_problem();
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct}) {
        problem.start_s = 0;
        const TaskPlan before = make_plan(problem, with(method), cpu_of({}));
        problem.start_s = 0.5;
        const TaskPlan after = make_plan(problem, with(method), cpu_of({}));
        CHECK(is_near(after.chosen.seconds, before.chosen.seconds + 0.5, 1e-9));
        CHECK(is_near(after.chosen.stages.start.seconds, before.chosen.stages.start.seconds + 0.5,
                      1e-9));
        CHECK(after.chosen.tiles == before.chosen.tiles);
    }
    // With an unlimited number of executions, the plan does not count the time to start.
    problem.executions = 0;
    CHECK(make_plan(problem, {}, cpu_of({})).chosen.stages.start.seconds == 0);
}
