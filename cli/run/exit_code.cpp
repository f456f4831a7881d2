// SPDX-License-Identifier: Apache-2.0
#include "cli/run/exit_code.hpp"

#include <new>
#include <system_error>

namespace convolume::cli {

namespace {

/// Of a thread that could not be made: its stack is memory.
bool is_refused_thread(const std::exception& error) {
    const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
    return of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again;
}

}  // namespace

ExitCode exit_code_of(const std::exception& error) {
    if (const auto* files = dynamic_cast<const FilesFailed*>(&error)) return files->code();
    if (is_a<InvalidArgument>(error)) return ExitCode::usage;
    if (is_a<OutOfMemory>(error) || is_a<std::bad_alloc>(error) || is_refused_thread(error))
        return ExitCode::out_of_memory;
    if (is_a<Unavailable>(error)) return ExitCode::unavailable;
    if (is_a<OutputExists>(error)) return ExitCode::output_exists;
    if (is_a<ErrorTooLarge>(error)) return ExitCode::error_too_large;
    if (is_a<BadData>(error)) return ExitCode::bad_data;
    if (is_a<InputNotFound>(error)) return ExitCode::no_input;
    if (is_a<CannotCreate>(error)) return ExitCode::cannot_create;
    if (is_a<PipeClosed>(error)) return ExitCode::pipe_closed;
    if (is_a<IoError>(error)) return ExitCode::io_error;
    if (is_a<Cancelled>(error)) return ExitCode::interrupted;
    if (is_a<InternalError>(error)) return ExitCode::internal;
    if (is_a<Error>(error) || is_a<std::system_error>(error)) return ExitCode::runtime_fault;
    return ExitCode::internal;
}

std::string sentence_of(const std::exception& error) {
    if (is_a<FilesFailed>(error)) return error.what();
    switch (exit_code_of(error)) {
        case ExitCode::interrupted:
            // A command that writes to a pipe says what became of it.
            return std::string_view(error.what()).starts_with("interrupted")
                       ? error.what()
                       : "interrupted; nothing was written";
        case ExitCode::internal:
            return message("internal error, please report it with the command you ran: ",
                           error.what());
        case ExitCode::out_of_memory:
            if (is_a<std::bad_alloc>(error))
                return "the system refused memory; close other programs or set --max-host-mem";
            if (is_refused_thread(error))
                return "the system refused a thread; close other programs or set --threads";
            return error.what();
        default:
            return error.what();
    }
}

}  // namespace convolume::cli
