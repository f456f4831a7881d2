// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a report: Markdown beside PNG files, and HTML that holds its charts.

#include <string>
#include <vector>

#include "cli/compare/charts.hpp"
#include "cli/compare/comparison.hpp"

namespace convolume::cli {

std::string markdown_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts);
std::string html_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts);

/// Sentences that both pages begin with: what was compared and how.
std::vector<std::string> introduction(const Comparison& comparison);

}  // namespace convolume::cli
