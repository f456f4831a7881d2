// SPDX-License-Identifier: Apache-2.0
// `convolume channelize` as the steps of a run: signals stream from file to file through a
// Channelizer.

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/signals/signal_steps.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/channelizer.hpp"
#include "convolume/volume.hpp"
#include "core/report.hpp"

namespace convolume::cli {

namespace {

/// The request of the command line.
struct ChannelizeRequest : SignalRequest {
    std::string prototype;  ///< file of the taps; empty: those of a windowed sinc
    bool tail = false;      ///< also frames after the end of the signal
    ChannelizerOptions options;
    EngineChoice engines;

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        if (!prototype.empty()) files.inputs.push_back(prototype);
        return files;
    }
};

// Bytes of the frames that are computed at once.
constexpr index_t block_bytes = index_t{1} << 25;
// Frames that are written at once to standard output, where they are to leave early.
constexpr index_t piped_samples = index_t{1} << 16;

std::vector<double> read_prototype(const std::string& path) {
    const auto reader = io::open_signal(path);
    const io::SignalInfo& info = reader->info();
    if (info.dims.size() != 1)
        throw BadData(message("a prototype is one row of taps, but \"", path, "\" holds ",
                              info.to_string(), "; save it as 1D"));
    if (is_complex(info.type))
        throw BadData(message("a prototype has real taps, but \"", path, "\" holds ",
                              info.to_string(), "; save its real part"));
    Volume taps({1, 1, info.samples()}, info.type);
    reader->read(0, 0, info.samples(), taps.view().data);
    std::vector<double> values;
    for (index_t l = 0; l < info.samples(); ++l)
        visit_pixel_type(info.type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_arithmetic_v<T>)
                values.push_back(static_cast<double>(taps.view().at<T>(0, 0, l)));
        });
    return values;
}

void add_computation(CLI::App& app, ChannelizeRequest& request) {
    begin_group(app, groups::method);
    add_options(app, request.options, {"channels", "taps_per_channel", "step", "first"});
    app.get_option("--channels")->required();
    add_options(app, request.options, {"window"});
    add_value(app, "--prototype", request.prototype, "FILE",
              "File of the prototype's taps, one row, instead of a windowed sinc")
        ->excludes(app.get_option("--window"))
        ->excludes(app.get_option("--taps"));
    app.add_flag("--tail", request.tail,
                 "Also the frames after the signal's end that depend on the signal");
    add_options(app, request.options, {"nan"});
}

void add_output(CLI::App& app, ChannelizeRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The result, channels × frames: .npy, .h5, .h5:/dataset, .c64, .ci16, …, .raw, "
              "or - for raw frames × channels on standard output");
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "complex64|ci16|…",
               "How samples are stored on standard output and in .raw files; integers are rounded "
               "and clamped (default: the result's type)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_run_options(app, request.run);
}

class ChannelizeSteps : public SignalSteps {
  public:
    explicit ChannelizeSteps(const ChannelizeRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        open_signal(context);
        options_ = request_.options;
        if (!request_.prototype.empty()) options_.prototype = read_prototype(request_.prototype);
    }

    void plan(const ExecutionContext&) override {
        channelizer_.emplace(options_, signal_info_.type, request_.engines);
        if (signal_info_.length_known())
            frames_ = channelizer_->frames(signal_info_.samples(), request_.tail);
        check_pipes();
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        create_results();
        run_to_end(context, "frames", [&](const ExecutionContext& recorded) {
            for (index_t signal = 0; signal < signal_info_.signals(); ++signal)
                frames_ = divide(signal, recorded);
        });
        count_clamped();
    }

    void tell_plan(const Facts& facts) const override {
        SignalSteps::tell_plan(facts);
        const ChannelizerPlan& plan = channelizer_->plan();
        report_plan(facts.console, request_.run, plan.to_string(),
                    message(plan.channels, " channels, ", plan.taps_per_channel,
                            " taps each, a frame every ", plan.step, " samples, ", plan.method,
                            " on ", plan.engine));
        facts.json["plan"] = {
            {"channels", plan.channels}, {"taps_per_channel", plan.taps_per_channel},
            {"step", plan.step},         {"first", plan.first},
            {"engine", plan.engine},     {"method", plan.method}};
    }

  private:
    /// Throws InvalidArgument if a pipe would carry several signals, or a file channels of unknown
    /// length.
    void check_pipes() const {
        if (signal_info_.signals() > 1 && request_.writes_stdout())
            throw InvalidArgument(
                message("standard output holds the channels of one signal, and here "
                        "are ",
                        signal_info_.signals(), " signals; name a file"));
        if (!signal_info_.length_known() && !request_.writes_stdout() && !request_.output.empty())
            throw InvalidArgument(
                "a file holds one channel after another, so that the length of the signal must be "
                "known; write the frames of standard input to standard output (-o -)");
        if (signal_info_.length_known() && frames_ == 0)
            throw InvalidArgument(message("a signal of ", signal_info_.samples(),
                                          " samples ends before frame 0, which ends with sample ",
                                          options_.first, "; choose an earlier --first"));
    }

    /// Returns the extents of the result: the signal's axes but the last, channels, and frames.
    std::vector<index_t> result_dims() const override {
        const index_t channels = channelizer_->plan().stored_channels;
        if (request_.writes_stdout())
            return {signal_info_.length_known() ? frames_ : unknown_samples, channels};
        std::vector<index_t> dims(signal_info_.dims.begin(), signal_info_.dims.end() - 1);
        dims.push_back(channels);
        dims.push_back(frames_);
        return dims;
    }

    PixelType result_type() const override { return channelizer_->plan().frame_type; }
    io::SignalCoordinates result_coordinates() const override {
        const ChannelizerPlan& plan = channelizer_->plan();
        io::SignalCoordinates coordinates = signal_info_.coordinates;
        coordinates.center_frequencies_hz.clear();
        if (!coordinates.sampling_rate_hz) return coordinates;
        const double rate_hz = *coordinates.sampling_rate_hz;
        coordinates.start_s += plan.first_middle / rate_hz;
        coordinates.sampling_rate_hz = rate_hz / static_cast<double>(plan.step);
        for (index_t m = 0; m < plan.stored_channels; ++m)
            coordinates.center_frequencies_hz.push_back(plan.center_frequency(m) * rate_hz);
        return coordinates;
    }
    std::string result_text() const override {
        return SignalSteps::result_text() +
               (request_.writes_stdout() ? ", frames × channels" : ", channels × frames");
    }

    /// Reads a signal in blocks and writes its frames. Returns the number of frames.
    index_t divide(index_t signal, const ExecutionContext& context) {
        const ChannelizerPlan& plan = channelizer_->plan();
        const bool known = signal_info_.length_known();
        const auto sample = static_cast<index_t>(size_of(signal_info_.type));
        const index_t at_once =
            known ? std::max(plan.step, block_bytes / sample) : std::max(plan.step, piped_samples);
        ChannelizerStream stream(*channelizer_);
        index_t frame = 0;
        const auto push = [&](const ConstImageView& block) {
            const index_t count = stream.frames(block.shape.x);
            Volume frames({1, count, plan.stored_channels}, plan.frame_type);
            {
                const PhaseTimer timer(context.timeline, Phase::convolve);
                executed_.nonfinite_inputs +=
                    stream.push(block, frames.view(), without_progress(context)).nonfinite_inputs;
            }
            const PhaseTimer timer(context.timeline, Phase::write);
            write(signal, frame, count, frames);
            frame += count;
        };
        const index_t samples = for_each_block(signal, at_once, context, push);
        if (samples == 0) throw BadData("the signal has no samples");
        if (request_.tail) {
            const index_t after = channelizer_->frames(samples, true) - frame;
            index_t zeros = 0;
            while (stream.frames(zeros) < after) ++zeros;
            if (zeros > 0) push(Volume({1, 1, zeros}, signal_info_.type).view());
        }
        return frame;
    }

    /// Writes frames begin … begin+count-1 of a signal: in a file channel by channel, to standard
    /// output frame by frame.
    void write(index_t signal, index_t begin, index_t count, const Volume& frames) {
        const index_t channels = frames.shape().x;
        if (count == 0) return;
        if (request_.writes_stdout())
            return results_->write(0, begin * channels, count * channels, frames.view().data);
        const std::size_t bytes = size_of(frames.type());
        row_.resize(static_cast<std::size_t>(count) * bytes);
        const char* const from = static_cast<const char*>(frames.view().data);
        for (index_t m = 0; m < channels; ++m) {
            for (index_t n = 0; n < count; ++n)
                std::memcpy(row_.data() + static_cast<std::size_t>(n) * bytes,
                            from + static_cast<std::size_t>(n * channels + m) * bytes, bytes);
            results_->write(signal * channels + m, begin, count, row_.data());
        }
    }

    const ChannelizeRequest& request_;
    ChannelizerOptions options_;  ///< the request's, with the prototype of its file
    std::optional<Channelizer> channelizer_;
    std::vector<char> row_;  ///< samples of one channel
    index_t frames_ = 0;     ///< frames written of each signal
};

}  // namespace

void add_channelize_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "channelize", "Divide 1D signals into channels by a polyphase filter bank");
    auto request = std::make_shared<ChannelizeRequest>();
    set_examples(*command, {"convolume channelize recording.ci16 --channels 1024 -o channels.npy",
                            "convolume channelize music.wav --channels 64 --step 48 -o bands.npy"});
    add_signal(*command, *request);
    add_computation(*command, *request);
    begin_group(*command, groups::machine);
    add_options(*command, request->options, {"precision"});
    add_options(*command, request->engines, {"fft", "threads"});
    add_output(*command, *request);
    command->callback([request, &action] {
        check_signal_files(*request);
        request->engines.device = EngineChoice::Device::cpu;
        action = [request] { run_steps<ChannelizeSteps>(*request); };
    });
}

}  // namespace convolume::cli
