// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan: tasks to engines, and around them split and merge when there are parts.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/buffer_pool.hpp"
#include "volumes/plan.hpp"
#include "volumes/split_volume.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

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
    ExecutionReport run_streamed_parts(const RunArguments& arguments,
                                       const ExecutionContext& context) const;
    /// The task of a plan in parts that is `number` in their order.
    const Task& part_task(index_t number) const;
    PartRows part_rows(index_t number) const;
    ExecutionReport convolve_part(std::size_t engine, index_t number,
                                  const ConnectPart& connect_part,
                                  const ExecutionContext& context) const;
    BufferPool::BorrowedBuffer take_scratch(const ExecutionContext& context) const;
    class SplitFront;
    /// Returns the number of samples that were read as 0 because they are not finite.
    index_t split_image(const RunArguments& arguments, void* split_volume, SplitFront& front,
                        const ExecutionContext& context) const;
    /// Number of threads that hand tasks to engines, with `in_flight` tasks on each.
    int workers(int in_flight) const { return static_cast<int>(engines_.size()) * in_flight; }
    int workers() const { return workers(plan_.chosen.tasks_in_flight); }
    std::size_t engine_of(int worker) const {
        return static_cast<std::size_t>(worker) % engines_.size();
    }
    std::shared_ptr<const EngineKernel> kernel(std::size_t engine, const Task& task,
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
