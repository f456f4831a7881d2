// SPDX-License-Identifier: Apache-2.0

#include "cli/run/common_options.hpp"

#include <array>
#include <utility>

#include "cli/run/run.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

int parse_parts(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, int>, 6> choices{
        {{"auto", 0}, {"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}}};
    for (const auto& [name, parts] : choices)
        if (text == name) return parts;
    throw InvalidArgument(
        message("--parts is auto, 1, 2, 4, 8 or 16, not \"", text, "\"; choose one of these"));
}

void add_device_option(CLI::App& app, EngineChoice& engines) {
    add_taken(
        app, "--device", [&engines](const std::string& text) { set_devices(engines, text); },
        "auto|cpu|gpu|gpu:0,1",
        "Where to compute (default auto: CPU or GPUs, whichever is predicted to be faster)");
}

void add_threads_option(CLI::App& app, int& threads) {
    add_parsed(app, "--threads", threads, parse_positive<int>, "N", "CPU threads (default: all)");
}

void add_convolution_options(CLI::App& app, Options& options, EngineChoice& engines) {
    begin_group(app, groups::method);
    add_options(app, options, {"method"});
    add_option_parsed_by(app, options, "parts", parse_parts);
    add_options(app, options, {"precision"});
    begin_group(app, groups::machine);
    add_device_option(app, engines);
    add_options(app, engines,
                {"cpu_engines", "max_cpu_engine_bytes", "max_gpu_bytes", "transfer_gate", "fft"});
    add_options(app, options, {"max_host_bytes"});
    add_options(app, engines, {"threads"});
}

void add_filter_machine_options(CLI::App& app, FilterOptions& options, EngineChoice& engines) {
    begin_group(app, groups::machine);
    add_options(app, options, {"method", "segment", "precision", "chunk"});
    add_device_option(app, engines);
    add_options(app, engines, {"max_gpu_bytes", "fft"});
    add_options(app, options, {"max_host_bytes"});
    add_options(app, engines, {"threads"});
}

void add_json_option(CLI::App& app, RunOptions& options) {
    app.add_flag("--json", options.json, "Print a JSON object on stdout");
}

CLI::Option* add_quiet_option(CLI::App& app, RunOptions& options) {
    return app.add_flag_callback(
        "-q,--quiet", [&options] { options.verbosity = Verbosity::quiet; },
        "Only warnings and errors");
}

void add_run_options(CLI::App& app, RunOptions& options) {
    app.add_flag("--dry-run", options.dry_run, "Print the plan; compute and write nothing");
    add_json_option(app, options);
    add_value(app, "--timeline", options.timeline, "FILE",
              "Write a timeline of the run for Perfetto or chrome://tracing");
    add_verbosity_options(app, options, "Also print the full plan");
}

void add_verbosity_options(CLI::App& app, RunOptions& options, const char* verbose_help) {
    CLI::Option* quiet = add_quiet_option(app, options);
    app.add_flag_callback(
           "-v,--verbose", [&options] { options.verbosity = Verbosity::verbose; }, verbose_help)
        ->excludes(quiet);
}

void require_output(const std::string& output, const RunOptions& options) {
    if (output.empty() && !options.dry_run)
        throw InvalidArgument("no output was named; give -o OUT, or --dry-run for the plan alone");
}

void add_raw_options(CLI::App& app, io::OpenSignalOptions& options) {
    add_parsed(app, "--raw", options.raw_type, io::parse_stored_type,
               "float32|complex64|int16|ci16|…", "Type of raw samples that no file name gives");
    add_parsed(app, "--header", options.raw_header, parse_positive<index_t>, "BYTES",
               "Bytes before the first raw sample (default 0)");
    add_parsed(app, "--byte-order", options.raw_byte_order, io::parse_byte_order, "little|big",
               "Byte order of raw samples (default little)");
    add_parsed(app, "--signals", options.raw_signals, parse_positive<index_t>, "N",
               "Number of signals of equal length in a raw file, or on standard input");
    add_parsed(app, "--layout", options.raw_layout, io::parse_signal_layout, "planar|interleaved",
               "Order of the raw samples of several signals: one signal after the other, or a "
               "sample of each in turn. Files need it; standard input is interleaved");
}

}  // namespace convolume::cli
