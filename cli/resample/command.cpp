// SPDX-License-Identifier: Apache-2.0
// `convolume resample` as the steps of a run: signals stream from file to file.

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/report.hpp"
#include "cli/signals/signal_steps.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/resample.hpp"
#include "core/report.hpp"

namespace convolume::cli {

namespace {

/// The request of the command line.
struct ResampleRequest : SignalRequest {
    std::string filter;  ///< file of the taps; empty for the low-pass filter
    std::optional<index_t> up, down;
    std::optional<double> rate_hz;  ///< sampling rate of the result
    index_t zero_crossings = 10;    ///< of the low-pass filter, on each side
    double kaiser = 5;              ///< parameter of its window
    ResampleOptions options;
    std::optional<index_t> chunk;  ///< samples that are read at a time

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        if (!filter.empty()) files.inputs.push_back(filter);
        return files;
    }
};

/// Factors of a resampling without a common divisor.
struct RateChange {
    index_t up, down;
};

// Samples read at a time: files in large pieces, pipes so that results leave soon.
constexpr index_t chunk_of_files = index_t{1} << 20;
constexpr index_t chunk_of_pipes = index_t{1} << 16;
// Largest factor between sampling rates. The filter has 20 taps for each unit.
constexpr index_t most_factor = 1'000'000;

index_t thousandths(double hz) {
    const double thousandths = hz * 1000;
    if (!(hz > 0) || thousandths > 1e15)
        throw InvalidArgument(
            message("a sampling rate of ", hz, " Hz is not above 0 Hz and below 1 THz"));
    const double rounded = std::round(thousandths);
    if (std::abs(thousandths - rounded) > 1e-6 + 1e-12 * thousandths || rounded < 1)
        throw InvalidArgument(
            message("the sampling rate ", hz,
                    " Hz is no multiple of 0.001 Hz; give --up and --down instead"));
    return static_cast<index_t>(rounded);
}

// Returns a rate in hertz with all its digits.
std::string hertz_text(index_t thousandths) {
    std::string text = message(thousandths / 1000);
    if (thousandths % 1000 != 0) text += message('.', thousandths % 1000 + 1000).erase(1, 1);
    return text + " Hz";
}

/// Returns the factors for sampling rates, which are multiples of 0.001 Hz. Throws InvalidArgument
/// for other rates, and for factors so large that the filter does not fit memory.
RateChange rate_change(double from_hz, double to_hz) {
    const index_t from = thousandths(from_hz), to = thousandths(to_hz);
    const index_t common = std::gcd(from, to);
    const RateChange change{to / common, from / common};
    if (std::max(change.up, change.down) > most_factor)
        throw InvalidArgument(message("from ", hertz_text(from), " to ", hertz_text(to),
                                      " is a factor of ", change.up, '/', change.down,
                                      ", whose filter would be too long; choose a rate that has a "
                                      "larger common divisor, or --up and --down near this ratio"));
    return change;
}

void add_computation(CLI::App& app, ResampleRequest& request) {
    begin_group(app, groups::method);
    CLI::Option* const rate = add_parsed(app, "--rate", request.rate_hz, parse_number, "HZ",
                                         "Sampling rate of the result, a multiple of 0.001 Hz");
    add_parsed(app, "--up", request.up, parse_positive<index_t>, "L",
               "Factor by which the rate is raised (default 1)")
        ->excludes(rate);
    add_parsed(app, "--down", request.down, parse_positive<index_t>, "M",
               "Factor by which the rate is lowered (default 1)")
        ->excludes(rate);
    add_parsed(app, "--zeros", request.zero_crossings, parse_positive<index_t>, "N",
               "Zero crossings of the low-pass filter on each side: more are steeper (default 10)");
    add_parsed(
        app, "--kaiser", request.kaiser, parse_number, "BETA",
        "Parameter of its Kaiser window: larger ones damp more and are less steep (default 5)");
    add_value(app, "--filter", request.filter, "FILE",
              "File with the taps of another filter, for the rate of SIGNAL times L; the "
              "middle tap is its center");
    add_parsed(app, "--extend", request.options.extension, parse_signal_extension,
               "constant|edge|symmetric|reflect|antisymmetric|antireflect|smooth",
               "How signals continue beyond their ends (default constant: zeros)");
    add_parsed(app, "--precision", request.options.precision, parse_precision, "float32|float64",
               "Precision of the computation and the result (default float32)");
}

void add_output(CLI::App& app, ResampleRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output,OUT", request.output, "OUT",
              "The result: .npy, .h5, .h5:/dataset, .wav, .f32, .c64, .i16, .ci16, …, .raw, "
              "or - for raw samples on standard output");
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "float32|int16|ci16|…",
               "How samples are stored on standard output, in .raw and in .wav files; integers are "
               "rounded and clamped (default: the result's type; float32 in .wav)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_run_options(app, request.run);
}

void check_request(const ResampleRequest& request) {
    if (!request.rate_hz && !request.up && !request.down)
        throw InvalidArgument(
            "nothing says how to resample; give --rate HZ, or --up L and --down M");
    if (request.options.extension == SignalExtension::wrap ||
        request.options.extension == SignalExtension::line)
        throw InvalidArgument(message("--extend ", to_string(request.options.extension),
                                      " needs both ends of a signal at once, which is read in "
                                      "chunks here; choose another"));
    check_signal_files(request);
}

class ResampleSteps : public SignalSteps {
  public:
    explicit ResampleSteps(const ResampleRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        open_signal(context);
        if (request_.writes_stdout() && signal_info_.signals() > 1)
            throw InvalidArgument(message("standard output holds one signal, and here are ",
                                          signal_info_.signals(), "; name a file"));
        if (!rate_hz() && (request_.output.ends_with(".wav") || request_.output.ends_with(".WAV")))
            throw InvalidArgument(message("a WAV file names its sampling rate, and \"",
                                          request_.signal,
                                          "\" does not say its own; add --input-rate HZ"));
        if (request_.filter.empty()) return;
        const auto filter = io::open_signal(request_.filter, {});
        const io::SignalInfo& info = filter->info();
        if (info.signals() != 1)
            throw BadData(message("the filter is one row of taps, but \"", request_.filter,
                                  "\" holds ", info.to_string(), "; save one filter"));
        taps_ = Volume({1, 1, info.samples()}, info.type);
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, taps_.bytes());
        filter->read(0, 0, info.samples(), taps_.view().data);
    }

    void plan(const ExecutionContext&) override {
        RateChange change = factors();
        ResampleOptions options = request_.options;
        std::vector<double> low_pass_taps;
        ConstImageView taps = taps_.view();
        if (request_.filter.empty()) {
            const index_t common = std::gcd(change.up, change.down);
            change = {change.up / std::max<index_t>(1, common),
                      change.down / std::max<index_t>(1, common)};
            low_pass_taps = low_pass(change);
            taps = view_of(std::as_const(low_pass_taps).data(),
                           {1, 1, static_cast<index_t>(low_pass_taps.size())});
        }
        options.up = change.up;
        options.down = change.down;
        options.origin = (taps.shape.x - 1) / 2;
        tap_count_ = taps.shape.x;
        resampler_.emplace(taps, options, signal_info_.type);
        taps_ = {};
        result_dims_ = signal_info_.dims;
        if (signal_info_.length_known())
            result_dims_.back() = resampler_->same_results(signal_info_.samples());
        if (signal_info_.length_known() && signal_info_.samples() < 1)
            throw BadData(message("\"", request_.signal, "\" holds a signal without samples"));
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        create_results();
        // Reads and writes of a pipe may wait for another program.
        const std::stop_callback cancel(context.stop, [this] {
            reader_->cancel();
            results_->cancel();
        });
        run_to_end(context, "results", [&](const ExecutionContext& recorded) {
            for (index_t signal = 0; signal < signal_info_.signals(); ++signal)
                resample_signal(signal, recorded);
        });
        count_clamped();
    }

    void tell_plan(const Facts& facts) const override {
        SignalSteps::tell_plan(facts);
        const ResampleOptions& options = resampler_->options();
        std::string factor = message(options.up, '/', options.down, " with ", tap_count_,
                                     tap_count_ == 1 ? " tap" : " taps");
        if (rate_hz()) {
            const double ratio =
                static_cast<double>(options.up) / static_cast<double>(options.down);
            factor += message(", from ", *rate_hz(), " Hz to ", *rate_hz() * ratio, " Hz");
        }
        facts.console.fact("factor", factor);
        facts.json["plan"] = {{"up", options.up}, {"down", options.down}, {"taps", tap_count_}};
    }

  private:
    PixelType result_type() const override { return resampler_->result_type(); }
    std::vector<index_t> result_dims() const override { return result_dims_; }
    io::SignalCoordinates result_coordinates() const override {
        const ResampleOptions& options = resampler_->options();
        io::SignalCoordinates coordinates = signal_info_.coordinates;
        if (coordinates.sampling_rate_hz)
            coordinates.sampling_rate_hz = *coordinates.sampling_rate_hz *
                                           static_cast<double>(options.up) /
                                           static_cast<double>(options.down);
        if (request_.rate_hz) coordinates.sampling_rate_hz = request_.rate_hz;
        return coordinates;
    }
    /// Returns the sampling rate of the signal.
    const std::optional<double>& rate_hz() const {
        return signal_info_.coordinates.sampling_rate_hz;
    }
    RateChange factors() const {
        if (!request_.rate_hz) return {request_.up.value_or(1), request_.down.value_or(1)};
        if (!rate_hz())
            throw InvalidArgument(
                message("\"", request_.signal,
                        "\" does not say its sampling rate; add --input-rate HZ, or "
                        "give --up and --down instead of --rate"));
        return rate_change(*rate_hz(), *request_.rate_hz);
    }

    std::vector<double> low_pass(const RateChange& factors) const {
        if (factors.up == factors.down) return {1};
        return resample_taps(factors.up, factors.down, request_.zero_crossings, request_.kaiser);
    }

    void resample_signal(index_t signal, const ExecutionContext& context) {
        const bool is_endless = !signal_info_.length_known();
        const index_t chunk = request_.chunk.value_or(is_endless ? chunk_of_pipes : chunk_of_files);
        Timeline* const timeline = context.timeline;
        const ExecutionContext quiet = only_stoppable(context);
        ResampleStream stream(*resampler_);
        index_t written = 0;
        const auto write = [&](const Volume& results) {
            if (results.shape().x == 0) return;
            const PhaseTimer timer(timeline, Phase::write);
            results_->write(signal, written, results.shape().x, results.view().data);
            written += results.shape().x;
        };
        const auto compute = [&](const auto& step) {
            const PhaseTimer timer(timeline, Phase::convolve);
            return step();
        };
        for_each_block(signal, chunk, context, [&](const ImageView& block) {
            write(compute([&] { return stream.push(block, quiet); }));
        });
        write(compute([&] { return stream.finish(quiet); }));
        result_dims_.back() = written;
    }

    const ResampleRequest& request_;
    Volume taps_;  ///< taps of --filter
    std::optional<Resampler> resampler_;
    std::vector<index_t> result_dims_;
    index_t tap_count_ = 0;
};

}  // namespace

void add_resample_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("resample", "Change the sampling rate of long 1D signals");
    auto request = std::make_shared<ResampleRequest>();
    set_examples(*command, {"convolume resample music.wav music48.wav --rate 48000",
                            "convolume resample signal.npy half.npy --down 2"});
    add_signal(*command, *request);
    add_computation(*command, *request);
    begin_group(*command, groups::machine);
    add_parsed(*command, "--chunk", request->chunk, parse_positive<index_t>, "N",
               "Samples read at a time (default 1048576; 65536 from standard input)");
    add_threads_option(*command, request->options.threads);
    add_output(*command, *request);
    command->callback([request, &action] {
        check_request(*request);
        action = [request] { run_steps<ResampleSteps>(*request); };
    });
}

}  // namespace convolume::cli
