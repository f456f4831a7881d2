// SPDX-License-Identifier: Apache-2.0
// `convolume channelize` as the steps of a run: signals stream from file to file through a
// Channelizer.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/signals/push_times.hpp"
#include "cli/signals/signal_steps.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/channelizer.hpp"
#include "convolume/frame_pipe.hpp"
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
    add_parsed(app, "--latency", request.latency, parse_positive<index_t>, "N",
               "Divide blocks of N samples as they arrive, and write the frames of each at once. "
               "SIGNAL and OUT are -");
}

void add_output(CLI::App& app, ChannelizeRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The result, channels × frames: .npy, .h5, .h5:/dataset, .c64, .ci16, …, .raw, "
              "or - for raw frames × signals × channels on standard output");
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
        if (request_.reads_stdin()) {
            input_ = io::open_frame_pipe(STDIN_FILENO, request_.signal_file);
            use_signal(input_->info());
        } else {
            open_signal(context);
        }
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
        // Reads and writes of a pipe may wait for another program.
        const std::stop_callback cancel(context.stop, [this] {
            if (input_) input_->cancel();
            results_->cancel();
        });
        // Standard output takes the frames of all signals together, a file those of one at a time.
        const index_t together = request_.writes_stdout() ? signal_info_.signals() : 1;
        run_to_end(context, "frames", [&](const ExecutionContext& recorded) {
            for (index_t s = 0; s < signal_info_.signals(); s += together)
                frames_ = divide({s, s + together}, recorded);
        });
        count_clamped();
        if (input_) input_->check_end();
    }

    void tell_result(const Facts& facts) const override {
        SignalSteps::tell_result(facts);
        if (request_.latency)
            times_.tell(facts, *request_.latency, signal_info_.coordinates.sampling_rate_hz);
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
    /// Throws InvalidArgument for a file of channels of unknown length, and for a signal without
    /// frames.
    void check_pipes() const {
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
        const index_t frames = signal_info_.length_known() ? frames_ : unknown_samples;
        std::vector<index_t> dims(signal_info_.dims.begin(), signal_info_.dims.end() - 1);
        dims.push_back(channelizer_->plan().stored_channels);
        dims.insert(request_.writes_stdout() ? dims.begin() : dims.end(), frames);
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
        const bool are_several = signal_info_.signals() > 1;
        return SignalSteps::result_text() + (!request_.writes_stdout() ? ", channels × frames"
                                             : are_several ? ", frames × signals × channels"
                                                           : ", frames × channels");
    }

    /// Returns the samples that are read at a time of each of `signals` signals.
    index_t samples_at_once(index_t signals) const {
        if (request_.latency) return *request_.latency;
        const auto sample = static_cast<index_t>(size_of(signal_info_.type));
        const index_t usual =
            signal_info_.length_known() ? block_bytes / (sample * signals) : piped_samples;
        return std::max(channelizer_->plan().step, usual);
    }

    /// Reads samples of signals from `begin` on to `block`. Returns their number, fewer than fit at
    /// the end only.
    index_t read(const SampleRange& signals, index_t begin, Volume& block,
                 const ExecutionContext& context) {
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, block.bytes());
        if (input_) return input_->read(block.shape().x, block.view());
        const index_t count = std::min(block.shape().x, signal_info_.samples() - begin);
        for (index_t s = 0; s < signals.count() && count > 0; ++s)
            reader_->read(signals.begin + s, begin, count, block.view().at(0, s, 0));
        return count;
    }

    /// Reads signals in blocks and writes their frames. Returns the number of frames.
    index_t divide(const SampleRange& signals, const ExecutionContext& context) {
        const index_t at_once = samples_at_once(signals.count());
        ChannelizerStream stream(*channelizer_, signals.count());
        Volume block({1, signals.count(), at_once}, signal_info_.type);
        index_t begin = 0, frame = 0;
        for (index_t count = at_once; count == at_once; begin += count) {
            throw_if_stopped(context);
            count = std::max<index_t>(0, read(signals, begin, block, context));
            if (count == 0) break;
            frame += push(stream, subview(block.view(), {{0, 0, 0}, {1, signals.count(), count}}),
                          signals.begin, frame, context);
            if (signal_info_.length_known() && context.progress)
                context.progress((static_cast<double>(signals.begin * signal_info_.samples()) +
                                  static_cast<double>(signals.count() * (begin + count))) /
                                 work().amount);
        }
        if (begin == 0) throw BadData("the signal has no samples");
        if (request_.tail) {
            const index_t after = channelizer_->frames(begin, true) - frame;
            index_t zeros = 0;
            while (stream.frames(zeros) < after) ++zeros;
            const Volume silence({1, signals.count(), zeros}, signal_info_.type);
            if (zeros > 0) frame += push(stream, silence.view(), signals.begin, frame, context);
        }
        return frame;
    }

    /// Divides the next samples of signals from number `signal` on, and writes their frames from
    /// number `frame` on. Returns the number of frames.
    index_t push(ChannelizerStream& stream, const ConstImageView& samples, index_t signal,
                 index_t frame, const ExecutionContext& context) {
        const ChannelizerPlan& plan = channelizer_->plan();
        const auto start = std::chrono::steady_clock::now();
        Volume frames({samples.shape.y, stream.frames(samples.shape.x), plan.stored_channels},
                      plan.frame_type);
        {
            const PhaseTimer timer(context.timeline, Phase::convolve);
            executed_.nonfinite_inputs +=
                stream.push(samples, frames.view(), without_progress(context)).nonfinite_inputs;
        }
        times_.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        const PhaseTimer timer(context.timeline, Phase::write);
        if (frames.shape().y > 0) write(signal, frame, frames);
        return frames.shape().y;
    }

    /// Writes frames from `begin` on: in a file channel by channel, to standard output frame by
    /// frame.
    void write(index_t signal, index_t begin, const Volume& frames) {
        const auto [signals, count, channels] = frames.shape();
        const ConstImageView view = frames.view();
        const index_t numbers = element_count(frames.shape());
        if (request_.writes_stdout() && signals == 1)
            return results_->write(0, begin * channels, numbers, view.data);
        const std::size_t bytes = size_of(frames.type());
        row_.resize(static_cast<std::size_t>(numbers) * bytes);
        if (request_.writes_stdout()) {
            const ImageView to{
                row_.data(), view.type, view.shape, {channels, signals * channels, 1}};
            convert_pixels(view, to);
            return results_->write(0, begin * signals * channels, numbers, row_.data());
        }
        for (index_t m = 0; m < channels; ++m) {
            for (index_t n = 0; n < count; ++n)
                std::memcpy(row_.data() + static_cast<std::size_t>(n) * bytes, view.at(0, n, m),
                            bytes);
            results_->write(signal * channels + m, begin, count, row_.data());
        }
    }

    const ChannelizeRequest& request_;
    ChannelizerOptions options_;  ///< the request's, with the prototype of its file
    std::optional<Channelizer> channelizer_;
    std::unique_ptr<io::FrameReader> input_;  ///< standard input; null if the signal is a file
    PushTimes times_;
    std::vector<char> row_;  ///< frames in the order in which they are written
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
        check_latency(*request);
        check_signal_files(*request);
        request->engines.device = EngineChoice::Device::cpu;
        // Short blocks do not pay for more threads, so they are used if they are requested.
        if (request->latency) request->engines.threads = std::max(1, request->engines.threads);
        action = [request] { run_steps<ChannelizeSteps>(*request); };
    });
}

}  // namespace convolume::cli
