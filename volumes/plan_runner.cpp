// SPDX-License-Identifier: Apache-2.0
#include "volumes/plan_runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "core/report.hpp"
#include "core/stop_scope.hpp"
#include "decompose/split.hpp"
#include "volumes/shared_planes.hpp"

namespace convolume {

namespace {

// Least number of bytes of the split volume that are split at a time while GPUs convolve.
constexpr index_t least_split_bytes = index_t{4} << 20;

int host_threads(const EngineList& engines) {
    int threads = 0;
    for (const auto& engine : engines) threads += engine->info().threads;
    return threads;
}

}  // namespace

// Number of steps that a split has done, for engines that read planes before the split is complete.
class PlanRunner::SplitProgress {
  public:
    explicit SplitProgress(index_t steps) : steps_(steps) {}

    index_t steps() const { return steps_; }
    bool is_complete() {
        const std::lock_guard lock(mutex_);
        return done_ >= steps_;
    }
    /// Sets the number of steps that are done, and wakes threads in await().
    void set_done(index_t done) {
        {
            const std::lock_guard lock(mutex_);
            done_ = done;
        }
        advanced_.notify_all();
    }
    /// Waits until planes [0, planes) of every part are split. Rethrows an exception of the split.
    void await(index_t planes) {
        std::unique_lock lock(mutex_);
        // If the data are real, part 0 has twice the planes, and a step splits two of them.
        const index_t needed = std::min(planes, steps_);
        advanced_.wait(lock, [&] { return error_ || done_ >= needed; });
        if (error_) std::rethrow_exception(error_);
    }
    /// Calls `split`. An exception of it is kept for await().
    template <class Split>
    void run(const Split& split) {
        try {
            split();
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

PlanRunner::PlanRunner(TaskPlan plan, EngineList engines, std::shared_ptr<const Volume> taps,
                       std::string scratch_directory)
    : plan_(std::move(plan)),
      engines_(std::move(engines)),
      taps_(std::move(taps)),
      scratch_directory_(std::move(scratch_directory)),
      threads_(host_threads(engines_)),
      kernel_parts_(plan_.chosen.parts > 1
                        ? std::make_unique<KernelParts>(plan_, taps_, threads_, scratch_directory_)
                        : nullptr),
      kept_kernels_(std::make_unique<KeptKernels[]>(engines_.size())),
      scratch_(std::make_shared<BufferPool>(plan_.chosen.on_gpu ? HostMemory::page_locked
                                                                : HostMemory::ordinary)) {
    for (std::size_t i = 0; i < engines_.size(); ++i)
        kept_kernels_[i].of_part.resize(static_cast<std::size_t>(plan_.chosen.parts));
}

std::shared_ptr<const PlanRunner> PlanRunner::with_taps(std::shared_ptr<const Volume> taps) const {
    auto made = std::make_shared<PlanRunner>(plan_, engines_, std::move(taps), scratch_directory_);
    made->scratch_ = scratch_;
    made->gpu_mutex_ = gpu_mutex_;
    return made;
}

std::shared_ptr<const EngineKernel> PlanRunner::kernel(std::size_t engine, const Task& task,
                                                       const ExecutionContext& context) const {
    const bool keep = plan_.chosen.keeps_kernels;
    const auto prepare = [&] {
        const KernelParts::PartTaps taps = kernel_parts_
                                               ? kernel_parts_->part(task.part.index, context)
                                               : KernelParts::PartTaps{taps_->view(), taps_};
        const PhaseTimer timer(context.timeline, Phase::prepare, engines_[engine]->info().index,
                               task.part.index);
        return engines_[engine]->prepare(plan_.block_of(task), taps.view, !keep);
    };
    if (!keep) return prepare();
    KeptKernels& kept = kept_kernels_[engine];
    const std::lock_guard lock(kept.mutex);
    auto& kernel = kept.of_part[static_cast<std::size_t>(task.part.index)];
    if (!kernel) kernel = prepare();
    return kernel;
}

bool PlanRunner::has_all_kernels() const {
    if (!plan_.chosen.keeps_kernels) return false;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        const std::lock_guard lock(kept_kernels_[i].mutex);
        for (const auto& kernel : kept_kernels_[i].of_part)
            if (!kernel) return false;
    }
    return true;
}

std::jthread PlanRunner::split_kernel_meanwhile(const ExecutionContext& context) const {
    if (has_all_kernels()) return {};
    return std::jthread([this, context, scope = current_stop_scope()] {
        const AdoptedStopScope adopted(scope);
        try {
            kernel_parts_->split_once(context);
        } catch (...) {  // the first task that needs the parts meets the same error
        }
    });
}

void PlanRunner::release() const {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        const std::lock_guard lock(kept_kernels_[i].mutex);
        for (auto& kernel : kept_kernels_[i].of_part) kernel.reset();
        engines_[i]->release_workspaces();
    }
    if (kernel_parts_) kernel_parts_->release();
    scratch_->release();
}

ExecutionReport PlanRunner::execute(const ExecutionArguments& arguments,
                                    const ExecutionContext& context) const {
    throw_if_stopped(context);
    if (context.timeline)
        for (const auto& engine : engines_)
            context.timeline->name_engine(engine->info().index, engine->info().name);
    std::unique_lock<std::mutex> gpu_lock;
    if (plan_.chosen.on_gpu) gpu_lock = std::unique_lock(*gpu_mutex_);
    if (plan_.chosen.parts == 1) return run_tiles(arguments, context);
    const ExecutionReport report =
        arguments.stream ? run_streamed_parts(arguments, context) : run_parts(arguments, context);
    if (has_all_kernels()) kernel_parts_->release();  // engines need them no more
    return report;
}

namespace {

// A task that reads from a ring, until it ends.
class TaskInRing {
  public:
    TaskInRing(SharedPlanes* ring, index_t task) : ring_(ring), task_(task) {
        if (ring_) ring_->begin_task(task_);
    }
    ~TaskInRing() {
        if (ring_) ring_->end_task(task_);
    }
    TaskInRing(const TaskInRing&) = delete;
    TaskInRing& operator=(const TaskInRing&) = delete;

  private:
    SharedPlanes* ring_;
    index_t task_;
};

}  // namespace

std::vector<IndexRange> PlanRunner::planes_of_tasks() const {
    std::vector<IndexRange> planes;
    for (const Task& task : plan_.tasks) {
        IndexRange range{plan_.problem.image.z, 0};
        for (const index_t z :
             gather_indices(task.windows[0], plan_.problem.image.z, plan_.problem.boundary))
            if (z >= 0) range = {std::min(range.begin, z), std::max(range.end, z + 1)};
        if (range.end == 0) range = planes.empty() ? IndexRange{} : planes.back();
        planes.push_back(range);
    }
    return planes;
}

ExecutionReport PlanRunner::run_tiles(const ExecutionArguments& arguments,
                                      const ExecutionContext& context) const {
    StreamedImage* const stream = arguments.stream;
    const StackFormat image = stream ? stream->source->format() : StackFormat{};
    const auto tasks = static_cast<index_t>(plan_.tasks.size());
    const index_t all_tasks = checked_multiply(tasks, image.volumes());
    const bool buffers = stream && !engines_.front()->info().streams;
    const int running = workers(buffers ? BufferedTasks::in_flight : plan_.chosen.tasks_in_flight);
    std::optional<SharedPlanes> ring;
    if (stream && plan_.chosen.ring_planes > 0) {
        ring.emplace(*stream->source, planes_of_tasks(), running, threads_);
        // A source of more volumes than expected may need more planes than were planned.
        if (ring->planes() > plan_.chosen.ring_planes)
            ring.reset();
        else
            ring->allocate();
    }
    std::vector<BufferedTasks> buffered(buffers ? engines_.size() : 0);
    ReportSum report;
    TaskProgress progress(context, all_tasks, 0, 1);
    const auto run_task = [&](int worker, index_t number, const ExecutionContext& task_context) {
        const std::size_t engine = engine_index_of_worker(worker);
        const int task_number = static_cast<int>(number % tasks);
        const Task& task = plan_.tasks[static_cast<std::size_t>(task_number)];
        BlockInput input{arguments.input,
                         {},
                         arguments.subtract,
                         arguments.nonfinite_to_zero,
                         arguments.find_nonfinite};
        Box3 box;
        for (int a = 0; a < 3; ++a) {
            const AxisWindow& window = task.windows[static_cast<std::size_t>(a)];
            input.gather[static_cast<std::size_t>(a)] =
                gather_indices(window, plan_.problem.image[a], plan_.problem.boundary);
            box.begin[a] = window.out_begin - plan_.problem.output.begin[a];
            box.end[a] = window.out_end - plan_.problem.output.begin[a];
        }
        BlockOutput output{{}, arguments.add};
        const index_t volume = number / tasks;
        if (stream)
            connect(*stream, ring ? *ring : *stream->source,
                    {volume / image.channels, volume % image.channels, box, task_number},
                    context.timeline, input, output);
        else
            output.target = subview(arguments.output, box);

        const auto convolve = [&](const BlockInput& from, const BlockOutput& to) {
            return engines_[engine]->convolve(plan_.block_of(task), *kernel(engine, task, context),
                                              from, to, task_number, task_context);
        };
        const ExecutionReport done =
            buffers ? buffered[engine].run(input, output, engines_[engine]->info().threads,
                                           {context.timeline, task_number}, convolve)
                    : convolve(input, output);
        report.add(done);
        if (stream && done.nonfinite_inputs > 0 && !arguments.nonfinite_to_zero)
            throw NonfiniteInStream{};
    };
    run_on_workers(running, all_tasks, context, [&](int worker, index_t number) {
        const TaskInRing in_ring{ring ? &*ring : nullptr, number};
        progress.run(number, [&](const ExecutionContext& task_context) {
            run_task(worker, number, task_context);
        });
    });
    return report.report();
}

const Task& PlanRunner::part_task(index_t number) const {
    // Part 0 runs last: if the data are real, the split completes it after all other parts.
    const auto place = static_cast<std::size_t>(number + 1) % plan_.tasks.size();
    return plan_.tasks[place];
}

PartBoxes PlanRunner::part_boxes(index_t number) const {
    const Task& task = part_task(number);
    const auto& axes = plan_.block_of(task).axes;
    const Shape3& image = plan_.problem.image;
    return {task.part.index,
            {{0, 0, 0}, {axes[0].loaded, image.y, image.x}},
            {{0, 0, 0}, {axes[0].loaded, axes[1].kept, axes[2].kept}}};
}

ExecutionReport PlanRunner::convolve_part(std::size_t engine, index_t number,
                                          const ConnectPart& connect_part,
                                          const ExecutionContext& context) const {
    const ConvolutionProblem& problem = plan_.problem;
    const Task& task = part_task(number);
    const Block& block = plan_.block_of(task);
    BlockInput input;
    input.gather = {identity_indices(block.axes[0].loaded),
                    gather_indices(plan_.windows[1], problem.image.y, problem.boundary),
                    gather_indices(plan_.windows[2], problem.image.x, problem.boundary)};
    BlockOutput output;
    const auto prepared = kernel(engine, task, context);
    connect_part(input, output);
    return engines_[engine]->convolve(block, *prepared, input, output, task.part.index, context);
}

BufferPool::BorrowedBuffer PlanRunner::take_scratch(const ExecutionContext& context) const {
    const PhaseTimer timer(context.timeline, Phase::allocate, -1, -1, plan_.scratch_bytes);
    return scratch_->take(plan_.scratch_bytes, threads_, "the split volume");
}

// The split works along z only: engines continue rows and columns of the image by the boundary.
index_t PlanRunner::split_image(const ExecutionArguments& arguments, void* split_volume,
                                SplitProgress& split_progress,
                                const ExecutionContext& context) const {
    const ConvolutionProblem& problem = plan_.problem;
    const decompose::SplitLayout layout = split_layout(plan_);
    const PhaseTimer timer(context.timeline, Phase::decompose, -1, -1, plan_.scratch_bytes);
    const BlockInput input{arguments.input,
                           {gather_indices(plan_.windows[0], problem.image.z, problem.boundary),
                            identity_indices(problem.image.y), identity_indices(problem.image.x)},
                           arguments.subtract,
                           arguments.nonfinite_to_zero};
    const index_t stride =
        plan_.chosen.on_gpu
            ? std::max(ceil_div(split_progress.steps(), 16),
                       ceil_div(least_split_bytes,
                                ceil_div(plan_.scratch_bytes, split_progress.steps())))
            : split_progress.steps();
    index_t replaced = 0;
    for (index_t begin = 0; begin < split_progress.steps(); begin += stride) {
        const decompose::StepRange steps{begin, begin + stride};
        replaced += visit_reals(problem.precision, split_volume, [&](auto* reals) {
            return decompose::split(input, layout, reals, threads_, context, {steps});
        });
        split_progress.set_done(begin + stride);
    }
    return replaced;
}

ExecutionReport PlanRunner::run_parts(const ExecutionArguments& arguments,
                                      const ExecutionContext& context) const {
    const decompose::SplitLayout layout = split_layout(plan_);
    const std::jthread kernel_splitter = split_kernel_meanwhile(context);
    const BufferPool::BorrowedBuffer scratch = take_scratch(context);
    const PartStore store(layout, plan_.problem.precision, scratch.data());
    ReportSum report;

    // GPUs begin while the image is still being split.
    SplitProgress split_progress(decompose::split_steps(layout));
    const auto split = [&] {
        report.add_nonfinite(split_image(arguments, scratch.data(), split_progress, context));
    };
    std::jthread splitter;
    if (plan_.chosen.on_gpu)
        splitter = std::jthread([&, scope = current_stop_scope()] {
            const AdoptedStopScope adopted(scope);
            split_progress.run(split);
        });
    else
        split();
    if (context.progress) context.progress(0.1);

    const auto tasks = static_cast<index_t>(plan_.tasks.size());
    TaskProgress progress(context, tasks, 0.1, 0.9);
    run_on_workers(workers(), tasks, context, [&](int worker, index_t number) {
        const auto connect_part = [&](BlockInput& input, BlockOutput& output) {
            store.connection(part_boxes(number))(input, output);
            input.find_nonfinite = arguments.find_nonfinite;
            if (!split_progress.is_complete())
                input.await_planes = [&split_progress](index_t planes) {
                    split_progress.await(planes);
                };
        };
        progress.run(number, [&](const ExecutionContext& task_context) {
            report.add_nonfinite(
                convolve_part(engine_index_of_worker(worker), number, connect_part, task_context)
                    .nonfinite_inputs);
        });
    });
    if (splitter.joinable()) splitter.join();

    const PhaseTimer timer(context.timeline, Phase::compose, -1, -1, plan_.scratch_bytes);
    const BlockOutput output{arguments.output, arguments.add};
    report.add(visit_reals(plan_.problem.precision, scratch.data(), [&](const auto* reals) {
        return decompose::merge(reals, layout, plan_.windows[0].kept_begin(), output, threads_,
                                context);
    }));
    if (context.progress) context.progress(1);
    return report.report();
}

ExecutionReport PlanRunner::run_streamed_parts(const ExecutionArguments& arguments,
                                               const ExecutionContext& context) const {
    const decompose::SplitLayout layout = split_layout(plan_);
    const Precision precision = plan_.problem.precision;
    const bool on_disk = plan_.chosen.image_in_files;
    const std::jthread kernel_splitter = split_kernel_meanwhile(context);
    std::unique_ptr<const BufferPool::BorrowedBuffer> memory;
    std::optional<PartStore> store;
    if (on_disk) {
        const PhaseTimer timer(context.timeline, Phase::allocate, -1, -1, plan_.scratch_bytes);
        store.emplace(layout, precision, scratch_directory_);
    } else {
        memory.reset(new BufferPool::BorrowedBuffer(take_scratch(context)));
        store.emplace(layout, precision, memory->data());
    }
    const Bands bands = image_bands(plan_.problem, layout);
    BandSplitter splitter(layout, precision, *store, threads_);
    const StackFormat format = arguments.stream->source->format();
    const auto tasks = static_cast<index_t>(plan_.tasks.size());
    const index_t steps = 2 * bands.count() + tasks;
    TaskProgress progress(context, checked_multiply(steps, format.volumes()), 0, 1);
    ReportSum report;
    // For engines that convolve in memory, parts are loaded from files one by one.
    const bool loads = on_disk && !engines_.front()->info().streams;
    std::vector<LoadedParts> loaded(loads ? engines_.size() : 0);

    for (index_t volume = 0; volume < format.volumes(); ++volume) {
        StreamedVolume streamed(arguments, volume / format.channels, volume % format.channels,
                                plan_, splitter);
        // Only complete bands count for the progress of the volume.
        const auto for_each_band = [&](index_t first_step, const auto& work) {
            run_on_workers(Bands::in_flight, bands.count(), context, [&](int, index_t i) {
                progress.run(volume * steps + first_step + i, [&](const ExecutionContext& inner) {
                    work(bands[i], without_progress(inner));
                });
            });
        };
        for_each_band(0, [&](const Band& band, const ExecutionContext& inner) {
            report.add_nonfinite(streamed.split(band, inner));
        });
        const int at_once = loads ? workers(LoadedParts::in_flight) : workers();
        run_on_workers(at_once, tasks, context, [&](int worker, index_t number) {
            const index_t step = volume * steps + bands.count() + number;
            progress.run(step, [&](const ExecutionContext& inner) {
                const std::size_t engine = engine_index_of_worker(worker);
                const PartBoxes boxes = part_boxes(number);
                const auto convolve = [&](const ConnectPart& connect_part) {
                    return convolve_part(engine, number, connect_part, inner);
                };
                report.add(loads ? loaded[engine].run(*store, boxes, convolve)
                                 : convolve(store->connection(boxes)));
            });
        });
        for_each_band(bands.count() + tasks, [&](const Band& band, const ExecutionContext& inner) {
            report.add(streamed.merge(band, inner));
        });
    }
    return report.report();
}

}  // namespace convolume
