// SPDX-License-Identifier: Apache-2.0
#include "cli/many_files/many_files.hpp"

#include <algorithm>
#include <list>
#include <thread>
#include <vector>

#include "cli/files/metadata_json.hpp"
#include "cli/files/scaled_output.hpp"
#include "cli/many_files/worker.hpp"
#include "cli/run/devices.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/text/format.hpp"

namespace convolume::cli {

namespace {

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

void work(ManyFiles& shared, std::size_t files, const MakeWorker& make_worker) {
    std::list<Worker> workers;
    for (const WorkerChoice& choice : choices_of_workers(shared.request(), files))
        workers.emplace_back(shared, make_worker, choice);
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
            shared.fail_rest(error);
        }
    }
}

}  // namespace

ManyFiles::ManyFiles(const ImageRequest& request, const ManyFilesRequest& many, Survey& survey,
                     const Console& console, std::stop_token stop)
    : request_(request),
      many_(many),
      survey_(survey),
      console_(console),
      stop_(std::move(stop)),
      whole_(survey.voxels),
      meter_(console.out(),
             request.run.dry_run ? ProgressMeter::Style::none : progress_style(console),
             survey.voxels, steady_clock_s) {}

ListedFile* ManyFiles::next() {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested() || next_ == survey_.order.size()) return nullptr;
    return &survey_.files[survey_.order[next_++]];
}

void ManyFiles::print(const std::function<void()>& print) {
    const std::lock_guard lock(print_mutex_);
    meter_.clear();
    print();
}

void ManyFiles::report_plan(const ListedFile& file, const ImageSteps& steps,
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

void ManyFiles::advance(double voxels) {
    double fraction = 0;
    {
        const std::lock_guard lock(mutex_);
        done_ += voxels;
        fraction = done_ / whole_;
    }
    meter_.update(fraction);
}

void ManyFiles::leave_out(double voxels) {
    const std::lock_guard lock(mutex_);
    whole_ -= voxels;
    meter_.amount(whole_);
}

void ManyFiles::title(const ListedFile& file) {
    meter_.title(message("file ", file.number, " of ", survey_.files.size()));
}

void ManyFiles::report(const ListedFile& file) {
    print([&] {
        const std::string result = file.outcome == Outcome::done
                                       ? message(file.output, ", ", format_duration(file.seconds))
                                       : message(file.output, ", ", to_string(file.outcome));
        console_.fact("file", message(file.number, " of ", survey_.files.size(), ": ", file.image,
                                      " → ", result));
    });
}

void ManyFiles::fail(ListedFile& file, const std::exception& error) {
    file.fail(error, many_.has_option);
    leave_out(file.voxels);
    if (file.outcome == Outcome::failed)
        print([&] { console_.about(file.image).error(file.reason); });
}

void ManyFiles::fail_rest(const std::exception& error) {
    while (ListedFile* const file = next()) file->fail(error, many_.has_option);
}

index_t share_of_host_memory(std::optional<index_t> limit_bytes, index_t workers) {
    return limit_bytes.value_or(host_resources().available_bytes / 4 * 3) / workers;
}

void run_many_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const std::string& truth, const MakeWorker& make_worker) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    Survey survey = survey_files(request, many, truth, interrupt.stop());
    for (const ListedFile& file : survey.files)
        if (file.outcome == Outcome::failed) console.about(file.image).error(file.reason);
    if (!survey.order.empty()) {
        ManyFiles shared(request, many, survey, console, interrupt.stop());
        work(shared, survey.order.size(), make_worker);
    }
    console.text(results_table(survey.files));
    console.fact("files", results_line(survey.files));
    if (request.run.json) write_stdout(dump(results_json(survey.files)));
    throw_result(survey.files, request.run.dry_run);
}

}  // namespace convolume::cli
