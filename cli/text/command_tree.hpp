// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of the command line, from which --help, completions and manual pages are made.
// It is read from the parser, which is the only place where options are declared.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace convolume::cli {

/// Groups of options, in the order of --help. Other groups stand between method and memory.
namespace groups {
inline constexpr const char* input = "Input";
inline constexpr const char* psf = "PSF";
inline constexpr const char* method = "Method";
inline constexpr const char* machine = "Memory and devices";
inline constexpr const char* output = "Output";
inline constexpr const char* help = "Help";
}  // namespace groups

/// An option, or an argument without a flag.
struct DescribedOption {
    std::vector<std::string> flags;  ///< names, such as "-o" and "--output"; empty for an argument
    std::string value;               ///< placeholder of the value; empty for a flag
    std::vector<std::string> choices;  ///< values that are words
    std::string help;                  ///< a sentence without a period

    /// Returns a text such as "-o, --output OUT".
    std::string label() const;
};

struct DescribedGroup {
    std::string name;
    std::vector<DescribedOption> options;
};

struct DescribedCommand {
    std::string name;       ///< name, such as "compare"
    std::string full_name;  ///< name with that of its parents, such as "convolume compare"
    std::string summary;    ///< one line
    std::string notes;      ///< paragraphs, each one line; may be empty
    std::vector<DescribedOption> arguments;
    std::vector<DescribedGroup> groups;
    std::vector<std::string> examples;
    std::vector<DescribedCommand> subcommands;

    /// Returns a text such as "convolume info [OPTIONS] FILE".
    std::string usage() const;
    std::vector<DescribedOption> options() const;
};

/// Returns the description of a command. Hidden options and subcommands are left out.
DescribedCommand describe(const CLI::App& command);

/// Returns the text of --help. Examples are not wrapped, so that they can be copied.
std::string help_text(const DescribedCommand& command, int width);

/// Returns the width for --help: that of the terminal or of the variable COLUMNS, from 40 to 100
/// columns; 80 if neither is known.
int help_width();

/// Begins a group of a command's help, to which the options belong that are added next.
void begin_group(CLI::App& command, const char* name);

/// Sets the examples of a command, each at most 76 characters wide.
void set_examples(CLI::App& command, std::initializer_list<const char*> examples);

}  // namespace convolume::cli
