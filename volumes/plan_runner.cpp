// SPDX-License-Identifier: Apache-2.0
#include "volumes/plan_runner.hpp"

#include <condition_variable>
#include <exception>
#include <thread>

#include "core/stop_scope.hpp"
#include "decompose/split.hpp"
#include "volumes/report_sum.hpp"
#include "volumes/scheduler.hpp"
#include "volumes/task_progress.hpp"

namespace convolume {

namespace {

// Devices begin when so much of the split volume is there: less is not worth sharing by threads.
constexpr index_t least_split_bytes = index_t{4} << 20;

// The host's threads of all engines together.
int host_threads(const EngineList& engines) {
    int threads = 0;
    for (const auto& engine : engines) threads += engine->info().threads;
    return threads;
}

// How far a split has come, for those who read what it makes meanwhile.
class SplitFront {
  public:
    explicit SplitFront(index_t steps) : steps_(steps) {}

    index_t steps() const { return steps_; }
    bool is_complete() {
        const std::lock_guard lock(mutex_);
        return done_ >= steps_;
    }
    void advance(index_t done) {
        {
            const std::lock_guard lock(mutex_);
            done_ = done;
        }
        advanced_.notify_all();
    }
    /// Returns when planes [0, planes) of any part are there; throws what stopped the split.
    void await(index_t planes) {
        std::unique_lock lock(mutex_);
        // Further planes of real data's part 0 are made in the same steps once more.
        const index_t needed = std::min(planes, steps_);
        advanced_.wait(lock, [&] { return error_ || done_ >= needed; });
        if (error_) std::rethrow_exception(error_);
    }
    template <class Work>
    void guard(const Work& work) {
        try {
            work();
        } catch (...) {
            {
                const std::lock_guard lock(mutex_);
                error_ = std::current_exception();
            }
            advanced_.notify_all();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable advanced_;
    index_t steps_;
    index_t done_ = 0;
    std::exception_ptr error_;
};

}  // namespace

PlanRunner::PlanRunner(TaskPlan plan, EngineList engines, std::shared_ptr<const Volume> taps)
    : plan_(std::move(plan)),
      engines_(std::move(engines)),
      taps_(std::move(taps)),
      threads_(host_threads(engines_)),
      kept_(std::make_unique<KeptKernels[]>(engines_.size())),
      scratch_(std::make_unique<BufferPool>(plan_.chosen.on_gpu ? HostMemory::page_locked
                                                                : HostMemory::ordinary)) {
    for (std::size_t i = 0; i < engines_.size(); ++i)
        kept_[i].of_part.resize(static_cast<std::size_t>(plan_.chosen.parts));
}

std::shared_ptr<const EngineKernel> PlanRunner::kernel(int engine, const Task& task,
                                                       const ExecutionContext& context) const {
    const Block& block = plan_.blocks[static_cast<std::size_t>(task.block)];
    const auto prepare = [&] {
        const PhaseTimer timer(context.timeline, Phase::prepare,
                               engines_[static_cast<std::size_t>(engine)]->info().index,
                               task.part.index);
        return engines_[static_cast<std::size_t>(engine)]->prepare(block, task.part, taps_->view(),
                                                                   !plan_.keep_kernels);
    };
    if (!plan_.keep_kernels) return prepare();
    KeptKernels& kept = kept_[static_cast<std::size_t>(engine)];
    const std::lock_guard lock(kept.mutex);
    auto& known = kept.of_part[static_cast<std::size_t>(task.part.index)];
    if (!known) known = prepare();
    return known;
}

void PlanRunner::release() const {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        const std::lock_guard lock(kept_[i].mutex);
        for (auto& kernel : kept_[i].of_part) kernel.reset();
        engines_[i]->release_workspaces();
    }
    scratch_->release();
}

ExecutionReport PlanRunner::execute(const RunArguments& arguments,
                                    const ExecutionContext& context) const {
    throw_if_stopped(context);
    if (context.timeline)
        for (const auto& engine : engines_)
            context.timeline->name_engine(engine->info().index, engine->info().name);
    std::unique_lock<std::mutex> gpu_lock;
    if (plan_.chosen.on_gpu) gpu_lock = std::unique_lock(*gpu_mutex_);
    if (plan_.chosen.parts == 1) return run_tiles(arguments, context);
    return arguments.stream ? run_streamed_parts(arguments, context)
                            : run_parts(arguments, context);
}

ExecutionReport PlanRunner::run_tiles(const RunArguments& arguments,
                                      const ExecutionContext& context) const {
    Stream* const stream = arguments.stream;
    const StackFormat image = stream ? stream->source->format() : StackFormat{};
    const auto tasks = static_cast<index_t>(plan_.tasks.size());
    const index_t all_tasks = checked_multiply(tasks, image.volumes());
    const int engines = static_cast<int>(engines_.size());
    const bool holds = stream && !engines_.front()->info().streams;
    std::vector<HeldTasks> held(holds ? engines_.size() : 0);
    ReportSum report;
    Progress progress(context, all_tasks, 0, 1);
    const auto run = [&](int worker, index_t number) {
        const auto engine = static_cast<std::size_t>(worker % engines);
        const int task_number = static_cast<int>(number % tasks);
        const Task& task = plan_.tasks[static_cast<std::size_t>(task_number)];
        BlockInput input{arguments.input,
                         {},
                         arguments.subtract,
                         arguments.nonfinite_to_zero,
                         arguments.find_nonfinite,
                         {},
                         {}};
        Box3 box;
        for (int a = 0; a < 3; ++a) {
            const AxisWindow& window = task.windows[static_cast<std::size_t>(a)];
            input.gather[static_cast<std::size_t>(a)] =
                gather_indices(window, plan_.problem.image[a], plan_.problem.boundary);
            box.begin[a] = window.out_begin - plan_.problem.output.begin[a];
            box.end[a] = window.out_end - plan_.problem.output.begin[a];
        }
        BlockOutput output{{}, arguments.add, {}};
        if (stream)
            connect(*stream, number / tasks / image.channels, number / tasks % image.channels, box,
                    task_number, context.timeline, input, output);
        else
            output.target = subview(arguments.output, box);

        const ExecutionContext task_context = progress.of_task(number);
        const auto convolve = [&](const BlockInput& from, const BlockOutput& to) {
            return engines_[engine]->convolve(plan_.blocks[static_cast<std::size_t>(task.block)],
                                              *kernel(static_cast<int>(engine), task, context),
                                              from, to, task_number, task_context);
        };
        const ExecutionReport done =
            holds ? held[engine].run(input, output, engines_[engine]->info().threads,
                                     {context.timeline, task_number}, convolve)
                  : convolve(input, output);
        report.add(done);
        if (stream && done.nonfinite_inputs > 0 && !arguments.nonfinite_to_zero)
            throw FoundNonfinite{};
        if (task_context.progress) task_context.progress(1);
    };
    run_on_engines(holds ? engines * HeldTasks::in_flight : workers(), all_tasks, context, run);
    return report.sum();
}

const Task& PlanRunner::part_task(index_t number) const {
    // Real data's part 0 is complete last.
    const auto place = static_cast<std::size_t>(number + 1) % plan_.tasks.size();
    return plan_.tasks[place];
}

PartRows PlanRunner::part_rows(index_t number) const {
    const Task& task = part_task(number);
    const auto& axes = plan_.blocks[static_cast<std::size_t>(task.block)].axes;
    const Shape3& image = plan_.problem.image;
    return {task.part.index,
            {{0, 0, 0}, {axes[0].loaded, image.y, image.x}},
            {{0, 0, 0}, {axes[0].loaded, axes[1].kept, axes[2].kept}}};
}

ExecutionReport PlanRunner::convolve_part(int engine, index_t number, const ConnectPart& connect,
                                          const ExecutionContext& context) const {
    const Problem& problem = plan_.problem;
    const Task& task = part_task(number);
    const Block& block = plan_.blocks[static_cast<std::size_t>(task.block)];
    BlockInput input;
    input.gather = {identity_indices(block.axes[0].loaded),
                    gather_indices(plan_.windows[1], problem.image.y, problem.boundary),
                    gather_indices(plan_.windows[2], problem.image.x, problem.boundary)};
    BlockOutput output;
    const auto prepared = kernel(engine, task, context);
    connect(input, output);
    return engines_[static_cast<std::size_t>(engine)]->convolve(block, *prepared, input, output,
                                                                task.part.index, context);
}

ExecutionReport PlanRunner::run_parts(const RunArguments& arguments,
                                      const ExecutionContext& context) const {
    const Problem& problem = plan_.problem;
    const bool single = problem.precision == Precision::float32;
    const decompose::SplitLayout layout{problem.complex_data, plan_.chosen.parts, plan_.scratch.z,
                                        plan_.scratch.y, plan_.scratch.x};
    const BufferPool::Lease scratch = [&] {
        const PhaseTimer timer(context.timeline, Phase::allocate, -1, -1, plan_.scratch_bytes);
        return scratch_->take(plan_.scratch_bytes, threads_, "the split volume");
    }();

    const PartStore store(layout, problem.precision, scratch.data());
    ExecutionReport found;
    ReportSum tasks_report;

    // The split works along z only: rows and columns are continued by the engines, from the image's
    // own. Devices begin with the planes that are there.
    SplitFront front(decompose::split_steps(layout));
    const auto split = [&] {
        const PhaseTimer timer(context.timeline, Phase::decompose, -1, -1, plan_.scratch_bytes);
        const BlockInput input{
            arguments.input,
            {gather_indices(plan_.windows[0], problem.image.z, problem.boundary),
             identity_indices(problem.image.y), identity_indices(problem.image.x)},
            arguments.subtract,
            arguments.nonfinite_to_zero,
            false,
            {},
            {}};
        const index_t stride =
            plan_.chosen.on_gpu ? std::max(ceil_div(front.steps(), 16),
                                           ceil_div(least_split_bytes,
                                                    ceil_div(plan_.scratch_bytes, front.steps())))
                                : front.steps();
        for (index_t begin = 0; begin < front.steps(); begin += stride) {
            const decompose::StepRange steps{begin, begin + stride};
            found.nonfinite_inputs +=
                single ? decompose::split(input, layout, static_cast<float*>(scratch.data()),
                                          threads_, context, steps)
                       : decompose::split(input, layout, static_cast<double*>(scratch.data()),
                                          threads_, context, steps);
            front.advance(begin + stride);
        }
    };
    std::jthread splitter;
    if (plan_.chosen.on_gpu)
        splitter = std::jthread([&, scope = current_stop_scope()] {
            const AdoptedStopScope adopted(scope);
            front.guard(split);
        });
    else
        split();
    if (context.progress) context.progress(0.1);

    const auto tasks = static_cast<int>(plan_.tasks.size());
    Progress progress(context, tasks, 0.1, 0.9);
    run_on_engines(workers(), tasks, context, [&](int worker, index_t number) {
        const auto connect = [&](BlockInput& input, BlockOutput& output) {
            store.connection(part_rows(number))(input, output);
            input.find_nonfinite = arguments.find_nonfinite;
            if (!front.is_complete())
                input.await_planes = [&front](index_t planes) { front.await(planes); };
        };
        const ExecutionContext task_context = progress.of_task(number);
        tasks_report.add(convolve_part(worker % static_cast<int>(engines_.size()), number, connect,
                                       task_context));
        if (task_context.progress) task_context.progress(1);
    });
    if (splitter.joinable()) splitter.join();

    const PhaseTimer timer(context.timeline, Phase::compose, -1, -1, plan_.scratch_bytes);
    const BlockOutput output{arguments.output, arguments.add, {}};
    const index_t first_plane = plan_.windows[0].kept_begin();
    const ClampCount clamped =
        single ? decompose::merge(static_cast<const float*>(scratch.data()), layout, first_plane,
                                  output, threads_, context)
               : decompose::merge(static_cast<const double*>(scratch.data()), layout, first_plane,
                                  output, threads_, context);
    if (context.progress) context.progress(1);
    found.clamped_low = clamped.low;
    found.clamped_high = clamped.high;
    found.nonfinite_inputs += tasks_report.sum().nonfinite_inputs;
    return found;
}

}  // namespace convolume
