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
#include "convolume/rate_converter.hpp"
#include "convolume/resample.hpp"
#include "core/report.hpp"

namespace convolume::cli {

namespace {

/// The request of the command line.
struct ResampleRequest : SignalRequest {
    std::string filter;  ///< file of the taps; empty for the low-pass filter
    std::optional<index_t> up, down;
    std::optional<double> rate_hz;          ///< sampling rate of the result
    std::optional<index_t> zero_crossings;  ///< of the low-pass filter, on each side
    std::optional<double> kaiser;           ///< parameter of its window
    std::optional<SignalExtension> extension;
    ResampleOptions options;
    std::optional<double> ratio;  ///< of the sampling rates of result and signal
    std::optional<double> attenuation_db, pass_band;
    std::optional<index_t> chunk;  ///< samples that are read at a time

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        if (!filter.empty()) files.inputs.push_back(filter);
        return files;
    }
    bool is_of_any_rate() const { return ratio || attenuation_db || pass_band; }
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

// Returns a rate in thousandths of a hertz, or nothing if it is no multiple of these.
std::optional<index_t> thousandths(double hz) {
    const double thousandths = hz * 1000;
    if (!(hz > 0) || thousandths > 1e15)
        throw InvalidArgument(
            message("a sampling rate of ", hz, " Hz is not above 0 Hz and below 1 THz"));
    const double rounded = std::round(thousandths);
    if (std::abs(thousandths - rounded) > 1e-6 + 1e-12 * thousandths || rounded < 1) return {};
    return static_cast<index_t>(rounded);
}

/// Returns the factors for sampling rates, or nothing for rates that are no multiples of 0.001 Hz
/// or whose factors have filters that do not fit memory. Throws InvalidArgument for rates that are
/// out of range.
std::optional<RateChange> rate_change(double from_hz, double to_hz) {
    const std::optional<index_t> from = thousandths(from_hz), to = thousandths(to_hz);
    if (!from || !to) return {};
    const index_t common = std::gcd(*from, *to);
    const RateChange change{*to / common, *from / common};
    if (std::max(change.up, change.down) > most_factor) return {};
    return change;
}

void add_computation(CLI::App& app, ResampleRequest& request) {
    begin_group(app, groups::method);
    CLI::Option* const rate = add_parsed(app, "--rate", request.rate_hz, parse_number, "HZ",
                                         "Sampling rate of the result");
    add_parsed(app, "--up", request.up, parse_positive<index_t>, "L",
               "Factor by which the rate is raised (default 1)")
        ->excludes(rate);
    add_parsed(app, "--down", request.down, parse_positive<index_t>, "M",
               "Factor by which the rate is lowered (default 1)")
        ->excludes(rate);
    for (CLI::Option* const ratio =
             add_parsed(app, "--ratio", request.ratio, parse_number, "R",
                        "Any ratio of the sampling rates of OUT and SIGNAL, from 0.0001 to 10000");
         const char* const other : {"--rate", "--up", "--down"})
        ratio->excludes(other);
    add_parsed(app, "--attenuation", request.attenuation_db, parse_number, "DB",
               "Use the filter for any ratio, with errors and aliases below this bound (default: "
               "120 with --ratio, and with a --rate that has no useful common divisor)");
    add_parsed(app, "--pass-band", request.pass_band, parse_number, "F",
               "End of the pass band of the filter for any ratio, as a part of the lower Nyquist "
               "frequency (default 0.9)");
    add_parsed(app, "--zeros", request.zero_crossings, parse_positive<index_t>, "N",
               "Zero crossings of the low-pass filter on each side: more are steeper (default 10)");
    add_parsed(
        app, "--kaiser", request.kaiser, parse_number, "BETA",
        "Parameter of its Kaiser window: larger ones damp more and are less steep (default 5)");
    add_value(app, "--filter", request.filter, "FILE",
              "File with the taps of another filter, for the rate of SIGNAL times L; the "
              "middle tap is its center");
    add_parsed(app, "--extend", request.extension, parse_signal_extension,
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

/// Throws InvalidArgument if there are options of the filter of rational factors.
void check_any_rate(const ResampleRequest& request) {
    const std::pair<bool, const char*> options[] = {{request.up || request.down, "--up and --down"},
                                                    {!request.filter.empty(), "--filter"},
                                                    {request.zero_crossings.has_value(), "--zeros"},
                                                    {request.kaiser.has_value(), "--kaiser"},
                                                    {request.extension.has_value(), "--extend"}};
    for (const auto& [is_given, option] : options)
        if (is_given)
            throw InvalidArgument(
                message(option,
                        " is not for a conversion between any rates, which has a filter of its "
                        "own; leave it out, or give --up and --down without --attenuation and "
                        "--pass-band"));
}

void check_request(const ResampleRequest& request) {
    if (!request.rate_hz && !request.up && !request.down && !request.ratio)
        throw InvalidArgument(
            "nothing says how to resample; give --rate HZ, --up L and --down M, or --ratio R");
    if (request.is_of_any_rate()) check_any_rate(request);
    if (request.extension == SignalExtension::wrap || request.extension == SignalExtension::line)
        throw InvalidArgument(message("--extend ", to_string(*request.extension),
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
        if (const std::optional<RateChange> change = factors())
            plan_factors(*change);
        else
            plan_any_rate();
        taps_ = {};
        result_dims_ = signal_info_.dims;
        if (!signal_info_.length_known()) return;
        const index_t samples = signal_info_.samples();
        result_dims_.back() =
            converter_ ? converter_->results(samples) : resampler_->same_results(samples);
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
        std::string factor =
            converter_ ? message(ratio_)
                       : message(resampler_->options().up, '/', resampler_->options().down);
        factor += message(" with ", tap_count_, tap_count_ == 1 ? " tap" : " taps");
        if (rate_hz())
            factor += message(", from ", *rate_hz(), " Hz to ", *rate_hz() * ratio_, " Hz");
        facts.console.fact("factor", factor);
        if (converter_)
            facts.json["plan"] = {{"ratio", ratio_},
                                  {"taps", tap_count_},
                                  {"attenuation_db", converter_->options().attenuation_db},
                                  {"pass_band", converter_->options().pass_band}};
        else
            facts.json["plan"] = {{"up", resampler_->options().up},
                                  {"down", resampler_->options().down},
                                  {"taps", tap_count_}};
    }

  private:
    PixelType result_type() const override {
        return converter_ ? converter_->result_type() : resampler_->result_type();
    }
    std::vector<index_t> result_dims() const override { return result_dims_; }
    io::SignalCoordinates result_coordinates() const override {
        io::SignalCoordinates coordinates = signal_info_.coordinates;
        if (coordinates.sampling_rate_hz)
            coordinates.sampling_rate_hz = *coordinates.sampling_rate_hz * ratio_;
        if (request_.rate_hz) coordinates.sampling_rate_hz = request_.rate_hz;
        return coordinates;
    }
    const std::optional<double>& rate_hz() const {
        return signal_info_.coordinates.sampling_rate_hz;
    }
    /// Returns the factors, or nothing for a conversion between any rates.
    std::optional<RateChange> factors() const {
        if (request_.ratio) return {};
        if (!request_.rate_hz)
            return RateChange{request_.up.value_or(1), request_.down.value_or(1)};
        if (!rate_hz())
            throw InvalidArgument(
                message("\"", request_.signal,
                        "\" does not say its sampling rate; add --input-rate HZ, or "
                        "give --up and --down instead of --rate"));
        const std::optional<RateChange> change = rate_change(*rate_hz(), *request_.rate_hz);
        return request_.is_of_any_rate() ? std::nullopt : change;
    }

    void plan_factors(RateChange change) {
        ResampleOptions options = request_.options;
        options.extension = request_.extension.value_or(SignalExtension::constant);
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
        ratio_ = static_cast<double>(change.up) / static_cast<double>(change.down);
    }

    void plan_any_rate() {
        check_any_rate(request_);
        RateOptions options;
        options.ratio = request_.ratio ? *request_.ratio : *request_.rate_hz / *rate_hz();
        if (request_.attenuation_db) options.attenuation_db = *request_.attenuation_db;
        if (request_.pass_band) options.pass_band = *request_.pass_band;
        options.precision = request_.options.precision;
        options.threads = request_.options.threads;
        converter_.emplace(options, signal_info_.type);
        tap_count_ = converter_->taps();
        ratio_ = options.ratio;
    }

    std::vector<double> low_pass(const RateChange& factors) const {
        if (factors.up == factors.down) return {1};
        return resample_taps(factors.up, factors.down, request_.zero_crossings.value_or(10),
                             request_.kaiser.value_or(5));
    }

    void resample_signal(index_t signal, const ExecutionContext& context) {
        const bool is_endless = !signal_info_.length_known();
        const index_t chunk = request_.chunk.value_or(is_endless ? chunk_of_pipes : chunk_of_files);
        Timeline* const timeline = context.timeline;
        const ExecutionContext quiet = only_stoppable(context);
        std::optional<ResampleStream> stream;
        if (!converter_) stream.emplace(*resampler_);
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
            write(compute([&] {
                return stream ? stream->push(block, quiet) : converter_->push(block, {}, quiet);
            }));
        });
        write(compute([&] { return stream ? stream->finish(quiet) : converter_->finish(quiet); }));
        result_dims_.back() = written;
    }

    const ResampleRequest& request_;
    Volume taps_;                             ///< taps of --filter
    std::optional<Resampler> resampler_;      ///< of rational factors
    std::optional<RateConverter> converter_;  ///< of any other ratio
    double ratio_ = 1;                        ///< of the sampling rates of result and signal
    std::vector<index_t> result_dims_;
    index_t tap_count_ = 0;
};

}  // namespace

void add_resample_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("resample", "Change the sampling rate of long 1D signals");
    auto request = std::make_shared<ResampleRequest>();
    set_examples(*command, {"convolume resample music.wav music48.wav --rate 48000",
                            "convolume resample signal.npy half.npy --down 2",
                            "convolume resample drifted.wav true.npy --ratio 1.00013"});
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
