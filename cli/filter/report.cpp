#include "cli/filter/report.hpp"

#include "cli/files/metadata_json.hpp"
#include "cli/run/report.hpp"
#include "cli/text/format.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

std::string extents_text(const std::vector<index_t>& dims) {
    std::string text;
    for (const index_t extent : dims) text += message(text.empty() ? "" : "×", extent);
    return text;
}

std::string output_text(const FilterFacts& facts, const FilterBank& bank) {
    return message(extents_text(facts.result_dims), ' ', name_of(bank.result_type()),
                   ", of samples ", bank.range().begin, " … ", bank.range().end - 1,
                   " of the full result");
}

std::string plan_line(const FilterPlan& plan) {
    std::string text = to_string(plan.method);
    if (plan.segment > 0) text += message(", segments of ", plan.segment);
    return text + message(" on ", plan.engine, ", stretches of ", plan.stretch, " in ",
                          format_bytes(plan.stream_bytes), ", predicted ",
                          format_duration(plan.seconds));
}

nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info) {
    return {{"file", path},
            {"format", info.format},
            {"type", name_of(info.type)},
            {"shape", info.dims}};
}

}  // namespace

void report_plan(const Console& console, const FilterRequest& request, const FilterFacts& facts,
                 const FilterBank& bank) {
    console.fact("signal",
                 message(request.signal, ": ", facts.signal.format, ", ", facts.signal.text()));
    for (const FilterFile& file : facts.filters)
        console.fact("filters", message(file.path, ": ", file.info.format, ", ", file.info.text()));
    if (request.report.dry_run || console.verbose())
        console.text(bank.plan().text());
    else
        console.fact("plan", plan_line(bank.plan()));
    if (request.report.dry_run) console.fact("result", output_text(facts, bank));
}

void report_end(const Console& console, const FilterRequest& request, const FilterFacts& facts,
                const FilterBank& bank, const Timeline& timeline) {
    if (facts.executed.nonfinite_inputs > 0)
        console.warning(message(facts.executed.nonfinite_inputs,
                                " NaN or infinite values of the signal were read as 0"));
    console.fact("time", times_text(facts.plan_s, timeline));
    console.fact("output", message(request.output, ": ", output_text(facts, bank)));
    if (!request.positions.empty())
        console.fact("output", message(request.positions, ": positions of the peaks in it, int64"));
}

std::string to_json(const FilterRequest& request, const FilterFacts& facts, const FilterBank& bank,
                    const Timeline* timeline) {
    nlohmann::ordered_json json;
    json["convolume"] = version;
    json["input"] = file_json(request.signal, facts.signal);
    json["filters"] = {{"count", bank.filters()}, {"taps", bank.taps()}};
    for (const FilterFile& file : facts.filters)
        json["filters"]["files"].push_back(file_json(file.path, file.info));
    const FilterPlan& plan = bank.plan();
    json["plan"] = {{"method", to_string(plan.method)},
                    {"segment", plan.segment},
                    {"engine", plan.engine},
                    {"seconds", plan.seconds},
                    {"stretch", plan.stretch},
                    {"stream_bytes", plan.stream_bytes}};
    if (timeline != nullptr) json["report"] = report_json(facts.plan_s, facts.executed, *timeline);
    json["output"] = {{"file", nullptr},
                      {"shape", facts.result_dims},
                      {"type", name_of(bank.result_type())},
                      {"range", {bank.range().begin, bank.range().end}}};
    if (!request.output.empty()) json["output"]["file"] = request.output;
    if (!request.positions.empty()) json["output"]["positions"] = request.positions;
    return dump(json);
}

}  // namespace convolume::cli
