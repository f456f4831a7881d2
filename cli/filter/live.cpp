// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/live.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "cli/run/errors.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::cli {

void LiveSteps::open(const ExecutionContext& context) {
    filters_ = read_filters(request_.filters, request_.filter_files, *context.timeline);
    reader_ = io::open_frame_pipe(STDIN_FILENO, request_.signal_file);
    if (is_complex(reader_->info().type))
        throw InvalidArgument(
            "a live signal that is filtered has real samples; leave out --latency, or name another "
            "type (--raw)");
}

Volume LiveSteps::filter_taps() const {
    index_t filters = 0, taps = 0;
    for (const FilterFile& file : filters_) {
        filters += file.taps.shape().y;
        taps = std::max(taps, file.taps.shape().x);
        if (is_complex(file.taps.type()))
            throw InvalidArgument(message("a live signal is filtered by real filters, and ",
                                          file.path, " holds complex ones; leave out --latency"));
    }
    const index_t channels = reader_->info().signals();
    Shape3 shape{1, filters, taps};
    const bool is_matrix = request_.live.is_matrix || (channels == 1 && filters > 1);
    if (is_matrix) shape = {filters / channels, channels, taps};
    if (request_.live.is_matrix && filters % channels != 0)
        throw InvalidArgument(message("a matrix of ", filters, " filters and ", channels,
                                      " channels: give a filter for each output and each channel"));
    if (!is_matrix && filters != 1 && filters != channels)
        throw InvalidArgument(message(
            filters, " filters and ", channels,
            " channels: give one filter for all, one for each channel, or outputs × channels of "
            "them with --matrix"));
    Volume all(shape, PixelType::float64);
    std::fill_n(all.elements<double>(), element_count(shape), 0.0);
    index_t row = 0;
    for (const FilterFile& file : filters_)
        for (index_t i = 0; i < file.taps.shape().y; ++i, ++row) {
            const index_t count = file.taps.shape().x;
            const ConstImageView from{
                file.taps.view().at(0, i, 0), file.taps.type(), {1, 1, count}, {count, count, 1}};
            convert_pixels(from, view_of(all.elements<double>() + row * taps, {1, 1, count}));
        }
    return all;
}

void LiveSteps::plan(const ExecutionContext&) {
    const Volume taps = filter_taps();
    StreamFilterOptions options;
    options.block = *request_.latency;
    options.is_matrix = request_.live.is_matrix || taps.shape().z > 1;
    options.channels = reader_->info().signals();
    if (options.is_matrix || (options.channels == 1 && taps.shape().y > 1)) {
        options.is_matrix = true;
        options.channels = 0;
    }
    options.precision = request_.options.precision;
    // More threads pay for many channels only, so they are used if they are requested.
    options.threads = std::max(1, request_.engines.threads);
    filter_.emplace(taps.view(), options);
    filters_.clear();
    format_ = result_format();
}

std::optional<double> LiveSteps::signal_rate_hz() const {
    return request_.input_rate_hz ? request_.input_rate_hz
                                  : reader_->info().coordinates.sampling_rate_hz;
}

io::FrameFormat LiveSteps::result_format() const {
    const io::SignalInfo& info = reader_->info();
    const bool is_double = request_.options.precision == Precision::float64;
    io::FrameFormat format;
    format.channels = filter_->outputs();
    format.stored = request_.create.stored.value_or(is_double ? io::StoredType::float64
                                                              : io::StoredType::float32);
    if (!request_.live.is_wav.value_or(info.format == "WAV")) {
        if (request_.create.coordinates.sampling_rate_hz)
            throw InvalidArgument(
                "raw samples name no sampling rate; leave --rate out, or write "
                "--pipe-format wav");
        return format;
    }
    format.wav_rate_hz = request_.create.coordinates.sampling_rate_hz;
    if (!format.wav_rate_hz) format.wav_rate_hz = signal_rate_hz();
    if (!format.wav_rate_hz)
        throw InvalidArgument(
            "WAV names its sampling rate, and raw samples have none; give it "
            "(--rate)");
    return format;
}

void LiveSteps::tell_plan(const Facts& facts) const {
    facts.console.fact("signal",
                       message("standard input: ", reader_->info().format, ", ", filter_->inputs(),
                               " × ", to_string(reader_->info().type)));
    report_plan(facts.console, request_.run, filter_->to_string(), filter_->to_string());
    facts.json["input"] = {{"format", reader_->info().format}, {"channels", filter_->inputs()}};
    auto& plan = facts.json["plan"];
    plan = {{"latency", filter_->block()}, {"taps", filter_->taps()}, {"bytes", filter_->bytes()}};
    for (const StreamPartition& level : filter_->partitions())
        plan["partitions"].push_back({{"count", level.count}, {"taps", level.taps}});
}

void LiveSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_frame_pipe(STDOUT_FILENO, format_);
    const std::stop_callback cancel(context.stop, [this] {
        reader_->cancel();
        writer_->cancel();
    });
    try {
        filter_blocks(context);
    } catch (const Cancelled&) {
        throw Interrupted("interrupted; standard output has the results until then");
    }
    if (frames_ == 0) throw BadData("standard input holds no samples; check what writes it");
    reader_->check_end();
}

void LiveSteps::filter_blocks(const ExecutionContext& context) {
    if (request_.options.precision == Precision::float64)
        filter_blocks_of<double>(context);
    else
        filter_blocks_of<float>(context);
}

template <class Real>
void LiveSteps::filter_blocks_of(const ExecutionContext& context) {
    const index_t block = filter_->block();
    Volume in({1, filter_->inputs(), block}, pixel_type_of_v<Real>);
    Volume out({1, filter_->outputs(), block}, pixel_type_of_v<Real>);
    std::vector<const Real*> from;
    std::vector<Real*> to;
    for (index_t i = 0; i < filter_->inputs(); ++i) from.push_back(in.elements<Real>() + i * block);
    for (index_t o = 0; o < filter_->outputs(); ++o) to.push_back(out.elements<Real>() + o * block);
    const auto filter_block = [&](index_t results) {
        const auto begin = std::chrono::steady_clock::now();
        filter_->push(from.data(), to.data(), block);
        times_.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        writer_->write(results, out.view());
    };
    index_t tail = request_.options.mode == Mode::full ? filter_->taps() - 1 : 0;
    for (bool at_end = false; !at_end;) {
        throw_if_stopped(context);
        const index_t there = reader_->read(block, in.view());
        frames_ += there;
        at_end = there < block;
        // The last block is filled with zeros, whose results are the first ones of the tail.
        for (index_t i = 0; i < filter_->inputs(); ++i)
            std::fill(in.elements<Real>() + i * block + there,
                      in.elements<Real>() + (i + 1) * block, Real{});
        const index_t more = at_end && frames_ > 0 ? std::min(block - there, tail) : 0;
        if (there + more > 0) filter_block(there + more);
        tail -= more;
    }
    std::fill_n(in.elements<Real>(), filter_->inputs() * block, Real{});
    for (; tail > 0 && frames_ > 0; tail -= block) filter_block(std::min(block, tail));
    writer_->finish();
}

void LiveSteps::tell_result(const Facts& facts) const {
    const ClampCount clamped = writer_->clamped();
    facts.console.warnings(changed_samples_warnings(
        {clamped.low, clamped.high, io::to_string(format_.stored), "type"}));
    times_.tell(facts, filter_->block(),
                format_.wav_rate_hz ? format_.wav_rate_hz : signal_rate_hz());
}

void LiveSteps::tell_output(const Facts& facts) const {
    facts.json["output"] = {{"format", format_.wav_rate_hz ? "WAV" : "raw"},
                            {"channels", filter_->outputs()},
                            {"type", io::to_string(format_.stored)}};
}

}  // namespace convolume::cli
