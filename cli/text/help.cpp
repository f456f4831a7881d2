// SPDX-License-Identifier: Apache-2.0
// The text of --help, wrapped at the width of the terminal.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cli/text/command_tree.hpp"
#include "cli/text/quantity.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace {

constexpr int label_column = 2;
constexpr int help_column = 26;

/// Text that is written word by word into lines of a width.
class Lines {
  public:
    explicit Lines(int width) : width_(width) {}

    /// Appends words; lines that they begin are indented by `indent`.
    void append(const std::string& text, int indent) {
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            const int needed = static_cast<int>(count_characters(word));
            if (column_ > indent && column_ + 1 + needed > width_) end_line();
            if (column_ < indent)
                pad(indent);
            else if (column_ > indent)
                pad(column_ + 1);
            text_ += word;
            column_ += needed;
        }
    }
    void pad(int column) {
        if (column > column_) text_.append(static_cast<std::size_t>(column - column_), ' ');
        column_ = std::max(column, column_);
    }
    void end_line() {
        text_ += '\n';
        column_ = 0;
    }
    /// Adds a label with its help in the second column, or below if the label is long.
    void entry(const std::string& label, const std::string& help) {
        pad(label_column);
        append(label, label_column);
        if (column_ + 2 > help_column) end_line();
        append(help, help_column);
        end_line();
    }
    void heading(const std::string& text) { text_ += "\n" + text + ":\n"; }
    const std::string& text() const { return text_; }

  private:
    int width_;
    int column_ = 0;
    std::string text_;
};

}  // namespace

int help_width() {
    constexpr int narrowest = 40, usual = 80, widest = 100;
    const char* const columns = std::getenv("COLUMNS");
    int width = columns != nullptr ? std::atoi(columns) : 0;
    winsize terminal{};
    if (width < 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0) width = terminal.ws_col;
    return width < 1 ? usual : std::clamp(width, narrowest, widest);
}

std::string help_text(const DescribedCommand& command, int width) {
    Lines lines(width);
    lines.append("Usage: " + command.usage(), 0);
    lines.end_line();
    lines.end_line();
    lines.append(command.summary + ".", 0);
    lines.end_line();
    for (const std::string& paragraph : pieces_of(command.notes, '\n')) {
        lines.append(paragraph, 0);
        lines.end_line();
    }
    if (!command.subcommands.empty()) {
        lines.heading("Commands");
        for (const DescribedCommand& one : command.subcommands) lines.entry(one.name, one.summary);
    }
    if (!command.arguments.empty()) {
        lines.heading("Arguments");
        for (const DescribedOption& one : command.arguments) lines.entry(one.label(), one.help);
    }
    for (const DescribedGroup& group : command.groups) {
        lines.heading(group.name);
        for (const DescribedOption& one : group.options) lines.entry(one.label(), one.help);
    }
    std::string text = lines.text();
    if (!command.examples.empty()) text += "\nExamples:\n";
    for (const std::string& example : command.examples) text += "  " + example + "\n";
    return text;
}

}  // namespace convolume::cli
