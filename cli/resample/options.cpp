// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume resample`.

#include <memory>

#include "cli/app.hpp"
#include "cli/resample/command.hpp"
#include "cli/run/common_options.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

void add_inputs(CLI::App& app, ResampleRequest& request) {
    add_signal(app, request);
    add_parsed(app, "--input-rate", request.input_rate_hz, parse_number, "HZ",
               "Sampling rate of SIGNAL (default: the one that a WAV file names)")
        ->group(groups::input);
}

void add_computation(CLI::App& app, ResampleRequest& request) {
    const char* group = groups::method;
    CLI::Option* const rate = add_parsed(app, "--rate", request.rate_hz, parse_number, "HZ",
                                         "Sampling rate of the result, a multiple of 0.001 Hz")
                                  ->group(group);
    add_parsed(app, "--up", request.up, parse_positive<index_t>, "L",
               "Factor by which the rate is raised (default 1)")
        ->group(group)
        ->excludes(rate);
    add_parsed(app, "--down", request.down, parse_positive<index_t>, "M",
               "Factor by which the rate is lowered (default 1)")
        ->group(group)
        ->excludes(rate);
    add_parsed(app, "--zeros", request.zero_crossings, parse_positive<index_t>, "N",
               "Zero crossings of the low-pass filter on each side: more are steeper (default 10)")
        ->group(group);
    add_parsed(
        app, "--kaiser", request.kaiser, parse_number, "BETA",
        "Parameter of its Kaiser window: larger ones damp more and are less steep (default 5)")
        ->group(group);
    app.add_option("--filter", request.filter,
                   "File with the taps of another filter, for the rate of SIGNAL times L; the "
                   "middle tap is its center")
        ->type_name("FILE")
        ->group(group);
    add_parsed(app, "--extend", request.options.extension, parse_signal_extension,
               "constant|edge|symmetric|reflect|antisymmetric|antireflect|smooth",
               "How signals continue beyond their ends (default constant: zeros)")
        ->group(group);
    add_parsed(app, "--precision", request.options.precision, parse_precision, "float32|float64",
               "Precision of the computation and the result (default float32)")
        ->group(group);
}

void add_output(CLI::App& app, ResampleRequest& request) {
    const char* group = groups::output;
    app.add_option("-o,--output,OUT", request.output,
                   "The result: .npy, .h5, .h5:/dataset, .wav, .f32, .c64, .i16, .ci16, …, .raw, "
                   "or - for raw samples on standard output")
        ->type_name("OUT")
        ->group(group);
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "float32|int16|ci16|…",
               "How samples are stored on standard output, in .raw and in .wav files; integers are "
               "rounded and clamped (default: the result's type; float32 in .wav)")
        ->group(group);
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_run_options(app, group, request.run);
}

void check_request(const ResampleRequest& request) {
    require_output(request.output, request.run);
    if (!request.rate_hz && !request.up && !request.down)
        throw InvalidArgument(
            "nothing says how to resample; give --rate HZ, or --up L and --down M");
    if (request.options.extension == SignalExtension::wrap ||
        request.options.extension == SignalExtension::line)
        throw InvalidArgument(message("--extend ", to_string(request.options.extension),
                                      " needs both ends of a signal at once, which is read in "
                                      "chunks here; choose another"));
    check_standard_input(request);
    check_standard_output(request);
}

}  // namespace

void add_resample_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("resample", "Change the sampling rate of long 1D signals");
    auto request = std::make_shared<ResampleRequest>();
    set_examples(*command, {"convolume resample music.wav music48.wav --rate 48000",
                            "convolume resample signal.npy half.npy --down 2"});
    add_inputs(*command, *request);
    add_computation(*command, *request);
    const char* machine = groups::machine;
    add_parsed(*command, "--chunk", request->chunk, parse_positive<index_t>, "N",
               "Samples read at a time (default 1048576; 65536 from standard input)")
        ->group(machine);
    add_threads_option(*command, machine, request->options.threads);
    add_output(*command, *request);
    command->callback([request, &action] {
        check_request(*request);
        action = [request] { run_steps<ResampleSteps>(*request); };
    });
}

}  // namespace convolume::cli
