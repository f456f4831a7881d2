// SPDX-License-Identifier: Apache-2.0
#include "cli/text/console.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iomanip>
#include <ostream>

#include "convolume/error.hpp"

namespace convolume::cli {

void Console::fact(std::string_view label, std::string_view text) const {
    if (quiet()) return;
    TextStream line;
    line << std::left << std::setw(7) << label << ' ' << text << '\n';
    out_ << line.str() << std::flush;
}

void Console::text(std::string_view text) const {
    if (!quiet()) out_ << text << std::flush;
}

void Console::warning(std::string_view text) const {
    if (collected_ != nullptr)
        collected_->emplace_back(text);
    else
        tagged("warning", "\033[33m", text);
}

void Console::error(std::string_view text) const {
    tagged("error", "\033[31m", text);
}

void Console::tagged(std::string_view tag, const char* color, std::string_view text) const {
    TextStream line;
    line << "convolume: " << (colors_ ? color : "") << tag << ':' << (colors_ ? "\033[0m" : "")
         << ' ' << about_ << text << '\n';
    out_ << line.str() << std::flush;
}

bool stderr_is_terminal() {
    return isatty(STDERR_FILENO) == 1;
}

bool stderr_wants_colors() {
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return stderr_is_terminal() && (no_color == nullptr || *no_color == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace convolume::cli
