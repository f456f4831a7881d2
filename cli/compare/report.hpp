// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a comparison: its folder, its pages as Markdown beside PNG files and as HTML that
// holds its charts, and its parts: JSON, tables and charts.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "cli/picture/canvas.hpp"

namespace convolume::cli {

/// report.json. Infinite figures and unknown ones are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// The comparison of a report.json, for --resume. Throws BadData, naming `file`, if `text` is none.
Comparison comparison_of(const std::string& text, const std::string& file);

/// Text in cells.
struct Table {
    std::string title;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::string note{};  ///< below it; may be empty
    bool words = false;  ///< cells hold words rather than figures
};

/// The most important figures of every way, one row each.
Table summary_table(const ComparedProblem& problem, const std::string& unit, int repeats);

/// All of a problem that have rows.
std::vector<Table> tables_of(const ComparedProblem& problem, const std::string& unit, int repeats);

/// Processor, memory, GPUs and versions: label and text.
Table machine_table(const Comparison& comparison);

/// For the terminal: columns aligned by spaces.
std::string aligned(const Table& table);

/// A chart: bars, one for each way, or curves over the size of a sweep.
struct NamedDrawing {
    std::string name;   ///< of the file, without ".png"
    std::string title;  ///< of the chart
    Drawing drawing;
};

/// The charts of one problem: time, rate and phases. Those of a sweep: time, rate and error over
/// the size, and the phases at the largest size.
std::vector<NamedDrawing> charts_of(const Comparison& comparison);

/// Ends of a logarithmic axis: powers of ten around [least, most], least > 0.
std::pair<double, double> decades(double least, double most);

class ReportFolder {
  public:
    /// Throws OutputExists if `path` exists and neither replacing nor resuming was asked for,
    /// CannotCreate if it is a file or its parent does not exist.
    ReportFolder(std::string path, bool overwrite, bool resume);

    /// The comparison in it that is to be resumed; nothing if there is no folder yet. Throws
    /// InputNotFound or BadData for folders without a report, and InvalidArgument, naming what
    /// differs, for a comparison of other inputs, options, or of another version or machine.
    std::optional<Comparison> to_resume(const nlohmann::ordered_json& identity) const;

    /// report.json alone: what --resume needs. Makes the folder.
    void save_data(const Comparison& comparison) const;
    /// All files.
    void save_all(const Comparison& comparison) const;

    const std::string& path() const { return path_; }

  private:
    std::string file(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
    bool resume_;
};

std::string markdown_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts);
std::string html_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts);

}  // namespace convolume::cli
