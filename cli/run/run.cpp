// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include <dirent.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "cli/run/report.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

// Returns the processor time until now, for loading the program and reading its options.
double processor_time_s() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

/// Returns true if the system lists an NVIDIA GPU, with or without a driver for it.
bool has_nvidia_gpu() {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::exists("/dev/nvidiactl", error))
        return true;  // the file exists even if PCI devices are not visible
    const auto first_word = [](const fs::path& path) {
        std::string word;
        std::ifstream(path) >> word;
        return word;
    };
    // fs::directory_iterator is not used, since it ends the process if memory is refused.
    const fs::path folder = "/sys/bus/pci/devices";
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> devices(::opendir(folder.c_str()), close);
    if (!devices) return false;
    while (const dirent* const device = ::readdir(devices.get()))
        // PCI class 03 is displays and 3D controllers; NVIDIA also makes audio and bridges.
        if (first_word(folder / device->d_name / "vendor") == "0x10de" &&
            first_word(folder / device->d_name / "class").starts_with("0x03"))
            return true;
    return false;
}

}  // namespace

namespace {

/// Calls tell(members), whose lines are what matters. If memory is refused, the members are never
/// destroyed: their library leaves an object behind that cannot be.
template <class Tell>
void tell_lines(const Tell& tell) {
    auto members = std::make_unique<nlohmann::ordered_json>(nlohmann::ordered_json::object());
    try {
        tell(*members);
    } catch (...) {
        static_cast<void>(members.release());
        throw;
    }
}

}  // namespace

void print_plan(const RunSteps& steps, const Console& console, const RunOptions& options) {
    tell_lines([&](nlohmann::ordered_json& unread) {
        std::vector<std::string> postponed;
        const bool postpones = steps.ranks_warnings() && !options.dry_run;
        steps.tell_plan({postpones ? console.collecting_warnings(postponed) : console, unread});
        if (options.dry_run) steps.tell_output({console, unread});
    });
}

void print_result(const RunSteps& steps, const Console& console, const RunTimes& times) {
    constexpr std::size_t most_warnings = 3;
    tell_lines([&](nlohmann::ordered_json& unread) {
        if (!steps.ranks_warnings()) {
            steps.tell_result({console, unread});
        } else {
            // What is lost comes first, then what changes the result most.
            std::vector<std::string> warnings;
            const Console silenced(console.out(), Verbosity::quiet, false);
            steps.tell_result({console.collecting_warnings(warnings), unread});
            steps.tell_plan({silenced.collecting_warnings(warnings), unread});
            const std::size_t shown =
                console.verbose() ? warnings.size() : std::min(warnings.size(), most_warnings);
            for (std::size_t i = 0; i < shown; ++i) console.warning(warnings[i]);
            if (warnings.size() > shown)
                console.fact("more",
                             message(warnings.size() - shown, " further warnings: -v prints them"));
        }
        report_times(console, times);
        steps.tell_output({console, unread});
    });
}

void fill_json(const RunSteps& steps, nlohmann::ordered_json& json, const RunTimes* times) {
    std::vector<std::string> of_plan, warnings;
    const Console silent(std::cerr, Verbosity::quiet, false);
    steps.tell_plan({silent.collecting_warnings(of_plan), json});
    if (times != nullptr) {
        json["report"] = report_json(steps.executed(), *times);
        steps.tell_result({silent.collecting_warnings(warnings), json});
        warnings.insert(warnings.end(), of_plan.begin(), of_plan.end());
        json["report"]["warnings"] = warnings;
    }
    steps.tell_output({silent, json});
}

std::string json_text(const RunSteps& steps, const RunTimes* times) {
    nlohmann::ordered_json json = versioned_json();
    fill_json(steps, json, times);
    return dump(json);
}

StepwiseRun::StepwiseRun(RunSteps& steps, std::stop_token stop, double started_s)
    : steps_(steps), timeline_(started_s) {
    context_.timeline = &timeline_;
    context_.stop = std::move(stop);
}

void StepwiseRun::plan() {
    const StopScope scope(context_.stop);
    const double open_s = timeline_.now_s();
    steps_.open(context_);
    timeline_.record_rest(Phase::open, open_s);
    const double plan_s = timeline_.now_s();
    steps_.plan(context_);
    timeline_.record_rest(Phase::plan, plan_s);
    plan_s_ = timeline_.now_s() - plan_s;
}

void StepwiseRun::execute(const Console& console, ProgressMeter& meter,
                          const std::function<void(double)>& progress) {
    const StopScope scope(context_.stop);
    context_.progress = progress;
    steps_.execute(console, meter, context_);
    throw_if_stopped(context_);
}

void StepwiseRun::commit() {
    const StopScope scope(context_.stop);
    {
        const PhaseTimer timer(&timeline_, Phase::commit);
        steps_.commit();
    }
    timeline_.record_rest(Phase::other, 0);
    total_s_ = timeline_.now_s();
}

void carry_out(RunSteps& steps, const RunOptions& options, const Console& console,
               std::stop_token stop, const std::function<void()>& planned) {
    StepwiseRun run(steps, std::move(stop), processor_time_s());
    run.plan();
    planned();
    print_plan(steps, console, options);
    if (options.dry_run) {
        if (options.json) write_stdout(json_text(steps, nullptr));
        return;
    }

    {
        const WorkAmount work = steps.work();
        const auto style =
            work.amount > 0 ? progress_style(console) : ProgressMeter::LineStyle::none;
        ProgressMeter meter(console.out(), style, work.amount, steady_clock_s, work.unit);
        run.execute(console, meter, [&meter](double fraction) { meter.update(fraction); });
    }
    run.commit();
    const RunTimes times = run.times();
    if (!options.timeline.empty()) io::write_whole_file(options.timeline, run.timeline().to_json());
    print_result(steps, console, times);
    if (options.json) write_stdout(json_text(steps, &times));
}

void warn_of_idle_gpu(const Console& console, const EngineChoice& engines) {
    const bool built_with_cuda = !cuda_runtime_version().empty();
    if (engines.device != EngineChoice::Device::automatic || !built_with_cuda) return;
    if (gpu_start_seconds() > 0) return;  // the user excluded GPUs
    const std::string why_not = gpu_unavailable();
    if (!why_not.empty() && has_nvidia_gpu())
        console.warning(message("computing on the CPU, since ", why_not));
}

}  // namespace convolume::cli
