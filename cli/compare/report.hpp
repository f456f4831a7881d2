// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a comparison: a folder with a Markdown page and JSON. The JSON holds everything
// that the page shows; runner.hpp adds the figures.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace convolume::cli {

/// The value of "format" in report.json.
inline constexpr const char* comparison_format = "convolume comparison 1";

/// A table of text cells.
struct Table {
    std::string title;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::string note{};  ///< note below the table; may be empty
};

/// Returns the most important figures of every way of a problem, one row each.
Table summary_table(const nlohmann::ordered_json& report, const nlohmann::ordered_json& problem);

/// Returns all tables of a problem that have rows.
std::vector<Table> tables_of(const nlohmann::ordered_json& report,
                             const nlohmann::ordered_json& problem);

/// Returns the table of processor, memory, GPUs and versions: label and text.
Table machine_table(const nlohmann::ordered_json& report);

/// Returns the table as text for the terminal, with columns aligned by spaces.
std::string aligned_text(const Table& table);

std::string markdown_page(const nlohmann::ordered_json& report);

/// Returns the text of an error figure: "infinite" for null, which stands for infinity.
std::string error_text(const nlohmann::ordered_json& figure);

/// Returns true if any way was measured.
bool has_measurements(const nlohmann::ordered_json& report);
/// Returns the number of ways, of all problems, that have all their turns.
int finished_ways(const nlohmann::ordered_json& report);

/// Parses the text of a report.json, for --resume. Throws BadData that names `file` if `text` is no
/// such report.
nlohmann::ordered_json parse_report(const std::string& text, const std::string& file);

/// The folder of a report.
class ReportFolder {
  public:
    /// Throws OutputExists if `path` exists and neither `overwrite` nor `resume` is set, and
    /// CannotCreate if `path` is a file or its parent does not exist.
    ReportFolder(std::string path, bool overwrite, bool resume);

    /// Returns the report to resume; nothing if the folder does not exist yet. Throws InputNotFound
    /// or BadData for folders without a report, and InvalidArgument that names the difference if
    /// inputs, options, version or machine are others than in the report.
    std::optional<nlohmann::ordered_json> report_to_resume(
        const nlohmann::ordered_json& identity) const;

    /// Creates the folder, and writes report.json alone, which --resume needs.
    void save_data(const nlohmann::ordered_json& report) const;
    /// Writes all files of the report.
    void save_all(const nlohmann::ordered_json& report) const;

    const std::string& path() const { return path_; }

  private:
    std::string file(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
    bool resume_;
};

}  // namespace convolume::cli
