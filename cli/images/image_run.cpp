// SPDX-License-Identifier: Apache-2.0
#include "cli/images/image_run.hpp"

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "cli/images/listed_files.hpp"
#include "cli/run/process_end.hpp"
#include "cli/run/progress.hpp"
#include "cli/run/report.hpp"
#include "cli/text/console.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// The queue of files, the progress and the console, which workers share. One worker at a time uses
/// a file; mutexes guard everything else.
class FileQueue {
  public:
    FileQueue(const ImageRequest& request, const ManyFilesRequest& many, FileList& list,
              const Console& console, std::stop_token stop)
        : request_(request),
          many_(many),
          list_(list),
          console_(console),
          stop_(std::move(stop)),
          whole_(list.voxels),
          meter_(console.out(),
                 request.run.dry_run ? ProgressMeter::LineStyle::none : progress_style(console),
                 list.voxels, steady_clock_s) {}

    const ImageRequest& request() const { return request_; }
    const ExpectedVolumes& expected() const { return list_.expected; }
    std::stop_token stop() const { return stop_; }
    bool resume() const { return many_.resume; }
    ProgressMeter& meter() { return meter_; }
    const Console& console() const { return console_; }

    /// Returns the next file; null if there is none or a stop was requested.
    ListedFile* next() {
        const std::lock_guard lock(mutex_);
        if (stop_.stop_requested() || next_ == list_.order.size()) return nullptr;
        return &list_.files[list_.order[next_++]];
    }

    /// Calls `print` while no other thread prints.
    template <class Print>
    void print(const Print& print) {
        const std::lock_guard lock(print_mutex_);
        meter_.clear();
        print();
    }

    /// Reports the plan of a file unless an earlier file has it. Then only warns of its input.
    void report_plan(const ListedFile& file, const ImageSteps& steps, const EngineChoice& engines);
    /// Reports a file that is done, skipped or planned.
    void report(const ListedFile& file);
    void title(const ListedFile& file) { meter_.title(message("file ", place_of(file))); }

    /// Adds computed voxels to the progress.
    void advance(double voxels) {
        double fraction = 0;
        {
            const std::lock_guard lock(mutex_);
            done_ += voxels;
            fraction = done_ / whole_;
        }
        meter_.update(fraction);
    }
    /// Takes a file out of the total of the progress, because it is skipped or has failed.
    void leave_out(const ListedFile& file) {
        const std::lock_guard lock(mutex_);
        whole_ -= file.voxels;
        meter_.amount(whole_);
    }

    void fail(ListedFile& file, const std::exception& error) {
        file.fail(error, many_.has_option);
        leave_out(file);
        if (file.status == FileStatus::failed)
            print([&] { console_.for_file(file.image).error(file.reason); });
    }
    /// Gives all files that are left in the queue the status of a failure.
    void fail_rest(const std::exception& error) {
        while (ListedFile* const file = next()) file->fail(error, many_.has_option);
    }

  private:
    /// Returns the number of a file, such as "3 of 20".
    std::string place_of(const ListedFile& file) const {
        return message(file.number, " of ", list_.files.size());
    }

    const ImageRequest& request_;
    const ManyFilesRequest& many_;
    FileList& list_;
    const Console& console_;
    std::stop_token stop_;
    std::mutex mutex_;                ///< guards the queue and the progress
    std::mutex print_mutex_;          ///< guards the console
    std::size_t next_ = 0;            ///< place of the next file in the order
    double done_ = 0;                 ///< voxels that are done
    double whole_;                    ///< voxels of all files
    std::set<std::string> reported_;  ///< solver keys of files whose plan was reported
    ProgressMeter meter_;
};

void FileQueue::report_plan(const ListedFile& file, const ImageSteps& steps,
                            const EngineChoice& engines) {
    print([&] {
        if (reported_.empty()) warn_of_idle_gpu(console_, engines);
        if (!reported_.insert(file.solver_keys).second)
            return console_.warnings(input_warnings(file.image, steps.input_metadata()));
        index_t alike = 0;
        for (const std::size_t i : list_.order)
            if (list_.files[i].solver_keys == file.solver_keys) ++alike;
        print_plan(steps, console_, request_.run);
        console_.fact("files", message(alike, " of ", list_.files.size(), " have this plan"));
    });
}

void FileQueue::report(const ListedFile& file) {
    print([&] {
        const std::string result = file.status == FileStatus::done ? format_duration(file.seconds)
                                                                   : to_string(file.status);
        console_.fact("file",
                      message(place_of(file), ": ", file.image, " → ", file.output, ", ", result));
    });
}

/// Runs files of the queue. While one is computed, the result of the previous one goes to disk.
class Worker {
  public:
    Worker(FileQueue& queue, const WorkerFactory& worker_factory, const WorkerResources& resources)
        : queue_(queue),
          worker_factory_(worker_factory),
          resources_(resources),
          steps_factory_(worker_factory(resources, queue.expected())) {}
    ~Worker() { finish_pending(); }

    /// Runs files until the queue is empty, a stop is requested, or a device has failed that may
    /// not be replaced by the CPU.
    void run() {
        while (ListedFile* const file = device_failure_ ? nullptr : queue_.next()) carry_out(*file);
        finish_pending();
    }
    /// Returns the failure of the device; null if there was none.
    std::exception_ptr device_failure() const { return device_failure_; }

  private:
    struct FileRun;

    void carry_out(ListedFile& file);
    /// Plans and computes a file. Returns null if there is nothing to commit.
    std::unique_ptr<FileRun> compute(ListedFile& file);
    void commit(FileRun& run);
    void finish_pending();

    FileQueue& queue_;
    const WorkerFactory& worker_factory_;
    WorkerResources resources_;
    StepsFactory steps_factory_;
    std::string solver_keys_;           ///< solver keys of the previous file
    std::unique_ptr<FileRun> pending_;  ///< file whose result is brought to disk
    std::thread committing_;            ///< thread that commits `pending_`
    std::exception_ptr device_failure_;
};

struct Worker::FileRun {
    FileRun(ListedFile& its_file, std::unique_ptr<ImageSteps> its_steps, const FileQueue& queue)
        : file(its_file),
          console(queue.console().for_file(its_file.image)),
          steps(std::move(its_steps)),
          run(*steps, queue.stop()) {}

    void keep_json(const RunTimes* times) { fill_json(*steps, file.json, times); }

    ListedFile& file;
    Console console;
    std::unique_ptr<ImageSteps> steps;
    StepwiseRun run;
};

void Worker::carry_out(ListedFile& file) {
    // The memory of the previous plan is freed before another plan is made.
    if (file.solver_keys != solver_keys_) finish_pending();
    solver_keys_ = file.solver_keys;
    const double begin_s = steady_clock_s();
    try {
        std::unique_ptr<FileRun> run;
        run_with_fallback(queue_.console(), resources_, [&](const WorkerResources& used) {
            if (&used != &resources_) {  // a GPU has failed; later files do not use it either
                steps_factory_ = worker_factory_(used, queue_.expected());
                resources_ = used;
            }
            run = compute(file);
        });
        finish_pending();
        if (!run) return;
        pending_ = std::move(run);
        committing_ = std::thread([this] { commit(*pending_); });
    } catch (const DeviceFailure& error) {
        device_failure_ = std::current_exception();
        file.seconds = steady_clock_s() - begin_s;
        queue_.fail(file, error);
    } catch (const std::exception& error) {
        file.seconds = steady_clock_s() - begin_s;
        queue_.fail(file, error);
    }
}

std::unique_ptr<Worker::FileRun> Worker::compute(ListedFile& file) {
    auto file_run = std::make_unique<FileRun>(file, steps_factory_(file), queue_);
    const RunOptions& options = queue_.request().run;
    StepwiseRun& run = file_run->run;
    run.plan();
    if (queue_.resume() && !file.output.empty()) {
        std::vector<std::string> inputs = queue_.request().kernels();
        for (std::string& one : io::image_files(file.image)) inputs.push_back(std::move(one));
        if (is_complete(file, inputs, file_run->steps->output_metadata())) {
            file.status = FileStatus::skipped;
            queue_.leave_out(file);
            queue_.report(file);
            return nullptr;
        }
    }
    queue_.report_plan(file, *file_run->steps, resources_.engines);
    if (options.dry_run) {
        if (options.json) file_run->keep_json(nullptr);
        file.status = FileStatus::planned;
        return nullptr;
    }
    queue_.title(file);
    double done = 0;
    try {
        run.execute(file_run->console, queue_.meter(), [&](double fraction) {
            queue_.advance(file.voxels * fraction - done);
            done = file.voxels * fraction;
        });
    } catch (...) {
        queue_.advance(-done);
        throw;
    }
    queue_.advance(file.voxels - done);
    return file_run;
}

void Worker::commit(FileRun& run) {
    ListedFile& file = run.file;
    try {
        run.run.commit();
        const RunTimes times = run.run.times();
        file.seconds = times.total_s;
        file.status = FileStatus::done;
        queue_.print([&] { print_result(*run.steps, run.console, times); });
        if (queue_.request().run.json) run.keep_json(&times);
        queue_.report(file);
    } catch (const std::exception& error) {
        file.seconds = run.run.timeline().now_s();
        queue_.fail(file, error);
    }
}

void Worker::finish_pending() {
    if (committing_.joinable()) committing_.join();
    pending_.reset();
}

/// Returns the resources of one worker for each of several GPUs, else of one for all engines.
std::vector<WorkerResources> resources_of_workers(const ImageRequest& request, std::size_t files) {
    const EngineChoice& engines = request.engines;
    std::vector<int> gpus = engines.gpus;
    if (engines.device == EngineChoice::Device::cpu || files < 2) return {{engines}};
    if (gpus.empty())
        for (const GpuDevice& gpu : gpu_devices())
            if (gpu.usable) gpus.push_back(gpu.number);
    gpus.resize(std::min(gpus.size(), files));
    if (gpus.size() < 2) return {{engines}};
    std::vector<WorkerResources> all;
    for (const int gpu : gpus) {
        all.push_back({engines, static_cast<index_t>(gpus.size())});
        all.back().engines.gpus.assign(1, gpu);
    }
    return all;
}

void run_workers(FileQueue& queue, std::size_t files, const WorkerFactory& worker_factory) {
    std::list<Worker> workers;
    for (const WorkerResources& resources : resources_of_workers(queue.request(), files))
        workers.emplace_back(queue, worker_factory, resources);
    {
        std::vector<std::jthread> others;
        for (auto worker = std::next(workers.begin()); worker != workers.end(); ++worker)
            others.emplace_back([&worker = *worker] { worker.run(); });
        workers.front().run();
    }
    for (const Worker& worker : workers) {
        if (!worker.device_failure()) continue;
        try {
            std::rethrow_exception(worker.device_failure());
        } catch (const std::exception& error) {
            queue.fail_rest(error);
        }
    }
}

}  // namespace

void run_many_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const WorkerFactory& worker_factory) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    FileList list = list_files(request, many, interrupt.stop());
    for (const ListedFile& file : list.files)
        if (file.status == FileStatus::failed) console.for_file(file.image).error(file.reason);
    if (!list.order.empty()) {
        FileQueue queue(request, many, list, console, interrupt.stop());
        run_workers(queue, list.order.size(), worker_factory);
    }
    console.text(results_table(list.files));
    console.fact("files", results_line(list.files));
    if (request.run.json) write_stdout(dump(results_json(list.files)));
    throw_result(list.files, request.run.dry_run);
}

}  // namespace convolume::cli
