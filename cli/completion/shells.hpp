// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion scripts of shells and manual pages, made from the description of the command line.

#include <string>

#include "cli/text/command_tree.hpp"

namespace convolume::cli {

/// Returns the completion script of a shell for the program and its subcommands.
std::string bash_completion(const DescribedCommand& program);
std::string zsh_completion(const DescribedCommand& program);
std::string fish_completion(const DescribedCommand& program);

/// Returns the page of section 1 for a command, in the language of `man` (roff).
std::string manual_page(const DescribedCommand& command, const std::string& software);

}  // namespace convolume::cli
