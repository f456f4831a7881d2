// SPDX-License-Identifier: Apache-2.0
#include "cli/run/exit_code.hpp"

#include <new>
#include <system_error>

#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

template <class T>
bool is(const std::exception& error) {
    return dynamic_cast<const T*>(&error) != nullptr;
}

}  // namespace

ExitCode exit_code_of(const std::exception& error) {
    if (is<InvalidArgument>(error)) return ExitCode::usage;
    if (is<OutOfMemory>(error) || is<std::bad_alloc>(error)) return ExitCode::out_of_memory;
    if (is<Unavailable>(error)) return ExitCode::unavailable;
    if (is<OutputExists>(error)) return ExitCode::output_exists;
    if (is<BadData>(error)) return ExitCode::bad_data;
    if (is<InputNotFound>(error)) return ExitCode::no_input;
    if (is<CannotCreate>(error)) return ExitCode::cannot_create;
    if (is<IoError>(error)) return ExitCode::io_error;
    if (is<Cancelled>(error)) return ExitCode::interrupted;
    if (is<InternalError>(error)) return ExitCode::internal;
    if (is<Error>(error) || is<std::system_error>(error)) return ExitCode::runtime_fault;
    return ExitCode::internal;
}

std::string sentence_of(const std::exception& error) {
    switch (exit_code_of(error)) {
        case ExitCode::interrupted:
            return "interrupted; nothing was written";
        case ExitCode::internal:
            return message("internal error, please report it with the command you ran: ",
                           error.what());
        case ExitCode::out_of_memory:
            if (is<std::bad_alloc>(error))
                return "the system refused memory; close other programs or set --max-host-mem";
            return error.what();
        default:
            return error.what();
    }
}

}  // namespace convolume::cli
