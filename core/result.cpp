// SPDX-License-Identifier: Apache-2.0
#include "convolume/result.hpp"

#include <new>
#include <system_error>

namespace convolume {

namespace {

template <class T>
bool is_a(const std::exception& error) {
    return dynamic_cast<const T*>(&error) != nullptr;
}

Failure failure_of(ErrorCode code, const char* text) noexcept {
    Failure failure;
    failure.code = code;
    try {
        failure.message = text;
    } catch (const std::bad_alloc&) {
        failure.message.clear();
    }
    return failure;
}

}  // namespace

bool is_refused_thread(const std::exception& error) noexcept {
    const auto* const system_error = dynamic_cast<const std::system_error*>(&error);
    return system_error != nullptr &&
           system_error->code() == std::errc::resource_unavailable_try_again;
}

ErrorCode error_code(const std::exception& error) noexcept {
    if (is_a<InvalidArgument>(error)) return ErrorCode::invalid_argument;
    if (is_a<OutOfMemory>(error) || is_a<std::bad_alloc>(error) || is_refused_thread(error))
        return ErrorCode::out_of_memory;
    if (is_a<Unavailable>(error)) return ErrorCode::unavailable;
    if (is_a<OutputExists>(error)) return ErrorCode::output_exists;
    if (is_a<BadData>(error)) return ErrorCode::bad_data;
    if (is_a<InputNotFound>(error)) return ErrorCode::input_not_found;
    if (is_a<CannotCreate>(error)) return ErrorCode::cannot_create;
    if (is_a<PipeClosed>(error)) return ErrorCode::pipe_closed;
    if (is_a<IoError>(error)) return ErrorCode::io_error;
    if (is_a<Cancelled>(error)) return ErrorCode::cancelled;
    if (is_a<InternalError>(error)) return ErrorCode::internal;
    if (is_a<Error>(error) || is_a<std::system_error>(error)) return ErrorCode::runtime_fault;
    return ErrorCode::internal;
}

Failure current_failure() noexcept {
    try {
        throw;
    } catch (const std::exception& error) {
        return failure_of(error_code(error), error.what());
    } catch (...) {
        return failure_of(ErrorCode::internal, "an exception that is no std::exception");
    }
}

}  // namespace convolume
