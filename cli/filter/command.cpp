// SPDX-License-Identifier: Apache-2.0
// `convolume filter`: signals stream from file to file through a FilterBank.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/filter/files.hpp"
#include "cli/filter/live.hpp"
#include "cli/filter/request.hpp"
#include "cli/run/common_options.hpp"
#include "cli/signals/signal_steps.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::cli {

namespace {

class FilterSteps : public SignalSteps {
  public:
    explicit FilterSteps(const FilterRequest& request) : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        open_signal(context);
        filters_ = read_filters(request_.filters, request_.filter_files, *context.timeline);
    }

    void plan(const ExecutionContext&) override {
        std::vector<ConstImageView> filters;
        for (const FilterFile& file : filters_) filters.push_back(file.taps.view());
        bank_.emplace(SignalShape{signal_info_.signals(), signal_info_.samples()}, filters,
                      request_.options, request_.engines, signal_info_.type);
        for (FilterFile& file : filters_) file.taps = {};  // the bank has a copy of the taps
        result_dims_ = cli::result_dims(signal_info_, filters_, *bank_, request_.options);
        check_rows();
    }

    WorkAmount work() const override {
        if (!signal_info_.length_known()) return {0, "sample"};
        return {static_cast<double>(signal_info_.signals()) *
                    static_cast<double>(bank_->filters()) *
                    static_cast<double>(bank_->range().count()),
                "sample"};
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        create_results();
        if (!request_.positions.empty()) {
            io::CreateSignalOptions create = options_of_results();
            create.stored.reset();
            positions_ =
                io::create_signal(request_.positions, result_dims_, io::SampleType::int64, create);
        }
        run_to_end(context, "results", [&](const ExecutionContext& recorded) {
            FileSource source(*reader_, recorded.timeline);
            FileSink sink(*results_, positions_.get(), *bank_, recorded.timeline);
            executed_ = bank_->execute(source, sink, recorded);
            result_dims_.back() = sink.samples();
        });
        count_clamped();
    }

    void commit() override {
        if (positions_) positions_->commit();
        SignalSteps::commit();
    }

    void tell_plan(const Facts& facts) const override {
        SignalSteps::tell_plan(facts);
        facts.json["filters"] = {{"count", bank_->filters()}, {"taps", bank_->taps()}};
        tell_filters(facts, "filters", "filters", filters_);
        cli::tell_plan(facts, request_.run, bank_->plan(), signal_info_.length_known());
    }

    void tell_output(const Facts& facts) const override {
        SignalSteps::tell_output(facts);
        auto& output = facts.json["output"];
        output["range"] = {bank_->range().begin, bank_->range().end};
        if (!is_end_known()) output["range"][1] = nullptr;
        if (request_.positions.empty()) return;
        facts.console.fact(
            "output", message(request_.positions, ": positions of the peaks in the signal, int64"));
        output["positions"] = request_.positions;
    }

  private:
    /// Throws InvalidArgument for several results on a pipe, or of unknown length.
    void check_rows() const {
        const index_t rows = signal_info_.signals() * bank_->filters();
        if (rows == 1) return;
        if (request_.writes_stdout())
            throw InvalidArgument(message("standard output holds one result, and here are ",
                                          signal_info_.signals(), " signals and ", bank_->filters(),
                                          " filters; give one of each, name a file, or filter "
                                          "the signals as they arrive (--latency)"));
        if (!signal_info_.length_known())
            throw InvalidArgument(message("the results of ", bank_->filters(),
                                          " filters and a signal of unknown length cannot be "
                                          "stored; give one filter, or a file of samples"));
    }

    PixelType result_type() const override { return bank_->result_type(); }
    std::vector<index_t> result_dims() const override { return result_dims_; }
    io::SignalCoordinates result_coordinates() const override {
        return coordinates_of_results(signal_info_, result_dims_, *bank_,
                                      request_.options.window.length);
    }
    std::string result_text() const override {
        std::string text =
            message(SignalSteps::result_text(), ", of samples ", bank_->range().begin, " … ");
        if (is_end_known()) text += message(bank_->range().end - 1, ' ');
        return text + "of the full result";
    }

    bool is_end_known() const { return signal_info_.length_known() || request_.options.range; }

    const FilterRequest& request_;
    std::unique_ptr<io::SignalWriter> positions_;  ///< writer of --positions, or null
    std::vector<FilterFile> filters_;
    std::optional<FilterBank> bank_;
    std::vector<index_t> result_dims_;
};
void add_inputs(CLI::App& app, FilterRequest& request) {
    add_signal(app, request);
    app.add_option("FILTERS", request.filters,
                   "One or more files, each with one filter (1D) or several (filters × taps)")
        ->required();
    add_parsed(app, "--taps", request.filter_files.raw_samples, parse_positive<index_t>, "M",
               "Taps per filter in raw FILTERS");
}

void add_computation(CLI::App& app, FilterOptions& options) {
    begin_group(app, groups::method);
    add_options(app, options, {"mode", "range", "origin", "post", "window", "nan"});
    app.get_option("--range")->excludes(app.get_option("--mode"));
}

/// Adds the options of live signals, which exclude those of signals that are there as a whole.
void add_live(CLI::App& app, FilterRequest& request) {
    begin_group(app, "Live signals, from standard input to standard output");
    CLI::Option* latency = add_parsed(
        app, "--latency", request.latency, parse_positive<index_t>, "N",
        "Filter blocks of N samples (32 to 4096) as they arrive, and write each at once. "
        "SIGNAL and OUT are -: frames of raw samples or WAV");
    for (const char* other :
         {"--range", "--origin", "--post", "--window", "--nan", "--method", "--segment", "--chunk",
          "--device", "--max-gpu-mem", "--fft", "--max-host-mem"})
        latency->excludes(app.get_option(other));
    app.add_flag("--matrix", request.live.is_matrix,
                 "FILTERS are outputs × signals filters; an output sums its filtered signals")
        ->needs(latency);
    add_choice(app, "--pipe-format", request.live.is_wav, {{"raw", false}, {"wav", true}},
               "Format of standard output (default: that of the signal)")
        ->needs(latency);
}

void add_output(CLI::App& app, FilterRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The result: .npy, .h5, .h5:/dataset, .wav, .f32, .c64, .i16, .ci16, …, .raw, or "
              "- for raw samples on standard output");
    add_parsed(app, "--output-type", request.create.stored, io::parse_stored_type,
               "float32|float16|bfloat16|int16|ci16|…",
               "How samples are stored on standard output, in .raw, .npy and .wav files; integers "
               "are rounded and clamped (default: the result's type; float32 in .wav)");
    add_parsed(
        app, "--rate", request.create.coordinates.sampling_rate_hz, parse_above_zero, "HZ",
        "Sampling rate that the result names (default: the signal's, divided by the window)");
    add_value(app, "--positions", request.positions, "FILE",
              "Positions of the peaks: indices of the signal's samples, int64: .npy, "
              ".h5[:/dataset] or .i64");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_run_options(app, request.run);
}

void check_live(const FilterRequest& request) {
    if (!request.latency) return;
    if (request.options.mode == Mode::valid)
        throw InvalidArgument(
            "results of --latency begin with the first sample: --mode is same, "
            "or full for the end, too");
    if (!request.positions.empty())
        throw InvalidArgument("--latency finds no peaks; leave --positions out");
}

void check_request(const FilterRequest& request) {
    if (!request.positions.empty() && request.options.window.kind != WindowPost::Kind::peak)
        throw InvalidArgument("--positions are positions of peaks; add --window peak:W");
    if (request.positions == standard_stream)
        throw InvalidArgument("--positions are not written to standard output; name a file");
    check_latency(request);
    check_live(request);
    if (request.create.coordinates.sampling_rate_hz && !request.latency &&
        !request.output.empty() && !holds_sampling_rate(request.output))
        throw InvalidArgument("raw samples name no sampling rate; leave --rate out");
    check_signal_files(request);
}

}  // namespace

void add_filter_command(CLI::App& app, Action& action) {
    CLI::App* command =
        app.add_subcommand("filter", "Filter long 1D signals with a bank of filters");
    auto request = std::make_shared<FilterRequest>();
    set_examples(*command,
                 {"convolume filter signal.npy filters.npy -o filtered.npy",
                  "convolume filter signal.npy filters.npy --window peak:256 -o peaks.npy"});
    add_inputs(*command, *request);
    add_computation(*command, request->options);
    add_filter_machine_options(*command, request->options, request->engines);
    add_output(*command, *request);
    add_live(*command, *request);
    command->callback([request, &action] {
        request->filter_files.raw_type = request->signal_file.raw_type;
        check_request(*request);
        action = [request] {
            request->latency ? run_steps<LiveSteps>(*request) : run_steps<FilterSteps>(*request);
        };
    });
}

}  // namespace convolume::cli
