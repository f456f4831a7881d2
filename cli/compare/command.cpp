// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/command.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/app.hpp"
#include "cli/compare/machine_context.hpp"
#include "cli/compare/report.hpp"
#include "cli/compare/subject.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/filter/files.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/process_end.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Problems to compare ways on: from files, or the random problems of a sweep.
struct CompareInputs {
    std::vector<std::unique_ptr<Subject>> subjects;
    Json identity;  ///< checksums or sizes of the data, and options of the result
    std::vector<std::string> warnings;  ///< warnings about the files
};

Json data_json(const Volume& volume) {
    return {{"shape", to_string(volume.shape(), "x")},
            {"type", to_string(volume.type())},
            {"checksum", checksum(volume)}};
}

void check_memory(const std::string& file, index_t bytes, index_t limit_bytes) {
    if (bytes > limit_bytes)
        throw OutOfMemory(sentence("\"", file, "\" takes ", format_bytes(bytes),
                                   " of memory, and the limit is ", format_bytes(limit_bytes),
                                   "; set ", OptionName{"max_host_bytes"},
                                   ", or compare a part of it"));
}

Volume read_image(const ImageCompareRequest& request, io::ImageReader& reader,
                  index_t limit_bytes) {
    const io::ImageMetadata& metadata = reader.metadata();
    if (metadata.frames * metadata.channels > 1)
        throw InvalidArgument(message("\"", request.image, "\" holds ", metadata.frames,
                                      " frames and ", metadata.channels,
                                      " channels; choose one by --frame and --channel"));
    check_memory(request.image, metadata.bytes(), limit_bytes);
    Volume image(metadata.shape, metadata.type);
    reader.read(0, 0, image.view());
    reader.check_unchanged();
    return image;
}

void add_notes(const std::string& path, const io::ImageMetadata& image,
               std::vector<std::string>& warnings) {
    for (const std::string& note : image.notes)
        warnings.push_back(message("\"", path, "\": ", note));
}

Json convolution_json(const Options& options) {
    return {{"mode", to_string(options.mode)},
            {"boundary", to_string(options.boundary)},
            {"normalize", to_string(options.normalization)},
            {"nan", to_string(options.nan)}};
}

Volume read_signals(const SignalCompareRequest& request, index_t limit_bytes) {
    const auto reader = io::open_signal(request.signal, request.signal_options);
    const io::SignalInfo& info = reader->info();
    const Shape3 shape{1, info.signals(), info.samples()};
    check_memory(request.signal, StackFormat{shape, info.type}.bytes(), limit_bytes);
    Volume signals(shape, info.type);
    for (index_t row = 0; row < shape.y; ++row)
        reader->read(row, 0, shape.x, signals.view().at(0, row, 0));
    return signals;
}

/// Reads the files, or records the sizes of a sweep. Throws the errors of reading, OutOfMemory for
/// an input beyond `limit_bytes`, and InvalidArgument for files of several images.
CompareInputs read_inputs(const ImageCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    Options options = request.options;
    if (!request.sizes.empty()) {
        for (const index_t size : request.sizes) {
            const index_t kernel =
                request.kernel_size > 0 ? request.kernel_size : std::max<index_t>(1, size / 4);
            inputs.subjects.push_back(image_subject(size, kernel, request.seed, options));
        }
        inputs.identity["sizes"] = request.sizes;
        inputs.identity["kernel size"] = request.kernel_size;
        inputs.identity["seed"] = request.seed;
    } else {
        const auto reader = open_selected(request.image, request.selection);
        Volume image = read_image(request, *reader, limit_bytes);
        Timeline unused;
        KernelFile kernel =
            load_kernel(request.kernel, reader->metadata(), request.kernel_options, unused);
        options.center = kernel.explicit_center();
        inputs.identity["image"] = data_json(image);
        inputs.identity["kernel"] = data_json(kernel.values);
        inputs.identity["kernel center"] = to_string(options.center);
        add_notes(request.image, reader->metadata(), inputs.warnings);
        add_notes(request.kernel, kernel.metadata, inputs.warnings);
        for (const std::string& warning : kernel.warnings) inputs.warnings.push_back(warning);
        inputs.subjects.push_back(image_subject(std::move(image), std::move(kernel.values), options,
                                                reader->place_in_file({})));
    }
    inputs.identity["convolution"] = convolution_json(options);
    return inputs;
}

CompareInputs read_inputs(const SignalCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    const FilterOptions& options = request.options;
    if (!request.sizes.empty()) {
        const index_t taps = request.taps > 0 ? request.taps : 257;
        for (const index_t size : request.sizes)
            inputs.subjects.push_back(
                signal_subject(size, request.filters, taps, request.seed, options));
        inputs.identity["sizes"] = request.sizes;
        inputs.identity["filters"] = request.filters;
        inputs.identity["taps"] = taps;
        inputs.identity["seed"] = request.seed;
    } else {
        Volume signals = read_signals(request, limit_bytes);
        io::OpenSignalOptions filter_options;
        filter_options.raw_type = request.signal_options.raw_type;
        if (request.taps > 0) filter_options.raw_samples = request.taps;
        Timeline unused;
        std::vector<Volume> filters;
        inputs.identity["signal"] = data_json(signals);
        inputs.identity["filters"] = Json::array();
        for (FilterFile& file : read_filters(request.filter_files, filter_options, unused)) {
            inputs.identity["filters"].push_back(data_json(file.taps));
            filters.push_back(std::move(file.taps));
        }
        inputs.subjects.push_back(signal_subject(std::move(signals), std::move(filters), options));
    }
    inputs.identity["filtering"] = {
        {"mode", to_string(options.mode)},
        {"origin", message(static_cast<int>(options.origin.kind), ':', options.origin.index)},
        {"nan", to_string(options.nan)}};
    return inputs;
}

/// Returns the command line as it was typed, without quotes.
std::string command_line() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.ends_with('\0')) text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    // The report does not need the folder of the program.
    const std::size_t end = text.find(' ');
    return end == std::string::npos ? "convolume" : "convolume" + text.substr(end);
}

/// Returns the default devices: the CPU, every GPU, and all GPUs together if there are several.
std::vector<std::string> default_devices() {
    std::vector<std::string> devices{"cpu"};
    EngineChoice any;
    const std::vector<int> gpus = gpus_of(any);
    std::string together = "gpu:";
    for (const int gpu : gpus) {
        devices.push_back(message("gpu:", gpu));
        together += message(gpu == gpus.front() ? "" : "+", gpu);
    }
    if (gpus.size() > 1) devices.push_back(together);
    return devices;
}

Json options_json(const CompareRequest& request, const WayOptionLists& lists) {
    std::vector<std::string> fft;
    for (const FftLibrary library : lists.fft) fft.emplace_back(to_string(library));
    return {{"devices", lists.devices},
            {"methods", lists.methods},
            {"parts", lists.parts},
            {"segments", lists.segments},
            {"precision", lists.precisions},
            {"threads", lists.threads},
            {"fft", fft},
            {"repeats", request.repeats},
            {"time-limit", request.time_limit_s},
            {"reference", to_string(request.reference)},
            {"max-host-mem", request.max_host_bytes.value_or(0)}};
}

/// Returns callbacks that print progress: one updating line on a terminal, else one a problem.
RunnerEvents progress_events(const Console& console, const CompareRequest& request,
                             const ReportFolder& folder, const Comparison& comparison) {
    const bool updating = stderr_is_terminal() && !console.quiet();
    const char* const clear = "\r\033[K";
    RunnerEvents events;
    events.problem_begins = [&console, updating, clear](const ComparedProblem& problem) {
        if (updating) console.out() << clear;
        console.fact("problem", problem.name);
    };
    events.turn_begins = [&console, &request, updating, clear](const Way& way, int turn) {
        const std::string text = message("turn ", turn, " of ", request.repeats, ", ", way.name());
        if (updating)
            console.out() << clear << text << std::flush;
        else if (console.verbose())
            console.text(text + '\n');
    };
    events.round_ends = [&console, &folder, &comparison, updating, clear] {
        if (updating) console.out() << clear << std::flush;
        if (comparison.has_measurements()) folder.save_data(comparison);
    };
    return events;
}

void print(const CompareRequest& request, const Comparison& comparison) {
    if (request.run.json) return write_stdout(dump(to_json(comparison)));
    if (request.run.verbosity == Verbosity::quiet) return;
    std::string text;
    for (const ComparedProblem& problem : comparison.problems) {
        text += message('\n', problem.name, "; reference: ", problem.reference, '\n');
        const Table table = summary_table(problem, comparison.unit, comparison.repeats);
        if (!table.rows.empty()) text += aligned_text(table);
        for (const SkippedWay& entry : problem.left_out)
            text += message("left out: ", entry.way.name(), ": ", entry.reason, '\n');
    }
    write_stdout(text);
}

[[noreturn]] void end_interrupted(const ReportFolder& folder, const Comparison& comparison) {
    if (!comparison.has_measurements()) throw Cancelled("interrupted; nothing was written");
    folder.save_all(comparison);
    const int finished = comparison.finished_ways();
    throw Interrupted(message(
        "interrupted; \"", folder.path(), "\" has a report of what was measured (", finished,
        finished == 1 ? " way" : " ways", " finished), and --resume goes on with it"));
}

/// Throws if nothing was measured, or if an error is above the requested limit.
void check_measurements(const CompareRequest& request, const ReportFolder& folder,
                        const Comparison& comparison) {
    if (!comparison.has_measurements())
        throw Unavailable(message("no way could be measured; \"", folder.path(),
                                  "\" has the reasons, and --devices and --methods choose others"));
    if (!request.most_error) return;
    const Measurement* worst = nullptr;
    for (const ComparedProblem& problem : comparison.problems)
        for (const Measurement& way : problem.measured) {
            if (!way.errors)
                throw OutOfMemory(sentence(
                    "errors of ", problem.name, " are unknown (reference: ", problem.reference,
                    "), so that ", OptionName{"--fail-if-error-above"}, " cannot be answered"));
            if (worst == nullptr || way.errors->relative_largest > worst->errors->relative_largest)
                worst = &way;
        }
    if (worst->errors->relative_largest > *request.most_error)
        throw ErrorTooLarge(message("the relative L∞ error of ", worst->way.name(), " is ",
                                    format_number(worst->errors->relative_largest, 3),
                                    ", above the ", format_number(*request.most_error),
                                    " of --fail-if-error-above; \"", folder.path(),
                                    "\" has the report"));
}

template <class Request>
void compare_ways(const Request& request, const char* kind, const char* unit) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    const ReportFolder folder(request.output, request.overwrite, request.resume);
    const index_t limit_bytes = host_limit_bytes(request.max_host_bytes);
    CompareInputs inputs = read_inputs(request, limit_bytes);
    for (const std::string& warning : inputs.warnings) console.warning(warning);
    WayOptionLists lists = request.option_lists;
    if (lists.devices.empty()) lists.devices = default_devices();
    const bool use_gpus = lists.devices != std::vector<std::string>{"cpu"};
    const MachineContext machine = machine_context(use_gpus);

    Comparison comparison;
    comparison.identity = {{"version", version},
                           {"kind", kind},
                           {"processor", machine.json.at("processor")},
                           {"threads", machine.json.at("threads")}};
    comparison.identity.update(inputs.identity);
    comparison.identity["options"] = options_json(request, lists);
    if (auto before = folder.comparison_to_resume(comparison.identity)) {
        comparison = std::move(*before);
        console.fact("resume", message(comparison.finished_ways(), " ways are finished in \"",
                                       folder.path(), '"'));
    } else {
        comparison.software = software_name();
        comparison.date = utc_now();
        comparison.command = command_line();
        comparison.unit = unit;
        comparison.repeats = request.repeats;
        comparison.machine = machine.json;
    }
    const RunnerSettings settings{combinations(lists), request.repeats, request.time_limit_s,
                                  limit_bytes, request.reference};
    const RunnerEvents events = progress_events(console, request, folder, comparison);
    try {
        run_comparison(inputs.subjects, settings, machine.links, comparison, events,
                       interrupt.stop());
    } catch (const Cancelled&) {
        if (stderr_is_terminal() && !console.quiet()) console.out() << "\r\033[K";
        end_interrupted(folder, comparison);
    }
    folder.save_all(comparison);
    print(request, comparison);
    console.fact("report", folder.path() + "/report.json, report.md");
    check_measurements(request, folder, comparison);
}

}  // namespace

std::string checksum(const Volume& volume) {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto* const bytes = static_cast<const unsigned char*>(volume.view().data);
    for (index_t i = 0; i < volume.bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

void compare(const ImageCompareRequest& request) {
    compare_ways(request, "images", "voxel");
}

void compare(const SignalCompareRequest& request) {
    compare_ways(request, "signals", "sample");
}

}  // namespace convolume::cli
