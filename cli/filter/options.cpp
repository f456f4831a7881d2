// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume filter`.

#include <unistd.h>

#include <memory>

#include "cli/app.hpp"
#include "cli/files/raw_options.hpp"
#include "cli/filter/command.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

void add_inputs(CLI::App& app, FilterRequest& request) {
    app.add_option(
           "SIGNAL", request.signal,
           "NPY, file.h5, file.h5:/dataset, WAV, raw (.f32, .c64, .i16, .ci16, …), or - for raw "
           "samples on standard input: the last axis holds the samples")
        ->required();
    app.add_option("FILTERS", request.filters,
                   "One or more files, each with one filter (1D) or several (filters × taps)")
        ->required();
    const char* group = "What is read";
    add_raw_options(app, group, request.signal_file);
    add_parsed(app, "--taps", request.filter_files.raw_samples, parse_positive<index_t>, "M",
               "Taps per filter in raw FILTERS")
        ->group(group);
}

void add_meaning(CLI::App& app, FilterOptions& options) {
    const char* group = "What is computed";
    CLI::Option* mode = add_parsed(app, "--mode", options.mode, parse_mode, "full|same|valid",
                                   "Size of the result (default same)")
                            ->group(group);
    add_parsed(app, "--range", options.range, parse_sample_range, "A:B",
               "Samples A to B-1 of the full result, instead of a mode")
        ->group(group)
        ->excludes(mode);
    add_parsed(app, "--origin", options.origin, parse_filter_origin, "center|causal|anticausal|N",
               "Index of the tap aligned with the result's sample (default center: (M-1)/2)")
        ->group(group);
    add_parsed(app, "--post", options.post, parse_point_post, "none|power|derivative",
               "Applied to each sample of the result: power is |y|², derivative is (y[n+1] - "
               "y[n-1]) / 2 (default none)")
        ->group(group);
    add_parsed(
        app, "--window", options.window, parse_window_post, "none|decimate:W|peak:W",
        "Store one of every W samples: the first (decimate) or the largest (peak) (default: all)")
        ->group(group);
    add_parsed(app, "--nan", options.nan, parse_nan_policy, "error|zero|propagate",
               "What to do with NaN and infinities in the signal (default error)")
        ->group(group);
}

void add_execution(CLI::App& app, FilterRequest& request) {
    const char* group = "How it is computed";
    FilterOptions& options = request.options;
    add_parsed(app, "--method", options.method, parse_filter_method,
               "auto|direct|overlap-save|overlap-add|partitioned",
               "Default auto: the fastest predicted method")
        ->group(group);
    add_parsed(app, "--segment", options.segment, parse_positive<index_t>, "N",
               "Length of the transforms (default: chosen automatically)")
        ->group(group);
    add_parsed(app, "--precision", options.precision, parse_precision, "float32|float64",
               "Precision of the computation and the result (default float32)")
        ->group(group);
    add_parsed(app, "--chunk", options.chunk, parse_positive<index_t>, "N",
               "Results computed and written at a time (default: chosen automatically; 65536 from "
               "standard input, or four times the taps)")
        ->group(group);
    add_device_option(app, group, request.engines);
    add_gpu_memory_option(app, group, request.engines);
    add_parsed(app, "--max-host-mem", options.max_host_bytes, parse_byte_size, "SIZE",
               "Memory for buffers that read, filter and write (default: a quarter of free memory)")
        ->group(group);
    add_engine_threads_option(app, group, request.engines);
}

void add_output(CLI::App& app, FilterRequest& request) {
    const char* group = "What is written";
    app.add_option(
           "-o,--output", request.output,
           "The result: .npy, .h5, .h5:/dataset, .wav, .f32, .c64, .i16, .ci16, …, .raw, or "
           "- for raw samples on standard output")
        ->type_name("OUT")
        ->group(group);
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "float32|int16|ci16|…",
               "How samples are stored on standard output, in .raw and in .wav files; integers are "
               "rounded and clamped (default: the result's type; float32 in .wav)")
        ->group(group);
    add_parsed(
        app, "--rate", request.create.sampling_rate_hz, parse_number, "HZ",
        "Sampling rate that a .wav file names (default: the signal's, divided by the window)")
        ->group(group);
    app.add_option("--positions", request.positions,
                   "Positions of the peaks: indices of the signal's samples, int64: .npy, "
                   ".h5[:/dataset] or .i64")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_run_options(app, group, request.run);
}

void check(const FilterRequest& request) {
    require_output(request.output, request.run);
    if (!request.positions.empty() && request.options.window.kind != WindowPost::Kind::peak)
        throw InvalidArgument("--positions are positions of peaks; add --window peak:W");
    if (request.positions == standard_stream)
        throw InvalidArgument("--positions are not written to standard output; name a file");
    if (request.create.sampling_rate_hz && !request.output.empty() &&
        !request.output.ends_with(".wav") && !request.output.ends_with(".WAV"))
        throw InvalidArgument("only .wav files name a sampling rate; leave --rate out");
    if (request.reads_stdin() && isatty(STDIN_FILENO) == 1)
        throw InvalidArgument(
            "standard input is a terminal; pipe samples into convolume, or name a file");
    if (!request.writes_stdout() || request.run.dry_run) return;
    if (request.run.json)
        throw InvalidArgument(
            "both samples and --json would go to standard output; leave out one of them");
    if (isatty(STDOUT_FILENO) == 1)
        throw InvalidArgument(
            "samples are not written to a terminal; pipe them on, or name a file (-o OUT)");
}

}  // namespace

void add_filter_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("filter", "Filter long 1D signals with a bank of filters");
    auto request = std::make_shared<FilterRequest>();
    add_inputs(*command, *request);
    add_meaning(*command, request->options);
    add_execution(*command, *request);
    add_output(*command, *request);
    command->callback([request, &action] {
        request->filter_files.raw_type = request->signal_file.raw_type;
        check(*request);
        action = [request] { run_steps<FilterSteps>(*request); };
    });
}

}  // namespace convolume::cli
