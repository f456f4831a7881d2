// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of a comparison: its folder, and its pages as Markdown beside PNG files, and as HTML
// that holds its charts.

#include <optional>
#include <string>
#include <vector>

#include "cli/compare/charts.hpp"
#include "cli/compare/comparison.hpp"

namespace convolume::cli {

class ReportFolder {
  public:
    /// Throws OutputExists if `path` exists and neither replacing nor resuming was asked for,
    /// CannotCreate if it is a file or its parent does not exist.
    ReportFolder(std::string path, bool overwrite, bool resume);

    /// The comparison in it that is to be resumed; nothing where there is no folder yet. Throws
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
