// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command makes of errors: its exit codes, and the sentences that it shows.

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "convolume/error.hpp"

namespace convolume::cli {

/// The command's exit codes; docs/commands/common.md has the same table.
enum class ExitCode : int {
    ok = 0,
    runtime_fault = 1,
    usage = 2,
    out_of_memory = 3,
    unavailable = 4,
    output_exists = 5,
    error_too_large = 6,
    some_files_failed = 7,
    bad_data = 65,
    no_input = 66,
    internal = 70,
    cannot_create = 73,
    io_error = 74,
    interrupted = 130,
    pipe_closed = 141,  ///< what a shell reports of commands that SIGPIPE ends
};

/// The errors of a comparison are above what the caller allows.
class ErrorTooLarge : public Error {
    using Error::Error;
};

/// The caller asked to stop, and the sentence says which outputs there are nevertheless.
class Interrupted : public Cancelled {
    using Cancelled::Cancelled;
};

/// Some of several files failed, each with an error of its own that was shown.
class FilesFailed : public Error {
  public:
    FilesFailed(const std::string& sentence, ExitCode code) : Error(sentence), code_(code) {}
    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

/// Whether an error of some type is a T.
template <class T>
bool is_a(const std::exception& error) {
    return dynamic_cast<const T*>(&error) != nullptr;
}

ExitCode exit_code_of(const std::exception& error);

/// Whether the subcommand has an option, by its name: "--device".
using HasOption = std::function<bool(std::string_view name)>;

/// The sentence shown to the user, in one line. Options of the library that it names become those
/// of the command. If it names none, the options of the subcommand that help stand at its end.
std::string sentence_of(const std::exception& error, const HasOption& has_option);

/// `text` without line breaks.
std::string in_one_line(std::string text);

}  // namespace convolume::cli
