// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/report_folder.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/compare/report_json.hpp"
#include "cli/compare/report_pages.hpp"
#include "cli/files/metadata_json.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace fs = std::filesystem;

namespace {

/// Unlike ordered_json, equal whatever the order of names.
using UnorderedJson = nlohmann::json;

/// "options.methods": the first name whose values differ.
std::string difference(const UnorderedJson& a, const UnorderedJson& b) {
    for (const UnorderedJson* json : {&a, &b})
        for (const auto& [name, unused] : json->items()) {
            const UnorderedJson value_a = a.value(name, UnorderedJson());
            const UnorderedJson value_b = b.value(name, UnorderedJson());
            if (value_a == value_b) continue;
            if (value_a.is_object() && value_b.is_object())
                return name + ", " + difference(value_a, value_b);
            return name;
        }
    return {};
}

}  // namespace

ReportFolder::ReportFolder(std::string path, bool overwrite, bool resume)
    : path_(std::move(path)), resume_(resume) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    std::error_code error;
    const bool exists = fs::exists(path_, error);
    if (exists && !fs::is_directory(path_, error))
        throw CannotCreate(
            message("cannot write a report to \"", path_, "\": it is a file; name a folder"));
    if (exists && !overwrite && !resume)
        throw OutputExists(sentence("\"", path_, "\" exists already; give ",
                                    OptionName{"overwrite"},
                                    " to replace the report in it, or --resume to go on with it"));
    const fs::path parent = fs::path(path_).parent_path();
    if (!exists && !parent.empty() && !fs::is_directory(parent, error))
        throw CannotCreate(message("cannot write a report to \"", path_, "\": the folder \"",
                                   parent.string(), "\" does not exist; create it first"));
}

std::optional<Comparison> ReportFolder::to_resume(const nlohmann::ordered_json& identity) const {
    std::error_code error;
    if (!resume_ || !fs::exists(path_, error)) return std::nullopt;
    std::ifstream in(file("report.json"), std::ios::binary);
    if (!in)
        throw InputNotFound(message("\"", path_,
                                    "\" has no report.json to go on with; give "
                                    "--overwrite to start anew"));
    const std::string text(std::istreambuf_iterator<char>(in), {});
    Comparison comparison = comparison_of(text, file("report.json"));
    const std::string differs =
        difference(UnorderedJson(comparison.identity), UnorderedJson(identity));
    if (!differs.empty())
        throw InvalidArgument(message("the comparison in \"", path_, "\" is another one (", differs,
                                      "); repeat its options, or give --overwrite to start anew"));
    comparison.finished = false;
    return comparison;
}

void ReportFolder::save_data(const Comparison& comparison) const {
    std::error_code error;
    fs::create_directory(path_, error);
    if (error)
        throw CannotCreate(message("cannot create the folder \"", path_, "\" (", error.message(),
                                   "); choose another"));
    io::write_whole_file(file("report.json"), dump(to_json(comparison)));
}

void ReportFolder::save_all(const Comparison& comparison) const {
    save_data(comparison);
    const std::vector<NamedDrawing> charts = charts_of(comparison);
    for (const NamedDrawing& chart : charts)
        io::write_whole_file(file(chart.name + ".png"), chart.drawing.png);
    // A report that was replaced may have had a chart more.
    for (const char* name : {"time", "rate", "error", "phases"}) {
        bool drawn = false;
        for (const NamedDrawing& chart : charts) drawn = drawn || chart.name == name;
        std::error_code none;
        if (!drawn) fs::remove(file(std::string(name) + ".png"), none);
    }
    io::write_whole_file(file("report.md"), markdown_page(comparison, charts));
    io::write_whole_file(file("report.html"), html_page(comparison, charts));
}

}  // namespace convolume::cli
