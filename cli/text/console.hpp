// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prints facts (not with -q), details (with -v), warnings and errors (always) on stderr. Each line
// is written by one call, so that several threads may print.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace convolume::cli {

enum class Verbosity { quiet, normal, verbose };

/// The output of a command for people.
class Console {
  public:
    Console(std::ostream& out, Verbosity verbosity, bool colors)
        : out_(out), verbosity_(verbosity), colors_(colors) {}

    /// Returns a console for one of several files. Warnings and errors begin with the file's name,
    /// and facts are printed only with -v.
    Console for_file(const std::string& file) const {
        Console console(out_, verbose() ? Verbosity::verbose : Verbosity::quiet, colors_);
        console.about_ = file + ": ";
        return console;
    }

    /// Returns a console that adds warnings to a list, which must outlive it, and prints the rest.
    Console collecting_warnings(std::vector<std::string>& warnings) const {
        Console console = *this;
        console.collected_ = &warnings;
        return console;
    }

    bool quiet() const { return verbosity_ == Verbosity::quiet; }
    bool verbose() const { return verbosity_ == Verbosity::verbose; }
    std::ostream& out() const { return out_; }

    /// Prints one fact of the run, such as "label   text".
    void fact(std::string_view label, std::string_view text) const;
    /// Prints lines unchanged.
    void text(std::string_view text) const;
    void warning(std::string_view text) const;
    void warnings(const std::vector<std::string>& texts) const {
        for (const std::string& text : texts) warning(text);
    }
    void error(std::string_view text) const;

  private:
    void tagged(std::string_view tag, const char* color, std::string_view text) const;

    std::ostream& out_;
    Verbosity verbosity_;
    bool colors_;
    std::string about_;
    std::vector<std::string>* collected_ = nullptr;  ///< null: warnings are printed
};

bool stderr_is_terminal();
/// Returns true if stderr is a terminal with colors and NO_COLOR is unset or empty.
bool stderr_wants_colors();

}  // namespace convolume::cli
