// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan: tasks to engines, and around them split and merge when there are parts.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/buffer_pool.hpp"
#include "volumes/part_store.hpp"
#include "volumes/plan.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

/// The data of one execution, and what comes with them.
struct RunArguments {
    ConstImageView input;
    ImageView output;
    Stream* stream = nullptr;  ///< in place of `input` and `output`: all its volumes
    double subtract = 0;
    std::complex<double> add = 0;
    bool nonfinite_to_zero = false;
    bool find_nonfinite = false;         ///< by GPU engines, and in streams
    std::string scratch_directory = {};  ///< of the file of a split volume
};

/// A stream holds NaN or infinities that are not to be read as 0: where is still to be found.
struct FoundNonfinite {};

/// A plan with its engines and the kernels they keep. execute() may run concurrently.
class PlanRunner {
  public:
    /// `engines`: those of the plan. `taps`: as in Engine::prepare, trimmed as the plan's windows
    /// say.
    PlanRunner(TaskPlan plan, EngineList engines, std::shared_ptr<const Volume> taps);

    const TaskPlan& plan() const { return plan_; }
    int threads() const { return threads_; }

    ExecutionReport execute(const RunArguments& arguments, const ExecutionContext& context) const;

    /// Gives back what is kept between executions: kernels, scratch, workspaces.
    void release() const;

  private:
    ExecutionReport run_tiles(const RunArguments& arguments, const ExecutionContext& context) const;
    ExecutionReport run_parts(const RunArguments& arguments, const ExecutionContext& context) const;
    /// The same of a stream (stream_parts.cpp).
    ExecutionReport run_streamed_parts(const RunArguments& arguments,
                                       const ExecutionContext& context) const;
    /// The task of a plan in parts that is `number` in their order.
    const Task& part_task(index_t number) const;
    PartRows part_rows(index_t number) const;
    ExecutionReport convolve_part(int engine, index_t number, const ConnectPart& connect,
                                  const ExecutionContext& context) const;
    /// Threads that hand tasks to engines: worker w to engine w modulo their number.
    int workers() const { return static_cast<int>(engines_.size()) * plan_.chosen.tasks_in_flight; }
    std::shared_ptr<const EngineKernel> kernel(int engine, const Task& task,
                                               const ExecutionContext& context) const;

    struct KeptKernels {
        std::mutex mutex;
        std::vector<std::shared_ptr<const EngineKernel>> of_part;
    };

    TaskPlan plan_;
    EngineList engines_;
    std::shared_ptr<const Volume> taps_;
    int threads_;
    std::unique_ptr<KeptKernels[]> kept_;  ///< one for each engine
    std::unique_ptr<BufferPool> scratch_;
    /// A plan may take all that a GPU has: executions on GPUs follow one another.
    std::unique_ptr<std::mutex> gpu_mutex_ = std::make_unique<std::mutex>();
};

}  // namespace convolume
