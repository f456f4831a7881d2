// SPDX-License-Identifier: Apache-2.0
// Writes a comparison as report.json, and reads it back.

#include <limits>

#include "cli/compare/report.hpp"
#include "cli/run/report.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

double finite_or_infinite(const Json& json) {
    return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> optional_of(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

Json way_json(const Way& way) {
    return {{"name", way.name()},     {"device", way.device},     {"method", way.method},
            {"parts", way.parts},     {"segment", way.segment},   {"precision", way.precision},
            {"threads", way.threads}, {"fft", to_string(way.fft)}};
}

Way way_of(const Json& json) {
    return {json.at("device"),
            json.at("method"),
            json.at("parts"),
            json.at("segment"),
            json.at("precision"),
            json.at("threads"),
            parse_fft_library(json.at("fft").get<std::string>())};
}

Json turn_json(const TurnTimes& turn) {
    Json phases = Json::object();
    for (const auto& [name, seconds] : turn.phases) phases[name] = seconds;
    return {{"plan_s", turn.plan_s},
            {"first_s", turn.first_s},
            {"seconds", turn.seconds},
            {"phases", phases}};
}

TurnTimes turn_of(const Json& json) {
    TurnTimes turn{json.at("plan_s"), json.at("first_s"), json.at("seconds"), {}};
    for (const auto& [name, seconds] : json.at("phases").items())
        turn.phases.emplace_back(name, seconds.get<double>());
    return turn;
}

Json errors_json(const ResultErrors& errors) {
    return {{"delta", finite_or_null(errors.largest)},
            {"relative_linf", finite_or_null(errors.relative_largest)},
            {"relative_l2", finite_or_null(errors.relative_l2)},
            {"psnr_db", finite_or_null(errors.psnr_db)},
            {"worst_voxel", {errors.worst.z, errors.worst.y, errors.worst.x}},
            {"nonfinite", errors.nonfinite}};
}

ResultErrors errors_of_json(const Json& json) {
    const Json& worst = json.at("worst_voxel");
    return {
        finite_or_infinite(json.at("delta")),       finite_or_infinite(json.at("relative_linf")),
        finite_or_infinite(json.at("relative_l2")), finite_or_infinite(json.at("psnr_db")),
        {worst.at(0), worst.at(1), worst.at(2)},    json.at("nonfinite")};
}

Json memory_json(const MemoryFigures& memory) {
    return {{"host_declared", memory.declared_host},
            {"host_counted", memory.counted_host},
            {"host_resident", or_null(memory.resident_host)},
            {"gpu_declared", memory.declared_gpu},
            {"gpu_held", or_null(memory.held_gpu)}};
}

MemoryFigures memory_of(const Json& json) {
    return {json.at("host_declared"), json.at("host_counted"),
            optional_of<index_t>(json.at("host_resident")), json.at("gpu_declared"),
            optional_of<index_t>(json.at("gpu_held"))};
}

Json measurement_json(const ComparedProblem& problem, const Measurement& measurement, int repeats) {
    Json phases = Json::object();
    for (const auto& [name, seconds] : measurement.phases()) phases[name] = seconds;
    Json json = way_json(measurement.way);
    json["plan"] = measurement.plan;
    json["finished"] = static_cast<int>(measurement.turns.size()) >= repeats;
    json["median_s"] = measurement.median_s();
    json["spread"] = measurement.spread();
    json["per_s"] = or_null(problem.rate(measurement));
    json["predicted_s"] = or_null(measurement.predicted_s);
    json["first_s"] = measurement.first_s();
    json["phases_s"] = phases;
    json["memory_bytes"] = memory_json(measurement.memory);
    json["traffic"] = {{"to_gpu_bytes", measurement.traffic.to_gpu_bytes},
                       {"from_gpu_bytes", measurement.traffic.from_gpu_bytes},
                       {"least_s", or_null(measurement.traffic.least_s)}};
    json["errors"] = measurement.errors ? errors_json(*measurement.errors) : Json();
    json["turns"] = Json::array();
    for (const TurnTimes& turn : measurement.turns) json["turns"].push_back(turn_json(turn));
    return json;
}

Measurement measurement_of(const Json& json) {
    Measurement measurement;
    measurement.way = way_of(json);
    measurement.plan = json.at("plan");
    measurement.predicted_s = optional_of<double>(json.at("predicted_s"));
    for (const Json& turn : json.at("turns")) measurement.turns.push_back(turn_of(turn));
    measurement.memory = memory_of(json.at("memory_bytes"));
    const Json& traffic = json.at("traffic");
    measurement.traffic = {traffic.at("to_gpu_bytes"), traffic.at("from_gpu_bytes"),
                           optional_of<double>(traffic.at("least_s"))};
    if (!json.at("errors").is_null()) measurement.errors = errors_of_json(json.at("errors"));
    return measurement;
}

Json problem_json(const ComparedProblem& problem, int repeats) {
    Json json{{"name", problem.name},   {"size", problem.size},
              {"work", problem.work},   {"reference", problem.reference},
              {"ways", Json::array()},  {"left_out", Json::array()},
              {"pairs", Json::array()}, {"pairs_note", problem.pairs_note}};
    for (const Measurement& measurement : problem.measured)
        json["ways"].push_back(measurement_json(problem, measurement, repeats));
    for (const SkippedWay& entry : problem.left_out) {
        json["left_out"].push_back(way_json(entry.way));
        json["left_out"].back()["reason"] = entry.reason;
    }
    for (const PairDifference& pair : problem.pairs)
        json["pairs"].push_back(
            {{"a", pair.a}, {"b", pair.b}, {"relative_l2", finite_or_null(pair.relative_l2)}});
    return json;
}

ComparedProblem problem_of(const Json& json) {
    ComparedProblem problem;
    problem.name = json.at("name");
    problem.size = json.at("size");
    problem.work = json.at("work");
    problem.reference = json.at("reference");
    problem.pairs_note = json.at("pairs_note");
    for (const Json& way : json.at("ways")) problem.measured.push_back(measurement_of(way));
    for (const Json& entry : json.at("left_out"))
        problem.left_out.push_back({way_of(entry), entry.at("reason")});
    for (const Json& pair : json.at("pairs"))
        problem.pairs.push_back(
            {pair.at("a"), pair.at("b"), finite_or_infinite(pair.at("relative_l2"))});
    return problem;
}

}  // namespace

nlohmann::ordered_json to_json(const Comparison& comparison) {
    Json json{{"convolume", comparison.software}, {"format", "convolume comparison 1"},
              {"date", comparison.date},          {"command", comparison.command},
              {"finished", comparison.finished},  {"repeats", comparison.repeats},
              {"unit", comparison.unit},          {"machine", comparison.machine},
              {"identity", comparison.identity},  {"problems", Json::array()}};
    for (const ComparedProblem& problem : comparison.problems)
        json["problems"].push_back(problem_json(problem, comparison.repeats));
    return json;
}

Comparison comparison_of(const std::string& text, const std::string& file) {
    try {
        const Json json = Json::parse(text);
        Comparison comparison;
        comparison.software = json.at("convolume");
        comparison.date = json.at("date");
        comparison.command = json.at("command");
        comparison.finished = json.at("finished");
        comparison.repeats = json.at("repeats");
        comparison.unit = json.at("unit");
        comparison.machine = json.at("machine");
        comparison.identity = json.at("identity");
        for (const Json& problem : json.at("problems"))
            comparison.problems.push_back(problem_of(problem));
        return comparison;
    } catch (const Json::exception&) {
        throw BadData(message("\"", file,
                              "\" is not a report of convolume compare, or is damaged; "
                              "give --overwrite to start anew"));
    }
}

}  // namespace convolume::cli
