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

#include "cli/files/metadata_json.hpp"
#include "cli/images/listed_files.hpp"
#include "cli/run/process_end.hpp"
#include "cli/run/progress.hpp"
#include "cli/text/console.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// The queue of files, and what else the workers share: progress and what is printed. Files are
/// independent; the rest is guarded.
class FileQueue {
  public:
    FileQueue(const ImageRequest& request, const ManyFilesRequest& many, Survey& survey,
              const Console& console, std::stop_token stop)
        : request_(request),
          many_(many),
          survey_(survey),
          console_(console),
          stop_(std::move(stop)),
          whole_(survey.voxels),
          meter_(console.out(),
                 request.run.dry_run ? ProgressMeter::LineStyle::none : progress_style(console),
                 survey.voxels, steady_clock_s) {}

    const ImageRequest& request() const { return request_; }
    const ExpectedVolumes& expected() const { return survey_.expected; }
    std::stop_token stop() const { return stop_; }
    bool resume() const { return many_.resume; }
    ProgressMeter& meter() { return meter_; }
    const Console& console() const { return console_; }

    /// The next file; null where there is none or the run is to stop.
    ListedFile* next() {
        const std::lock_guard lock(mutex_);
        if (stop_.stop_requested() || next_ == survey_.order.size()) return nullptr;
        return &survey_.files[survey_.order[next_++]];
    }

    /// Calls `print` while no other thread prints.
    template <class Print>
    void print(const Print& print) {
        const std::lock_guard lock(print_mutex_);
        meter_.clear();
        print();
    }

    /// Reports the plan of a file whose problem is new, and of others what reading them left out.
    void report_plan(const ListedFile& file, const ImageSteps& steps, const EngineChoice& engines);
    /// Reports a file that is done, skipped or planned.
    void report(const ListedFile& file);
    void title(const ListedFile& file) { meter_.title(message("file ", place_of(file))); }

    /// Counts work as done.
    void advance(double voxels) {
        double fraction = 0;
        {
            const std::lock_guard lock(mutex_);
            done_ += voxels;
            fraction = done_ / whole_;
        }
        meter_.update(fraction);
    }
    /// Leaves out the work of a file, of which nothing was or will be needed.
    void leave_out(const ListedFile& file) {
        const std::lock_guard lock(mutex_);
        whole_ -= file.voxels;
        meter_.amount(whole_);
    }

    void fail(ListedFile& file, const std::exception& error) {
        file.fail(error, many_.has_option);
        leave_out(file);
        if (file.outcome == Outcome::failed)
            print([&] { console_.for_file(file.image).error(file.reason); });
    }
    /// Fails what is left in the queue, for the same reason.
    void fail_rest(const std::exception& error) {
        while (ListedFile* const file = next()) file->fail(error, many_.has_option);
    }

  private:
    /// "3 of 20"
    std::string place_of(const ListedFile& file) const {
        return message(file.number, " of ", survey_.files.size());
    }

    const ImageRequest& request_;
    const ManyFilesRequest& many_;
    Survey& survey_;
    const Console& console_;
    std::stop_token stop_;
    std::mutex mutex_;        ///< of the queue and the progress
    std::mutex print_mutex_;  ///< of what is printed
    std::size_t next_ = 0;
    double done_ = 0;  ///< voxels, of `whole_`
    double whole_;
    std::set<std::string> reported_;  ///< problems
    ProgressMeter meter_;
};

void FileQueue::report_plan(const ListedFile& file, const ImageSteps& steps,
                            const EngineChoice& engines) {
    print([&] {
        if (reported_.empty()) warn_of_idle_gpu(console_, engines);
        if (!reported_.insert(file.problem).second)
            return warn_of_input(console_, file.image, steps.input());
        index_t alike = 0;
        for (const std::size_t i : survey_.order)
            if (survey_.files[i].problem == file.problem) ++alike;
        steps.report_plan(console_);
        console_.fact("files", message(alike, " of ", survey_.files.size(), " have this plan"));
    });
}

void FileQueue::report(const ListedFile& file) {
    print([&] {
        const std::string result =
            file.outcome == Outcome::done ? format_duration(file.seconds) : to_string(file.outcome);
        console_.fact("file",
                      message(place_of(file), ": ", file.image, " → ", file.output, ", ", result));
    });
}

/// Takes files from the queue and carries them out. While one is computed, the result of the one
/// before it is brought to disk.
class Worker {
  public:
    Worker(FileQueue& queue, const MakeWorker& make_worker, const WorkerChoice& choice)
        : queue_(queue),
          make_worker_(make_worker),
          choice_(choice),
          make_steps_(make_worker(choice, queue.expected())) {}
    ~Worker() { finish_pending(); }

    /// Until the queue is empty, the run is to stop, or the demanded device has failed.
    void run() {
        while (ListedFile* const file = device_failure_ ? nullptr : queue_.next()) carry_out(*file);
        finish_pending();
    }
    /// The failure of the device; null if there was none.
    std::exception_ptr device_failure() const { return device_failure_; }

  private:
    struct FileRun;

    void carry_out(ListedFile& file);
    /// Null where there is nothing to commit.
    std::unique_ptr<FileRun> compute(ListedFile& file);
    void commit(FileRun& run);
    void finish_pending();

    FileQueue& queue_;
    const MakeWorker& make_worker_;
    WorkerChoice choice_;
    MakeSteps make_steps_;
    std::string problem_;  ///< of the file before
    std::unique_ptr<FileRun> pending_;
    std::thread committing_;  ///< commits `pending_`
    std::exception_ptr device_failure_;
};

/// A file on its way from its header to its result.
struct Worker::FileRun {
    FileRun(ListedFile& its_file, std::unique_ptr<ImageSteps> its_steps, const FileQueue& queue)
        : file(its_file),
          console(queue.console().for_file(its_file.image)),
          steps(std::move(its_steps)),
          run(*steps, queue.stop()) {}

    void keep_json(const RunTimes* times) { steps->fill_json(file.json, times); }

    ListedFile& file;
    Console console;
    std::unique_ptr<ImageSteps> steps;
    StepwiseRun run;
};

void Worker::carry_out(ListedFile& file) {
    // The memory of another plan is given back before one is made.
    if (file.problem != problem_) finish_pending();
    problem_ = file.problem;
    const double begin_s = steady_clock_s();
    try {
        std::unique_ptr<FileRun> run;
        run_with_fallback(queue_.console(), choice_, [&](const WorkerChoice& chosen) {
            if (&chosen != &choice_) {  // a GPU has failed, and the files to come go without it too
                make_steps_ = make_worker_(chosen, queue_.expected());
                choice_ = chosen;
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
    auto file_run = std::make_unique<FileRun>(file, make_steps_(file), queue_);
    const RunOptions& options = queue_.request().run;
    StepwiseRun& run = file_run->run;
    run.plan();
    if (queue_.resume() && !file.output.empty()) {
        std::vector<std::string> inputs = queue_.request().kernels();
        inputs.push_back(file.image);
        if (is_complete(file, inputs, file_run->steps->output())) {
            file.outcome = Outcome::skipped;
            queue_.leave_out(file);
            queue_.report(file);
            return nullptr;
        }
    }
    queue_.report_plan(file, *file_run->steps, choice_.engines);
    if (options.dry_run) {
        if (options.json) file_run->keep_json(nullptr);
        file.outcome = Outcome::planned;
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
        file.seconds = times.timeline.now_s();
        file.outcome = Outcome::done;
        queue_.print([&] { run.steps->report_result(run.console, times); });
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

/// One worker for each GPU where there are several, else one for all engines.
std::vector<WorkerChoice> choices_of_workers(const ImageRequest& request, std::size_t files) {
    const EngineChoice& engines = request.engines;
    std::vector<int> gpus = engines.gpus;
    if (engines.device == EngineChoice::Device::cpu || files < 2) return {{engines}};
    if (gpus.empty())
        for (const GpuDevice& gpu : gpu_devices())
            if (gpu.usable) gpus.push_back(gpu.number);
    gpus.resize(std::min(gpus.size(), files));
    if (gpus.size() < 2) return {{engines}};
    std::vector<WorkerChoice> choices;
    for (const int gpu : gpus) {
        choices.push_back({engines, static_cast<index_t>(gpus.size())});
        choices.back().engines.gpus = {gpu};
    }
    return choices;
}

void work(FileQueue& queue, std::size_t files, const MakeWorker& make_worker) {
    std::list<Worker> workers;
    for (const WorkerChoice& choice : choices_of_workers(queue.request(), files))
        workers.emplace_back(queue, make_worker, choice);
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
                    const std::string& truth, const MakeWorker& make_worker) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    Survey survey = survey_files(request, many, truth, interrupt.stop());
    for (const ListedFile& file : survey.files)
        if (file.outcome == Outcome::failed) console.for_file(file.image).error(file.reason);
    if (!survey.order.empty()) {
        FileQueue queue(request, many, survey, console, interrupt.stop());
        work(queue, survey.order.size(), make_worker);
    }
    console.text(results_table(survey.files));
    console.fact("files", results_line(survey.files));
    if (request.run.json) write_stdout(dump(results_json(survey.files)));
    throw_result(survey.files, request.run.dry_run);
}

}  // namespace convolume::cli
