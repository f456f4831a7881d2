// SPDX-License-Identifier: Apache-2.0
#include "cli/signals/signal_steps.hpp"

#include <unistd.h>

#include <algorithm>

#include "cli/app.hpp"
#include "cli/run/report.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/error.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::cli {

nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info) {
    return {{"file", path},
            {"format", info.format},
            {"type", to_string(info.type)},
            {"shape", extents_json(info.dims)}};
}

WorkAmount SignalSteps::work() const {
    if (!signal_info_.length_known()) return {0, "sample"};
    return {
        static_cast<double>(signal_info_.signals()) * static_cast<double>(signal_info_.samples()),
        "sample"};
}

void SignalSteps::open_signal(const ExecutionContext& context) {
    reader_ = files_.reads_stdin()
                  ? io::open_signal_pipe(STDIN_FILENO, files_.signal_file, context.stop)
                  : io::open_signal(files_.signal, files_.signal_file);
    use_signal(reader_->info());
}

void SignalSteps::use_signal(const io::SignalInfo& info) {
    signal_info_ = info;
    if (files_.input_rate_hz) signal_info_.coordinates.sampling_rate_hz = files_.input_rate_hz;
}

io::CreateSignalOptions SignalSteps::options_of_results() const {
    io::CreateSignalOptions create = files_.create;
    create.software = software_name();
    create.coordinates = result_coordinates();
    if (files_.create.coordinates.sampling_rate_hz)
        create.coordinates.sampling_rate_hz = files_.create.coordinates.sampling_rate_hz;
    return create;
}

void SignalSteps::create_results() {
    const io::SampleType type = io::sample_type_of(result_type());
    results_ = files_.writes_stdout()
                   ? io::create_signal_pipe(STDOUT_FILENO, type, files_.create.stored)
                   : io::create_signal(files_.output, result_dims(), type, options_of_results());
}

index_t SignalSteps::for_each_block(index_t signal, index_t samples,
                                    const ExecutionContext& context,
                                    const std::function<void(const ImageView& block)>& use) {
    const bool is_known = signal_info_.length_known();
    const index_t all = signal_info_.samples();
    if (is_known) samples = std::min(samples, all);
    Volume block({1, 1, samples}, signal_info_.type);
    for (index_t begin = 0;;) {
        throw_if_stopped(context);
        index_t count = is_known ? std::min(samples, all - begin) : samples;
        {
            const auto bytes = count * static_cast<index_t>(size_of(signal_info_.type));
            const PhaseTimer timer(context.timeline, Phase::read, -1, -1, bytes);
            void* const to = block.view().data;
            if (is_known)
                reader_->read(signal, begin, count, to);
            else
                count = std::max<index_t>(0, reader_->read_until_end(signal, begin, count, to));
        }
        if (count > 0) use(subview(block.view(), {{0, 0, 0}, {1, 1, count}}));
        begin += count;
        if (is_known && context.progress)
            context.progress(static_cast<double>(signal * all + begin) / work().amount);
        if (is_known ? begin == all : count < samples) return begin;
    }
}

void SignalSteps::count_clamped() {
    const ClampCount clamped = results_->clamped();
    executed_.clamped_low += clamped.low;
    executed_.clamped_high += clamped.high;
}

std::string SignalSteps::type_text(PixelType type) const {
    const auto named = io::stored_type_of_name(files_.output);
    const auto stored = files_.create.stored ? files_.create.stored : named;
    return stored ? io::to_string(*stored) : to_string(type);
}

std::string SignalSteps::result_text() const {
    const auto rate_hz = options_of_results().coordinates.sampling_rate_hz;
    return message(extents_text(result_dims()), ' ', type_text(result_type()),
                   rate_hz ? message(", ", *rate_hz, " Hz") : "");
}

void SignalSteps::tell_plan(const Facts& facts) const {
    facts.console.fact("signal", message(files_.signal, ": ", signal_info_.format, ", ",
                                         signal_info_.to_string()));
    facts.json["input"] = file_json(files_.signal, signal_info_);
    facts.json["input"]["rate_hz"] = or_null(signal_info_.coordinates.sampling_rate_hz);
}

void SignalSteps::tell_result(const Facts& facts) const {
    facts.console.warnings(changed_samples_warnings({executed_.clamped_low, executed_.clamped_high,
                                                     type_text(result_type()), "type",
                                                     executed_.nonfinite_inputs, "signal"}));
}

void SignalSteps::tell_output(const Facts& facts) const {
    facts.console.fact("output",
                       message(files_.output, files_.output.empty() ? "" : ": ", result_text()));
    facts.json["output"] = {{"file", nullptr},
                            {"shape", extents_json(result_dims())},
                            {"type", type_text(result_type())}};
    const io::SignalCoordinates coordinates = options_of_results().coordinates;
    facts.json["output"]["rate_hz"] = or_null(coordinates.sampling_rate_hz);
    if (coordinates.sampling_rate_hz) facts.json["output"]["start_s"] = coordinates.start_s;
    if (!files_.output.empty()) facts.json["output"]["file"] = files_.output;
}

RunFiles SignalRequest::files() const {
    RunFiles files{{run.timeline}, {}, create.overwrite};
    if (!writes_stdout()) files.outputs.push_back(output);
    if (!reads_stdin()) files.inputs.push_back(signal);
    return files;
}

bool holds_sampling_rate(const std::string& path) {
    return !path.empty() && path != standard_stream && !io::stored_type_of_name(path) &&
           !path.ends_with(".raw") && !path.ends_with(".bin");
}

void add_signal(CLI::App& app, SignalRequest& request, const char* rate_names) {
    app.add_option(
           "SIGNAL", request.signal,
           "NPY, file.h5, file.h5:/dataset, WAV, raw (.f32, .c64, .i16, .ci16, …), or - for WAV or "
           "raw samples on standard input: the last axis holds the samples")
        ->required();
    begin_group(app, groups::input);
    add_raw_options(app, request.signal_file);
    add_parsed(app, rate_names, request.input_rate_hz, parse_above_zero, "HZ",
               "Sampling rate of SIGNAL (default: the one that its file names)");
}

void check_latency(const SignalRequest& request) {
    if (request.latency &&
        (!request.reads_stdin() || (!request.writes_stdout() && !request.run.dry_run)))
        throw InvalidArgument(
            "--latency is for live signals, from standard input to standard output: give - for "
            "SIGNAL and for OUT, or leave --latency out");
}

void check_standard_input(const SignalRequest& request) {
    if (request.reads_stdin() && isatty(STDIN_FILENO) == 1)
        throw InvalidArgument(
            "standard input is a terminal; pipe samples into convolume, or name a file");
}

void check_signal_files(const SignalRequest& request) {
    require_output(request.output, request.run);
    check_standard_input(request);
    if (!request.writes_stdout() || request.run.dry_run) return;
    if (request.run.json)
        throw InvalidArgument(
            "both samples and --json would go to standard output; leave out one of them");
    if (isatty(STDOUT_FILENO) == 1)
        throw InvalidArgument(
            "samples are not written to a terminal; pipe them on, or name a file (-o OUT)");
}

}  // namespace convolume::cli
