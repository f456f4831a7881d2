// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of a report, as text in cells: whoever writes them decides how they look.

#include <string>
#include <vector>

#include "cli/compare/comparison.hpp"

namespace convolume::cli {

struct Table {
    std::string title;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::string note{};  ///< below it; may be empty
    bool words = false;  ///< cells hold words rather than figures
};

/// What counts most of every way, one row each.
Table summary_table(const ComparedProblem& problem, const std::string& unit, int repeats);

/// All of a problem that have rows.
std::vector<Table> tables_of(const ComparedProblem& problem, const std::string& unit, int repeats);

/// Processor, memory, GPUs and versions: label and text.
Table machine_table(const Comparison& comparison);

/// For the terminal: columns aligned by spaces.
std::string aligned(const Table& table);

}  // namespace convolume::cli
