// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as values, for programs that do without exceptions, and the codes of errors, which are
// also the command's exit codes.

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "convolume/error.hpp"

namespace convolume {

/// Codes of errors: a program may exit with them, as the command does.
enum class ErrorCode : int {
    ok = 0,
    runtime_fault = 1,     ///< any other Error or std::system_error
    invalid_argument = 2,  ///< InvalidArgument
    out_of_memory = 3,     ///< OutOfMemory, std::bad_alloc, or a thread that the system refuses
    unavailable = 4,       ///< Unavailable, GpuUnavailable, DeviceFailure
    output_exists = 5,     ///< OutputExists
    bad_data = 65,         ///< BadData
    input_not_found = 66,  ///< InputNotFound
    internal = 70,         ///< InternalError, and exceptions of other libraries
    cannot_create = 73,    ///< CannotCreate
    io_error = 74,         ///< IoError
    cancelled = 130,       ///< Cancelled
    pipe_closed = 141      ///< PipeClosed
};

/// Returns the code of an exception.
/// @code{.cpp}
/// assert(error_code(BadData("the file is damaged")) == ErrorCode::bad_data);
/// @endcode
CONVOLUME_API ErrorCode error_code(const std::exception& error) noexcept;
/// Returns true if the system refused a thread: std::system_error of
/// std::errc::resource_unavailable_try_again.
CONVOLUME_API bool is_refused_thread(const std::exception& error) noexcept;

/// An error as a value.
struct Failure {
    ErrorCode code = ErrorCode::internal;
    std::string message;  ///< one sentence; empty if there is no memory for it
};

/// A value, or the failure of the call that should have made it. As std::expected of C++23.
template <class T>
class Result {
    static_assert(!std::is_reference_v<T>, "return a pointer: results hold values");
    static_assert(!std::is_same_v<T, Failure>, "a result that is a failure is one without a value");

  public:
    using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

    Result(Value value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /// Return the value, which must be there: std::bad_variant_access otherwise.
    Value& operator*() & { return std::get<0>(state_); }
    const Value& operator*() const& { return std::get<0>(state_); }
    Value&& operator*() && { return std::get<0>(std::move(state_)); }
    Value* operator->() { return &std::get<0>(state_); }
    const Value* operator->() const { return &std::get<0>(state_); }
    /// Returns the failure, which must be there: std::bad_variant_access otherwise.
    const Failure& error() const { return std::get<1>(state_); }
    /// Returns ErrorCode::ok for a value, and otherwise the code of the failure.
    ErrorCode code() const noexcept {
        if (has_value()) return ErrorCode::ok;
        const Failure* const failure = std::get_if<1>(&state_);  // null after a failed assignment
        return failure != nullptr ? failure->code : ErrorCode::internal;
    }

  private:
    std::variant<Value, Failure> state_;
};

/// Returns the exception that is being handled as a value. Call it in a catch block.
CONVOLUME_API Failure current_failure() noexcept;

/// Calls a function, and returns what it returns or the failure with which it ends. No exception
/// passes.
/// @code{.cpp}
/// const auto shape = try_call([] { return Volume({4, -1, 4}, PixelType::float32).shape(); });
/// assert(!shape && shape.code() == ErrorCode::invalid_argument);
/// std::cerr << shape.error().message << '\n';
/// const auto planned = try_call([] {
///     Volume kernel({3, 3, 3}, PixelType::float32);
///     kernel.elements<float>()[13] = 1;
///     return Convolver({8, 8, 8}, kernel.view());
/// });
/// assert(planned.code() == ErrorCode::ok && planned->plan().to_string() != "");
/// @endcode
template <class Function>
auto try_call(Function&& function) noexcept -> Result<std::invoke_result_t<Function>> {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
            std::forward<Function>(function)();
            return std::monostate{};
        } else {
            return std::forward<Function>(function)();
        }
    } catch (...) {
        return current_failure();
    }
}

}  // namespace convolume
