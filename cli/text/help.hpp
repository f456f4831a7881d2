// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of --help, wrapped at the width of the terminal.

#include <string>
#include <string_view>

#include "cli/text/command_tree.hpp"

namespace convolume::cli {

/// Returns the width for --help: that of the terminal or of the variable COLUMNS, from 40 to 100
/// columns; 80 if neither is known.
int help_width();

/// Returns the text of --help. Examples are not wrapped, so that they can be copied.
std::string help_text(const DescribedCommand& command, int width);

/// Returns the number of columns that a UTF-8 text takes.
int text_width(std::string_view text);

}  // namespace convolume::cli
