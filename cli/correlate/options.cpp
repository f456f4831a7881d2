// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume correlate`.

#include <memory>

#include "cli/app.hpp"
#include "cli/correlate/command.hpp"
#include "cli/text/option_help.hpp"
#include "signals/option_table.hpp"

namespace convolume::cli {

namespace {

void add_inputs(CLI::App& app, CorrelateRequest& request) {
    add_signal(app, request);
    app.add_option("TEMPLATES", request.templates,
                   "Files, each with one template (1D) or several (templates × samples)");
    const char* group = groups::input;
    add_parsed(app, "--taps", request.template_files.raw_samples, parse_positive<index_t>, "M",
               "Samples per template in raw TEMPLATES")
        ->group(group);
    add_parsed(app, "--rate", request.rate_hz, parse_number, "HZ",
               "Sampling rate of SIGNAL, for times and chirps (default: the one that a WAV file "
               "names)")
        ->group(group);
}

/// Parses "A:B", or "A" for A:A.
std::pair<double, double> parse_numbers(std::string_view option, const std::string& text) {
    const std::size_t colon = text.find(':');
    const double first = parse_number(option, text.substr(0, colon));
    return {first,
            colon == std::string::npos ? first : parse_number(option, text.substr(colon + 1))};
}

void add_chirps(CLI::App& app, ChirpBankOptions& chirps) {
    const char* group = "Chirps instead of TEMPLATES";
    CLI::Option* const samples =
        add_parsed(app, "--chirps", chirps.samples, parse_positive<index_t>, "N",
                   "Correlate with chirps of N samples")
            ->group(group);
    add_parsed(app, "--frequencies", chirps.frequency_hz, parse_numbers, "A:B",
               "Their frequencies in the middle, in Hz (without --rate in cycles per sample)")
        ->group(group)
        ->needs(samples);
    add_parsed(app, "--drifts", chirps.drift_hz_per_s, parse_numbers, "A:B",
               "Derivatives of the frequency, in Hz per second (default 0)")
        ->group(group)
        ->needs(samples);
    add_parsed(app, "--mismatch", chirps.mismatch, parse_number, "M",
               "Largest fraction of the SNR that a chirp loses between two of them (default 0.03)")
        ->group(group)
        ->needs(samples);
}

void add_computation(CLI::App& app, CorrelateRequest& request) {
    const char* group = groups::method;
    CorrelationOptions& options = request.options;
    add_options(app, group, options, {"noise", "noise_block", "threshold", "window", "position"});
    app.get_option("--noise")->excludes(app.get_option("--noise-block"));
    app.add_flag("--per-template", options.per_template,
                 "Find the peaks of each template by itself; else an event gives one peak, of the "
                 "template that fits best")
        ->group(group);
    add_options(app, group, options.filters, {"mode", "nan"});
}

void add_execution(CLI::App& app, CorrelateRequest& request) {
    const char* group = groups::machine;
    FilterOptions& options = request.options.filters;
    add_options(app, group, options, {"method", "segment", "precision", "chunk"});
    add_device_option(app, group, request.engines);
    add_options(app, group, request.engines, {"max_gpu_bytes", "fft"});
    add_options(app, group, options, {"max_host_bytes"});
    add_options(app, group, request.engines, {"threads"});
}

void add_output(CLI::App& app, CorrelateRequest& request) {
    const char* group = groups::output;
    app.add_option("-o,--output", request.output,
                   "The table of peaks: .csv, .json, or - for CSV on standard output")
        ->type_name("OUT")
        ->group(group);
    app.add_option("--snr", request.series,
                   "Also write the SNR of every template and position: .npy, .h5, .h5:/dataset, "
                   ".wav, .f32, .c64, …")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_run_options(app, group, request.run);
}

void check_request(const CorrelateRequest& request) {
    require_output(request.output, request.run);
    if (!request.output.empty()) table_format(request.output);
    if (request.series == standard_stream)
        throw InvalidArgument("--snr is not written to standard output; name a file");
    if (request.templates.empty() == (request.chirps.samples == 0))
        throw InvalidArgument(request.templates.empty()
                                  ? "nothing says what to look for; name files of templates, or "
                                    "give --chirps"
                                  : "templates and --chirps are two banks; leave out one of them");
    if (request.rate_hz && !(*request.rate_hz > 0))
        throw InvalidArgument(message("--rate is a number of Hz above 0, not ", *request.rate_hz));
    check_standard_input(request);
    if (request.writes_stdout() && !request.run.dry_run && request.run.json)
        throw InvalidArgument(
            "both peaks and --json would go to standard output; leave out one of them");
}

}  // namespace

void add_correlate_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "correlate", "Find templates in long 1D signals: matched filters and their peaks");
    auto request = std::make_shared<CorrelateRequest>();
    set_examples(
        *command,
        {"convolume correlate signal.npy templates.npy -o peaks.csv --noise-block 4000",
         "convolume correlate music.wav -o peaks.json --chirps 512 --frequencies 400:500"});
    add_inputs(*command, *request);
    add_computation(*command, *request);
    add_chirps(*command, request->chirps);
    add_execution(*command, *request);
    add_output(*command, *request);
    command->callback([request, &action] {
        request->template_files.raw_type = request->signal_file.raw_type;
        check_request(*request);
        action = [request] { run_steps<CorrelateSteps>(*request); };
    });
}

}  // namespace convolume::cli
