// SPDX-License-Identifier: Apache-2.0
#include "cli/many_files/worker.hpp"

#include "cli/run/devices.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

/// A file on its way from its header to its result.
struct Worker::FileRun {
    FileRun(ListedFile& its_file, std::unique_ptr<ImageSteps> its_steps, const ManyFiles& shared)
        : file(its_file),
          console(shared.console().about(its_file.image)),
          steps(std::move(its_steps)),
          run(*steps, shared.stop()) {}

    void keep_json(const RunTimes* times) { steps->fill_json(file.json, times); }

    ListedFile& file;
    Console console;
    std::unique_ptr<ImageSteps> steps;
    StagedRun run;
};

Worker::Worker(ManyFiles& shared, const MakeWorker& make_worker, const WorkerChoice& choice)
    : shared_(shared),
      make_worker_(make_worker),
      choice_(choice),
      make_steps_(make_worker(choice, shared.expected())) {}

Worker::~Worker() {
    finish_pending();
}

void Worker::run() {
    while (ListedFile* const file = device_failure_ ? nullptr : shared_.next()) carry_out(*file);
    finish_pending();
}

void Worker::carry_out(ListedFile& file) {
    // The memory of another plan is given back before one is made.
    if (file.problem != problem_) finish_pending();
    problem_ = file.problem;
    const double begin_s = steady_clock_s();
    try {
        std::unique_ptr<FileRun> run;
        run_with_fallback(shared_.console(), choice_, [&](const WorkerChoice& chosen) {
            if (&chosen != &choice_) {  // a GPU has failed, and the files to come go without it too
                make_steps_ = make_worker_(chosen, shared_.expected());
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
        shared_.fail(file, error);
    } catch (const std::exception& error) {
        file.seconds = steady_clock_s() - begin_s;
        shared_.fail(file, error);
    }
}

/// Null where there is nothing to commit.
std::unique_ptr<Worker::FileRun> Worker::compute(ListedFile& file) {
    auto file_run = std::make_unique<FileRun>(file, make_steps_(file), shared_);
    const RunOptions& options = shared_.request().run;
    StagedRun& run = file_run->run;
    run.plan();
    if (shared_.resume() && !file.output.empty()) {
        std::vector<std::string> inputs = shared_.request().kernels();
        inputs.push_back(file.image);
        if (is_complete(file, inputs, file_run->steps->output())) {
            file.outcome = Outcome::skipped;
            shared_.leave_out(file.voxels);
            shared_.report(file);
            return nullptr;
        }
    }
    shared_.report_plan(file, *file_run->steps, choice_.engines);
    if (options.dry_run) {
        if (options.json) file_run->keep_json(nullptr);
        file.outcome = Outcome::planned;
        return nullptr;
    }
    shared_.title(file);
    double done = 0;
    try {
        run.execute(file_run->console, shared_.meter(), [&](double fraction) {
            shared_.advance(file.voxels * fraction - done);
            done = file.voxels * fraction;
        });
    } catch (...) {
        shared_.advance(-done);
        throw;
    }
    shared_.advance(file.voxels - done);
    return file_run;
}

void Worker::commit(FileRun& run) {
    ListedFile& file = run.file;
    try {
        run.run.commit();
        const RunTimes times = run.run.times();
        file.seconds = times.timeline.now_s();
        file.outcome = Outcome::done;
        shared_.print([&] { run.steps->report_result(run.console, times); });
        if (shared_.request().run.json) run.keep_json(&times);
        shared_.report(file);
    } catch (const std::exception& error) {
        file.seconds = run.run.timeline().now_s();
        shared_.fail(file, error);
    }
}

void Worker::finish_pending() {
    if (committing_.joinable()) committing_.join();
    pending_.reset();
}

}  // namespace convolume::cli
