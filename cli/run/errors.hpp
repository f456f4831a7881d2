// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts errors into the command's exit codes and into the sentences that users see.

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
    pipe_closed = 141,  ///< what a shell reports for commands that SIGPIPE ends
};

/// Thrown if the errors of a comparison are above the limit of the caller.
class ErrorTooLarge : public Error {
    using Error::Error;
};

/// Thrown if the caller requested a stop. The sentence says which outputs exist nevertheless.
class Interrupted : public Cancelled {
    using Cancelled::Cancelled;
};

/// Thrown if some of several files failed, after the error of each was shown.
class FilesFailed : public Error {
  public:
    FilesFailed(const std::string& sentence, ExitCode code) : Error(sentence), code_(code) {}
    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

/// Returns true if `error` is a T.
template <class T>
bool is_a(const std::exception& error) {
    return dynamic_cast<const T*>(&error) != nullptr;
}

ExitCode exit_code_of(const std::exception& error);

/// Function that returns true if the subcommand has the option of that name, such as "--device".
using HasOption = std::function<bool(std::string_view name)>;

/// Returns the sentence shown to the user, in one line. Options of the library that the error names
/// become those of the command. If it names none, options of the subcommand that help are appended.
std::string sentence_of(const std::exception& error, const HasOption& has_option);

/// Returns a sentence with the command's options in place of those of the library.
std::string in_words_of_command(const Sentence& text);

/// Returns `text` without line breaks.
std::string in_one_line(std::string text);

}  // namespace convolume::cli
