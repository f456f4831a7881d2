// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a comparison: a folder with a Markdown page and JSON. Also declares the tables of
// the page.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare/comparison.hpp"

namespace convolume::cli {

/// Returns the content of report.json. Infinite and unknown figures are null.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// Returns the comparison in the text of a report.json, for --resume. Throws BadData that names
/// `file` if `text` is no such report.
Comparison comparison_of(const std::string& text, const std::string& file);

/// A table of text cells.
struct Table {
    std::string title;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::string note{};  ///< note below the table; may be empty
};

/// Returns the most important figures of every way, one row each.
Table summary_table(const ComparedProblem& problem, const std::string& unit, int repeats);

/// Returns all tables of a problem that have rows.
std::vector<Table> tables_of(const ComparedProblem& problem, const std::string& unit, int repeats);

/// Returns the table of processor, memory, GPUs and versions: label and text.
Table machine_table(const Comparison& comparison);

/// Returns the table as text for the terminal, with columns aligned by spaces.
std::string aligned_text(const Table& table);

/// The folder of a report.
class ReportFolder {
  public:
    /// Throws OutputExists if `path` exists and neither `overwrite` nor `resume` is set, and
    /// CannotCreate if `path` is a file or its parent does not exist.
    ReportFolder(std::string path, bool overwrite, bool resume);

    /// Returns the comparison to resume; nothing if the folder does not exist yet. Throws
    /// InputNotFound or BadData for folders without a report, and InvalidArgument that names the
    /// difference if inputs, options, version or machine are others than in the report.
    std::optional<Comparison> comparison_to_resume(const nlohmann::ordered_json& identity) const;

    /// Creates the folder, and writes report.json alone, which --resume needs.
    void save_data(const Comparison& comparison) const;
    /// Writes all files of the report.
    void save_all(const Comparison& comparison) const;

    const std::string& path() const { return path_; }

  private:
    std::string file(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
    bool resume_;
};

std::string markdown_page(const Comparison& comparison);

}  // namespace convolume::cli
