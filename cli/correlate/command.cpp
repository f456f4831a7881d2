// SPDX-License-Identifier: Apache-2.0
// `convolume correlate` as the steps of a run: signals stream from a file through a
// CorrelationBank, and a table of peaks is written.

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/filter/files.hpp"
#include "cli/run/report.hpp"
#include "cli/signals/signal_steps.hpp"
#include "cli/text/option_help.hpp"
#include "convolume/correlation.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "signals/option_table.hpp"

namespace convolume::cli {

namespace {

template <class Number>
std::string number_text(Number value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

enum class TableFormat { csv, json };

/// Returns the format of a file's name. Throws InvalidArgument, which lists the formats, for
/// others.
TableFormat table_format(std::string_view path) {
    if (path == "-" || path.ends_with(".csv")) return TableFormat::csv;
    if (path.ends_with(".json")) return TableFormat::json;
    throw InvalidArgument(message("\"", path,
                                  "\" is no table of peaks: name a .csv or .json file, or - for "
                                  "CSV on standard output"));
}

/// The table of peaks that is written.
class PeakTable {
  public:
    /// With a sampling rate, peaks have a time in seconds; with `chirps`, frequency and drift.
    PeakTable(TableFormat format, const io::SignalCoordinates& coordinates,
              std::vector<Chirp> chirps)
        : format_(format),
          rate_hz_(coordinates.sampling_rate_hz),
          start_s_(coordinates.start_s),
          chirps_(std::move(chirps)) {}

    std::string header() const {
        if (format_ == TableFormat::json) return "[";
        return message("signal,template,position", rate_hz_ ? ",seconds" : "", ",snr,phase",
                       chirps_.empty() ? "" : ",frequency,drift", "\n");
    }

    std::string rows(std::span<const CorrelationPeak> peaks) {
        std::string text;
        for (const CorrelationPeak& peak : peaks) {
            std::vector<std::pair<const char*, std::string>> fields = {
                {"signal", number_text(peak.signal)},
                {"template", number_text(peak.template_index)},
                {"position", number_text(peak.position)}};
            if (rate_hz_)
                fields.emplace_back("seconds", number_text(start_s_ + peak.position / *rate_hz_));
            fields.emplace_back("snr", number_text(peak.snr));
            fields.emplace_back("phase", number_text(peak.phase));
            if (!chirps_.empty()) {
                const Chirp& chirp = chirps_[static_cast<std::size_t>(peak.template_index)];
                fields.emplace_back("frequency", number_text(chirp.frequency_hz));
                fields.emplace_back("drift", number_text(chirp.drift_hz_per_s));
            }
            const bool is_json = format_ == TableFormat::json;
            if (is_json) text += peaks_ == 0 ? "\n{" : ",\n{";
            for (std::size_t i = 0; i < fields.size(); ++i) {
                if (i > 0) text += is_json ? ", " : ",";
                if (is_json) text += message('"', fields[i].first, "\": ");
                text += fields[i].second;
            }
            text += is_json ? "}" : "\n";
            ++peaks_;
            strongest_ = std::max(strongest_, peak.snr);
        }
        return text;
    }

    std::string footer() const { return format_ == TableFormat::json ? "\n]\n" : ""; }

    index_t peaks() const { return peaks_; }
    double strongest() const { return strongest_; }

  private:
    TableFormat format_;
    std::optional<double> rate_hz_;
    double start_s_;             ///< time of the first sample
    std::vector<Chirp> chirps_;  ///< of the templates; empty if they are no chirps
    index_t peaks_ = 0;
    double strongest_ = 0;
};

/// The request of the command line.
struct CorrelateRequest : SignalRequest {
    std::vector<std::string> templates;
    std::string series;  ///< file of the SNR of every template and position; empty for none
    CorrelationOptions options;
    ChirpBankOptions chirps;  ///< chirps instead of templates, if they have samples
    EngineChoice engines;
    io::OpenSignalOptions template_files;

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        files.outputs.push_back(series);
        files.inputs.insert(files.inputs.end(), templates.begin(), templates.end());
        return files;
    }
};

void add_inputs(CLI::App& app, CorrelateRequest& request) {
    add_signal(app, request, "--rate,--input-rate");
    app.add_option("TEMPLATES", request.templates,
                   "Files, each with one template (1D) or several (templates × samples)");
    begin_group(app, groups::input);
    add_parsed(app, "--taps", request.template_files.raw_samples, parse_positive<index_t>, "M",
               "Samples per template in raw TEMPLATES");
}

/// Parses "A:B", or "A" for A:A.
std::pair<double, double> parse_numbers(std::string_view option, const std::string& text) {
    const std::size_t colon = text.find(':');
    const double first = parse_number(option, text.substr(0, colon));
    return {first,
            colon == std::string::npos ? first : parse_number(option, text.substr(colon + 1))};
}

void add_chirps(CLI::App& app, ChirpBankOptions& chirps) {
    begin_group(app, "Chirps instead of TEMPLATES");
    CLI::Option* const samples =
        add_parsed(app, "--chirps", chirps.samples, parse_positive<index_t>, "N",
                   "Correlate with chirps of N samples");
    add_parsed(app, "--frequencies", chirps.frequency_hz, parse_numbers, "A:B",
               "Their frequencies in the middle, in Hz (without --rate in cycles per sample)")
        ->needs(samples);
    add_parsed(app, "--drifts", chirps.drift_hz_per_s, parse_numbers, "A:B",
               "Derivatives of the frequency, in Hz per second (default 0)")
        ->needs(samples);
    add_parsed(app, "--mismatch", chirps.mismatch, parse_number, "M",
               "Largest fraction of the SNR that a chirp loses between two of them (default 0.03)")
        ->needs(samples);
}

void add_computation(CLI::App& app, CorrelateRequest& request) {
    begin_group(app, groups::method);
    CorrelationOptions& options = request.options;
    add_options(app, options, {"noise", "noise_block", "threshold", "window", "position"});
    app.get_option("--noise")->excludes(app.get_option("--noise-block"));
    app.add_flag("--per-template", options.per_template,
                 "Find the peaks of each template by itself; else an event gives one peak, of the "
                 "template that fits best");
    add_options(app, options.filters, {"mode", "nan"});
}

void add_output(CLI::App& app, CorrelateRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The table of peaks: .csv, .json, or - for CSV on standard output");
    add_value(app, "--snr", request.series, "FILE",
              "Also write the SNR of every template and position: .npy, .h5, .h5:/dataset, "
              ".wav, .f32, .c64, …");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_run_options(app, request.run);
}

void check_request(const CorrelateRequest& request) {
    require_output(request.output, request.run);
    if (!request.output.empty()) table_format(request.output);
    if (request.series == standard_stream)
        throw InvalidArgument("--snr is not written to standard output; name a file");
    if (request.templates.empty() == (request.chirps.samples == 0))
        throw InvalidArgument(request.templates.empty()
                                  ? "nothing says what to look for; name files of templates, or "
                                    "give --chirps"
                                  : "templates and --chirps are two banks; leave out one of them");
    check_standard_input(request);
    if (request.writes_stdout() && !request.run.dry_run && request.run.json)
        throw InvalidArgument(
            "both peaks and --json would go to standard output; leave out one of them");
}

class CorrelateSteps : public SignalSteps {
  public:
    explicit CorrelateSteps(const CorrelateRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override {
        open_signal(context);
        templates_ = read_filters(request_.templates, request_.template_files, *context.timeline);
    }

    void plan(const ExecutionContext&) override {
        ChirpBank chirps = chirp_bank();
        std::vector<ConstImageView> views;
        for (const FilterFile& file : templates_) views.push_back(file.taps.view());
        if (!chirps.chirps.empty()) views.push_back(chirps.templates.view());
        CorrelationOptions options = request_.options;
        options.keeps_series = !request_.series.empty();
        bank_.emplace(SignalShape{signal_info_.signals(), signal_info_.samples()}, views, options,
                      request_.engines, signal_info_.type);
        for (FilterFile& file : templates_) file.taps = {};  // the bank has a copy
        series_dims_ =
            cli::result_dims(signal_info_, templates_, bank_->filter_bank(), options.filters);
        if (options.keeps_series && !signal_info_.length_known() &&
            bank_->filter_bank().filters() > 1)
            throw InvalidArgument(
                message("the SNR of ", bank_->filter_bank().filters(),
                        " templates and a signal of unknown length cannot be stored: give one "
                        "template, or a file of samples"));
        table_.emplace(request_.output.empty() ? TableFormat::csv : table_format(request_.output),
                       signal_info_.coordinates, std::move(chirps.chirps));
    }

    WorkAmount work() const override {
        if (!signal_info_.length_known()) return {0, "sample"};
        const FilterBank& filters = bank_->filter_bank();
        return {static_cast<double>(signal_info_.signals()) *
                    static_cast<double>(filters.filters()) *
                    static_cast<double>(filters.range().count()),
                "sample"};
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        create_series();
        run_to_end(context, "peaks", [&](const ExecutionContext& recorded) {
            FileSource source(*reader_, recorded.timeline);
            std::optional<FileSink> sink;
            if (series_) sink.emplace(*series_, nullptr, bank_->filter_bank(), recorded.timeline);
            add_text(table_->header());
            executed_ = bank_->execute(
                source,
                [&](std::span<const CorrelationPeak> peaks) { add_text(table_->rows(peaks)); },
                sink ? &*sink : nullptr, recorded);
            add_text(table_->footer());
            if (sink) series_dims_.back() = sink->samples();
        });
    }

    void commit() override {
        if (series_) series_->commit();
        if (!request_.writes_stdout()) io::write_whole_file(request_.output, text_);
    }

    void tell_plan(const Facts& facts) const override {
        SignalSteps::tell_plan(facts);
        const FilterBank& filters = bank_->filter_bank();
        facts.json["templates"] = {{"count", filters.filters()}, {"samples", filters.taps()}};
        tell_filters(facts, "bank", "templates", templates_);
        if (request_.chirps.samples > 0)
            facts.console.fact("bank", message(filters.filters(), " chirps of ",
                                               request_.chirps.samples, " samples"));
        cli::tell_plan(facts, request_.run, filters.plan(), signal_info_.length_known());
        facts.json["plan"]["window"] = bank_->window();
    }

    void tell_output(const Facts& facts) const override {
        SignalSteps::tell_output(facts);
        const bool is_done = !request_.run.dry_run;
        using Value = nlohmann::ordered_json;
        const index_t peaks = table_->peaks();
        facts.json["output"] = {
            {"file", request_.output.empty() ? Value() : Value(request_.output)},
            {"peaks", is_done ? Value(peaks) : Value()},
            {"strongest", is_done && peaks > 0 ? Value(table_->strongest()) : Value()}};
        if (request_.series.empty()) return;
        if (series_)
            facts.console.fact("output", message(request_.series, ": ", extents_text(series_dims_),
                                                 ' ', to_string(result_type())));
        facts.json["output"]["snr"] = {{"file", request_.series},
                                       {"shape", extents_json(series_dims_)}};
    }

  private:
    PixelType result_type() const override { return bank_->filter_bank().result_type(); }
    std::vector<index_t> result_dims() const override { return series_dims_; }
    io::SignalCoordinates result_coordinates() const override {
        return coordinates_of_results(signal_info_, series_dims_, bank_->filter_bank(), 1);
    }
    std::string result_text() const override {
        if (request_.run.dry_run)
            return message("peaks of SNR ", request_.options.threshold, " in windows of ",
                           bank_->window(), " positions");
        const index_t peaks = table_->peaks();
        return message(peaks, peaks == 1 ? " peak" : " peaks",
                       peaks > 0 ? message(", SNR up to ", table_->strongest()) : "");
    }

    ChirpBank chirp_bank() const {
        if (request_.chirps.samples == 0) return {};
        ChirpBankOptions options = request_.chirps;
        options.rate_hz = signal_info_.coordinates.sampling_rate_hz.value_or(1);
        return convolume::chirp_bank(options);
    }

    void create_series() {
        if (request_.series.empty()) return;
        series_ = io::create_signal(request_.series, series_dims_,
                                    io::sample_type_of(result_type()), options_of_results());
    }

    void add_text(const std::string& text) {
        if (request_.writes_stdout())
            write_stdout(text);
        else
            text_ += text;
    }

    const CorrelateRequest& request_;
    std::vector<FilterFile> templates_;
    std::optional<CorrelationBank> bank_;
    std::optional<PeakTable> table_;
    std::string text_;  ///< table, unless it goes to standard output
    std::unique_ptr<io::SignalWriter> series_;
    std::vector<index_t> series_dims_;
};

}  // namespace

void add_correlate_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "correlate", "Find templates in long 1D signals: matched filters and their peaks");
    auto request = std::make_shared<CorrelateRequest>();
    set_examples(
        *command,
        {"convolume correlate signal.npy templates.npy -o peaks.csv --noise-block 4000",
         "convolume correlate music.wav -o peaks.json --chirps 512 --frequencies 400:500"});
    add_inputs(*command, *request);
    add_computation(*command, *request);
    add_chirps(*command, request->chirps);
    add_filter_machine_options(*command, request->options.filters, request->engines);
    add_output(*command, *request);
    command->callback([request, &action] {
        request->template_files.raw_type = request->signal_file.raw_type;
        check_request(*request);
        action = [request] { run_steps<CorrelateSteps>(*request); };
    });
}

}  // namespace convolume::cli
