// SPDX-License-Identifier: Apache-2.0
#include "cli/resample/command.hpp"

#include <cmath>
#include <numeric>
#include <stop_token>

namespace convolume::cli {

namespace {

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

}  // namespace

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

void ResampleSteps::open(const ExecutionContext& context) {
    open_signal();
    rate_hz_ = request_.input_rate_hz ? request_.input_rate_hz : signal_info_.sampling_rate_hz;
    if ((request_.reads_stdin() || request_.writes_stdout()) && signal_info_.signals() > 1)
        throw InvalidArgument(message("standard input and output hold one signal, and here are ",
                                      signal_info_.signals(), "; name files"));
    if (!rate_hz_ && (request_.output.ends_with(".wav") || request_.output.ends_with(".WAV")))
        throw InvalidArgument(message("a WAV file names its sampling rate, and \"", request_.signal,
                                      "\" does not say its own; add --input-rate HZ"));
    if (request_.filter.empty()) return;
    const auto filter = io::open_signal(request_.filter, {});
    const io::SignalInfo& info = filter->info();
    if (info.signals() != 1)
        throw BadData(message("the filter is one row of taps, but \"", request_.filter, "\" holds ",
                              info.to_string(), "; save one filter"));
    taps_ = Volume({1, 1, info.samples()}, info.type);
    const PhaseTimer timer(context.timeline, Phase::read, -1, -1, taps_.bytes());
    filter->read(0, 0, info.samples(), taps_.view().data);
}

RateChange ResampleSteps::factors() const {
    if (!request_.rate_hz) return {request_.up.value_or(1), request_.down.value_or(1)};
    if (!rate_hz_)
        throw InvalidArgument(message("\"", request_.signal,
                                      "\" does not say its sampling rate; add --input-rate HZ, or "
                                      "give --up and --down instead of --rate"));
    return rate_change(*rate_hz_, *request_.rate_hz);
}

std::vector<double> ResampleSteps::low_pass(const RateChange& factors) const {
    if (factors.up == factors.down) return {1};
    return resample_taps(factors.up, factors.down, request_.zero_crossings, request_.kaiser);
}

void ResampleSteps::plan(const ExecutionContext&) {
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

void ResampleSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    const ResampleOptions& options = resampler_->options();
    std::optional<double> result_rate_hz = rate_hz_;
    if (result_rate_hz)
        *result_rate_hz *= static_cast<double>(options.up) / static_cast<double>(options.down);
    create_results(result_dims_, resampler_->result_type(),
                   request_.rate_hz ? request_.rate_hz : result_rate_hz);
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

void ResampleSteps::resample_signal(index_t signal, const ExecutionContext& context) {
    const bool is_endless = !signal_info_.length_known();
    const index_t chunk = request_.chunk.value_or(is_endless ? chunk_of_pipes : chunk_of_files);
    const index_t samples = is_endless ? chunk : std::min(chunk, signal_info_.samples());
    Timeline* const timeline = context.timeline;
    ExecutionContext quiet = context;
    quiet.progress = nullptr;
    quiet.timeline = nullptr;
    Volume block({1, 1, samples}, signal_info_.type);
    ResampleStream stream(*resampler_);
    index_t written = 0;
    const auto write = [&](const Volume& results) {
        if (results.shape().x == 0) return;
        const PhaseTimer timer(timeline, Phase::write);
        results_->write(signal, written, results.shape().x, results.view().data);
        written += results.shape().x;
    };
    const auto read = [&](index_t begin) {
        const PhaseTimer timer(timeline, Phase::read, -1, -1, block.bytes());
        if (is_endless)
            return std::max<index_t>(
                0, reader_->read_until_end(signal, begin, samples, block.view().data));
        const index_t count = std::min(samples, signal_info_.samples() - begin);
        if (count > 0) reader_->read(signal, begin, count, block.view().data);
        return count;
    };
    const auto compute = [&](const auto& step) {
        const PhaseTimer timer(timeline, Phase::convolve);
        return step();
    };
    for (index_t begin = 0;;) {
        const index_t count = read(begin);
        if (count > 0) {
            const ImageView samples_read = subview(block.view(), {{0, 0, 0}, {1, 1, count}});
            write(compute([&] { return stream.push(samples_read, quiet); }));
        }
        begin += count;
        read_ += count;
        if (context.progress && work().amount > 0)
            context.progress(static_cast<double>(read_) / work().amount);
        if (count < samples || begin == signal_info_.samples()) break;
    }
    write(compute([&] { return stream.finish(quiet); }));
    result_dims_.back() = written;
}

void ResampleSteps::tell_plan(const Facts& facts) const {
    SignalSteps::tell_plan(facts);
    const ResampleOptions& options = resampler_->options();
    std::string factor = message(options.up, '/', options.down, " with ", tap_count_,
                                 tap_count_ == 1 ? " tap" : " taps");
    facts.json["input"]["rate_hz"] = nullptr;
    if (rate_hz_) {
        const double ratio = static_cast<double>(options.up) / static_cast<double>(options.down);
        factor += message(", from ", *rate_hz_, " Hz to ", *rate_hz_ * ratio, " Hz");
        facts.json["input"]["rate_hz"] = *rate_hz_;
    }
    facts.console.fact("factor", factor);
    facts.json["plan"] = {{"up", options.up}, {"down", options.down}, {"taps", tap_count_}};
}

}  // namespace convolume::cli
