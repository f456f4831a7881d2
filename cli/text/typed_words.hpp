// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a command line before it is parsed: aliases are replaced, and unknown options and
// subcommands are refused with a suggestion.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace convolume::cli {

/// Returns the words after the program's name with aliases replaced, and
/// "help COMMAND" as "COMMAND --help". Throws InvalidArgument for the first unknown subcommand or
/// option; the sentence names what was probably meant.
std::vector<std::string> translate_words(const CLI::App& app, std::vector<std::string> words);

/// Returns the subcommand that the words name, or `app`.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& words);

/// Returns the full name of a command, such as "convolume compare filter".
std::string full_name(const CLI::App& command);

/// Returns the shortest number of insertions, deletions, replacements and swaps of neighbors that
/// make `b` of `a`.
int edit_distance(std::string_view a, std::string_view b);

/// Returns the names of the subcommands: "convolve, deconvolve, …".
std::string names_of_subcommands(const CLI::App& app);

}  // namespace convolume::cli
