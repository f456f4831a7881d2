// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table that `convolume compare` prints of the figures of its report.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace convolume::cli {

/// A table of text cells.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
};

/// Returns the most important figures of every way of a problem, one row each.
Table summary_table(const nlohmann::ordered_json& report, const nlohmann::ordered_json& problem);

/// Returns the table as text for the terminal, with columns aligned by spaces.
std::string aligned_text(const Table& table);

}  // namespace convolume::cli
