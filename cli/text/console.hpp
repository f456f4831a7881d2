// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command prints on stderr: facts (not with -q), details (with -v), warnings and errors
// (always). Each line is written at once, so that several threads may print.

#include <iosfwd>
#include <string>
#include <string_view>

namespace convolume::cli {

enum class Verbosity { quiet, normal, verbose };

class Console {
  public:
    Console(std::ostream& out, Verbosity verbosity, bool colors)
        : out_(out), verbosity_(verbosity), colors_(colors) {}

    /// The same for one of several files: warnings and errors begin with its name, and facts are
    /// for -v only.
    Console about(const std::string& file) const {
        Console console(out_, verbose() ? Verbosity::verbose : Verbosity::quiet, colors_);
        console.about_ = file + ": ";
        return console;
    }

    bool quiet() const { return verbosity_ == Verbosity::quiet; }
    bool verbose() const { return verbosity_ == Verbosity::verbose; }
    std::ostream& out() const { return out_; }

    /// "label   text": one fact of the run.
    void fact(std::string_view label, std::string_view text) const;
    /// Lines as they are.
    void text(std::string_view text) const;
    void warning(std::string_view text) const;
    void error(std::string_view text) const;

  private:
    void tagged(std::string_view tag, const char* color, std::string_view text) const;

    std::ostream& out_;
    Verbosity verbosity_;
    bool colors_;
    std::string about_;
};

bool stderr_is_terminal();
/// Colors where stderr is a terminal that knows them and NO_COLOR is unset or empty.
bool stderr_wants_colors();

}  // namespace convolume::cli
