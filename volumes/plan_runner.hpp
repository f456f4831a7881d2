// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan: hands tasks to engines and adds up their progress. With parts, splits the image
// before and merges the results afterwards.

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "convolume/execution.hpp"
#include "core/buffer_pool.hpp"
#include "core/engine.hpp"
#include "core/pair_axis.hpp"
#include "volumes/kernel_parts.hpp"
#include "volumes/plan.hpp"
#include "volumes/split_volume.hpp"
#include "volumes/stream_tasks.hpp"
#include "volumes/task_workers.hpp"

namespace convolume {

/// A plan with its engines and the kernels that they keep. Several threads may call execute().
class PlanRunner {
  public:
    /// `engines` are those of the plan. `taps` are contiguous, in the type of the data, and trimmed
    /// as the plan's windows say. Scratch files are in `scratch_directory`.
    PlanRunner(TaskPlan plan, EngineList engines, std::shared_ptr<const Volume> taps,
               std::string scratch_directory);

    /// Returns a runner of the same plan for another kernel of the same extents and type. It shares
    /// the memory of split volumes, and waits for GPUs that execute for this one.
    std::shared_ptr<const PlanRunner> with_taps(std::shared_ptr<const Volume> taps) const;

    const TaskPlan& plan() const { return plan_; }
    int threads() const { return threads_; }

    ExecutionReport execute(const ExecutionArguments& arguments,
                            const ExecutionContext& context) const;

    /// Frees what is kept between executions: kernels, split volumes and workspaces.
    void release() const;

  private:
    ExecutionReport run_tiles(const ExecutionArguments& arguments,
                              const ExecutionContext& context) const;
    ExecutionReport run_parts(const ExecutionArguments& arguments,
                              const ExecutionContext& context) const;
    ExecutionReport run_streamed_parts(const ExecutionArguments& arguments,
                                       const ExecutionContext& context) const;
    /// Returns the planes of the image that each task needs.
    std::vector<IndexRange> planes_of_tasks() const;
    /// Returns the task that is run as number `number` of a plan in parts.
    const Task& part_task(index_t number) const;
    PartBoxes part_boxes(index_t number) const;
    ExecutionReport convolve_part(std::size_t engine, index_t number,
                                  const ConnectPart& connect_part,
                                  const ExecutionContext& context) const;
    /// Returns whether every engine keeps the kernels of all parts.
    bool has_all_kernels() const;
    /// Splits the kernel in another thread, unless no engine needs it.
    std::jthread split_kernel_meanwhile(const ExecutionContext& context) const;
    BufferPool::BorrowedBuffer take_scratch(const ExecutionContext& context) const;
    class SplitProgress;
    /// Splits the image, and reports its steps to `split_progress`. Returns the number of NaN and
    /// infinities that were read as 0.
    index_t split_image(const ExecutionArguments& arguments, void* split_volume,
                        SplitProgress& split_progress, const ExecutionContext& context) const;
    /// Returns the number of threads that hand tasks to engines, with `in_flight` tasks on each.
    int workers(int in_flight) const { return static_cast<int>(engines_.size()) * in_flight; }
    int workers() const { return workers(plan_.chosen.tasks_in_flight); }
    /// Returns the index of the engine that `worker` hands its tasks to.
    std::size_t engine_index_of_worker(int worker) const {
        return static_cast<std::size_t>(worker) % engines_.size();
    }
    std::shared_ptr<const EngineKernel> kernel(std::size_t engine, const Task& task,
                                               const ExecutionContext& context) const;

    struct KeptKernels {
        std::mutex mutex;
        std::vector<std::shared_ptr<const EngineKernel>> of_part;  ///< element p: kernel of part p
    };

    TaskPlan plan_;
    EngineList engines_;
    std::shared_ptr<const Volume> taps_;
    std::string scratch_directory_;
    int threads_;
    std::unique_ptr<KernelParts> kernel_parts_;    ///< null without parts
    std::unique_ptr<KeptKernels[]> kept_kernels_;  ///< element e: kernels of engine e
    std::shared_ptr<BufferPool> scratch_;          ///< memory of split volumes
    /// Held while GPUs execute: a plan may take all memory of a GPU.
    std::shared_ptr<std::mutex> gpu_mutex_ = std::make_shared<std::mutex>();
};

}  // namespace convolume
