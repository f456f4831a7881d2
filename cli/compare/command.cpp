// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/command.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/app.hpp"
#include "cli/compare/measurement.hpp"
#include "cli/compare/runner.hpp"
#include "cli/compare/table.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/filter/files.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/process_end.hpp"
#include "cli/run/report.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Problems to compare ways on: from files, or the random problems of a sweep.
struct CompareInputs {
    std::vector<Problem> problems;
    std::vector<std::string> warnings;  ///< warnings about the files
};

StackFormat format_of(const Volume& volume) {
    return {volume.shape(), volume.type()};
}

std::vector<Volume> pair_of(Volume first, Volume second) {
    std::vector<Volume> both;
    both.push_back(std::move(first));
    both.push_back(std::move(second));
    return both;
}

void check_memory(const std::string& file, index_t bytes, index_t limit_bytes) {
    if (bytes > limit_bytes)
        throw OutOfMemory(sentence("\"", file, "\" takes ", format_limit(bytes),
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

void read_files(const ImageCompareRequest& request, Options& options, index_t limit_bytes,
                CompareInputs& inputs) {
    const auto reader = open_selected(request.image, request.selection);
    Volume image = read_image(request, *reader, limit_bytes);
    Timeline unused;
    KernelFile kernel =
        load_kernel(request.kernel, reader->metadata(), request.kernel_options, unused);
    options.center = kernel.explicit_center();
    for (const auto& [path, notes] : {std::pair(&request.image, &reader->metadata().notes),
                                      {&request.kernel, &kernel.metadata.notes}})
        for (const std::string& note : *notes)
            inputs.warnings.push_back(message("\"", *path, "\": ", note));
    for (const std::string& warning : kernel.warnings) inputs.warnings.push_back(warning);
    inputs.problems.push_back(image_problem(format_of(image), format_of(kernel.values), options,
                                            reader->place_in_file({})));
    inputs.problems.back().inputs = pair_of(std::move(image), std::move(kernel.values));
}

void read_files(const SignalCompareRequest& request, index_t limit_bytes, CompareInputs& inputs) {
    std::vector<Volume> volumes;
    volumes.push_back(read_signals(request, limit_bytes));
    io::OpenSignalOptions filter_options;
    filter_options.raw_type = request.signal_options.raw_type;
    if (request.taps > 0) filter_options.raw_samples = request.taps;
    Timeline unused;
    std::vector<StackFormat> filters;
    for (FilterFile& file : read_filters(request.filter_files, filter_options, unused)) {
        filters.push_back(format_of(file.taps));
        volumes.push_back(std::move(file.taps));
    }
    inputs.problems.push_back(signal_problem(format_of(volumes.front()), filters, request.options));
    inputs.problems.back().inputs = std::move(volumes);
}

/// Reads the files, or makes the problems of a sweep. Throws the errors of reading, OutOfMemory for
/// an input beyond `limit_bytes`, and InvalidArgument for files of several images.
CompareInputs inputs_of(const ImageCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    Options options = request.options;
    for (const index_t size : request.sizes) {
        const index_t edge =
            request.kernel_size > 0 ? request.kernel_size : std::max<index_t>(1, size / 4);
        const Shape3 image{size, size, size}, kernel{edge, edge, edge};
        Problem& problem = inputs.problems.emplace_back(
            image_problem({image, PixelType::uint16}, {kernel, PixelType::float32}, options));
        problem.size = size;
        problem.make_inputs = [image, kernel, seed = request.seed] {
            return pair_of(synthetic_image(image, seed), synthetic_kernel(kernel, seed + 1));
        };
    }
    if (request.sizes.empty()) read_files(request, options, limit_bytes, inputs);
    return inputs;
}

CompareInputs inputs_of(const SignalCompareRequest& request, index_t limit_bytes) {
    CompareInputs inputs;
    const FilterOptions& options = request.options;
    const index_t taps = request.taps > 0 ? request.taps : 257;
    for (const index_t size : request.sizes) {
        Problem& problem = inputs.problems.emplace_back(
            signal_problem({{1, 1, size}, PixelType::float32},
                           {{{1, request.filters, taps}, PixelType::float32}}, options));
        problem.size = size;
        problem.make_inputs = [size, filters = request.filters, taps, seed = request.seed] {
            return pair_of(synthetic_rows(1, size, seed), synthetic_rows(filters, taps, seed + 1));
        };
    }
    if (request.sizes.empty()) read_files(request, limit_bytes, inputs);
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

/// Returns the time now, such as "2026-01-31T12:00:00Z".
std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// Returns the default devices: the CPU, every GPU, and all GPUs together if there are several.
std::vector<std::string> default_devices() {
    std::vector<std::string> devices{"cpu"};
    const std::vector<int> gpus = gpus_of({});
    std::string together = "gpu:";
    for (const int gpu : gpus) {
        devices.push_back(message("gpu:", gpu));
        together += message(gpu == gpus.front() ? "" : "+", gpu);
    }
    if (gpus.size() > 1) devices.push_back(together);
    return devices;
}

void print(const CompareRequest& request, const Json& report) {
    if (request.run.json) return write_stdout(dump(report));
    if (request.run.verbosity == Verbosity::quiet) return;
    std::string text;
    for (const Json& problem : report.at("problems")) {
        text += message('\n', problem.at("name").get<std::string>(),
                        "; reference: ", problem.at("reference").get<std::string>(), '\n');
        const Table table = summary_table(report, problem);
        if (!table.rows.empty()) text += aligned_text(table);
        for (const Json& entry : problem.at("left_out"))
            text += message("left out: ", entry.at("name").get<std::string>(), ": ",
                            entry.at("reason").get<std::string>(), '\n');
    }
    write_stdout(text);
}

/// Returns true if any way was measured.
bool has_measurements(const Json& report) {
    const Json& problems = report.at("problems");
    return std::any_of(problems.begin(), problems.end(),
                       [](const Json& problem) { return !problem.at("ways").empty(); });
}

/// Throws if nothing was measured, or if an error is above the requested limit.
void check_measurements(const CompareRequest& request, const Json& report) {
    if (!has_measurements(report))
        throw Unavailable(message("no way could be measured; \"", request.output,
                                  "\" has the reasons, and --devices and --methods choose others"));
    if (!request.most_error) return;
    std::string worst;
    double largest = -1;
    for (const Json& problem : report.at("problems"))
        for (const Json& way : problem.at("ways")) {
            if (way.at("errors").is_null())
                throw OutOfMemory(sentence(
                    "errors of ", problem.at("name").get<std::string>(),
                    " are unknown (reference: ", problem.at("reference").get<std::string>(),
                    "), so that ", OptionName{"--fail-if-error-above"}, " cannot be answered"));
            const Json& error = way.at("errors").at("relative_linf");
            const double value = error.is_null() ? HUGE_VAL : error.get<double>();
            if (value <= largest) continue;
            largest = value;
            worst = way.at("name");
        }
    if (largest > *request.most_error)
        throw ErrorTooLarge(
            message("the relative L∞ error of ", worst, " is ", format_number(largest, 3),
                    ", above the ", format_number(*request.most_error),
                    " of --fail-if-error-above; \"", request.output, "\" has the report"));
}

/// Measures all ways on the inputs of `request`, of which `files` are the names.
template <class Request>
void compare_ways(const Request& request, const char* unit, std::vector<std::string> files) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    check_outputs({{request.output}, std::move(files), request.overwrite});
    const index_t limit_bytes = host_limit_bytes(request.max_host_bytes);
    const CompareInputs inputs = inputs_of(request, limit_bytes);
    console.warnings(inputs.warnings);
    WayOptionLists lists = request.option_lists;
    if (lists.devices.empty()) lists.devices = default_devices();
    Json report{{"convolume", software_name()},
                {"format", "convolume comparison 1"},
                {"date", utc_now()},
                {"command", command_line()},
                {"finished", false},
                {"repeats", request.repeats},
                {"unit", unit},
                {"machine", machine_json(lists.devices != std::vector<std::string>{"cpu"})},
                {"problems", Json::array()}};
    const auto write = [&] { io::write_whole_file(request.output, dump(report)); };
    const auto save = [&] {
        if (has_measurements(report)) write();
    };
    try {
        run_comparison(inputs.problems,
                       {combinations(lists), request.repeats, request.time_limit_s, limit_bytes,
                        request.reference},
                       report, console, save, interrupt.stop());
    } catch (const Cancelled&) {
        if (!has_measurements(report)) throw Cancelled("interrupted; nothing was written");
        write();
        throw Interrupted(
            message("interrupted; \"", request.output, "\" has a report of what was measured"));
    }
    write();
    print(request, report);
    console.fact("report", request.output);
    check_measurements(request, report);
}

}  // namespace

void compare(const ImageCompareRequest& request) {
    compare_ways(request, "voxel", {request.image, request.kernel});
}

void compare(const SignalCompareRequest& request) {
    std::vector<std::string> files = request.filter_files;
    files.push_back(request.signal);
    compare_ways(request, "sample", std::move(files));
}

}  // namespace convolume::cli
