// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder of a report: when it may be written, what is in it, and what a comparison that goes
// on takes from it.

#include <optional>
#include <string>

#include "cli/compare/comparison.hpp"

namespace convolume::cli {

class ReportFolder {
  public:
    /// Throws OutputExists where `path` exists and neither replacing nor resuming was asked for,
    /// CannotCreate where it is a file or its parent does not exist.
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

}  // namespace convolume::cli
