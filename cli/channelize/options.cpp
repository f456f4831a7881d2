// SPDX-License-Identifier: Apache-2.0
// The command line of `convolume channelize`.

#include <memory>

#include "cli/app.hpp"
#include "cli/channelize/command.hpp"
#include "cli/text/option_help.hpp"

namespace convolume::cli {

namespace {

void add_computation(CLI::App& app, ChannelizeRequest& request) {
    const char* group = groups::method;
    add_options(app, group, request.options, {"channels", "taps_per_channel", "step", "first"});
    app.get_option("--channels")->required();
    add_options(app, group, request.options, {"window"});
    app.add_option("--prototype", request.prototype,
                   "File of the prototype's taps, one row, instead of a windowed sinc")
        ->type_name("FILE")
        ->excludes(app.get_option("--window"))
        ->excludes(app.get_option("--taps"))
        ->group(group);
    app.add_flag("--tail", request.tail,
                 "Also the frames after the signal's end that depend on the signal")
        ->group(group);
    add_options(app, group, request.options, {"nan"});
}

void add_output(CLI::App& app, ChannelizeRequest& request) {
    const char* group = groups::output;
    app.add_option("-o,--output", request.output,
                   "The result, channels × frames: .npy, .h5, .h5:/dataset, .c64, .ci16, …, .raw, "
                   "or - for raw frames × channels on standard output")
        ->type_name("OUT")
        ->group(group);
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "complex64|ci16|…",
               "How samples are stored on standard output and in .raw files; integers are rounded "
               "and clamped (default: the result's type)")
        ->group(group);
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist")
        ->group(group);
    add_run_options(app, group, request.run);
}

void check_request(const ChannelizeRequest& request) {
    require_output(request.output, request.run);
    check_standard_input(request);
    check_standard_output(request);
}

}  // namespace

void add_channelize_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "channelize", "Divide 1D signals into channels by a polyphase filter bank");
    auto request = std::make_shared<ChannelizeRequest>();
    set_examples(*command, {"convolume channelize recording.ci16 --channels 1024 -o channels.npy",
                            "convolume channelize music.wav --channels 64 --step 48 -o bands.npy"});
    add_signal(*command, *request);
    add_computation(*command, *request);
    add_options(*command, groups::machine, request->options, {"precision"});
    add_options(*command, groups::machine, request->engines, {"fft", "threads"});
    add_output(*command, *request);
    command->callback([request, &action] {
        check_request(*request);
        request->engines.device = EngineChoice::Device::cpu;
        action = [request] { run_steps<ChannelizeSteps>(*request); };
    });
}

}  // namespace convolume::cli
