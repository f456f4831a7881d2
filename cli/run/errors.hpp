// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts errors into the command's exit codes and into the sentences that users see.

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "convolume/result.hpp"

namespace convolume::cli {

/// The command's exit codes: those of the library's errors, and some of its own.
/// docs/commands/common.md has the same table.
enum class ExitCode : int {
    ok = static_cast<int>(ErrorCode::ok),
    runtime_fault = static_cast<int>(ErrorCode::runtime_fault),
    usage = static_cast<int>(ErrorCode::invalid_argument),
    out_of_memory = static_cast<int>(ErrorCode::out_of_memory),
    unavailable = static_cast<int>(ErrorCode::unavailable),
    output_exists = static_cast<int>(ErrorCode::output_exists),
    error_too_large = 6,
    some_files_failed = 7,
    bad_data = static_cast<int>(ErrorCode::bad_data),
    no_input = static_cast<int>(ErrorCode::input_not_found),
    internal = static_cast<int>(ErrorCode::internal),
    cannot_create = static_cast<int>(ErrorCode::cannot_create),
    io_error = static_cast<int>(ErrorCode::io_error),
    interrupted = static_cast<int>(ErrorCode::cancelled),
    pipe_closed = static_cast<int>(ErrorCode::pipe_closed),  ///< what a shell reports for SIGPIPE
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

/// Begin of the sentence on an error that no user causes.
inline constexpr const char* internal_error =
    "internal error, please report it with the command you ran: ";

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
