// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <system_error>

#include "cli/run/exit_code.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

TEST_CASE("every error has its exit code") {
    CHECK(exit_code_of(Error("x")) == ExitCode::runtime_fault);
    CHECK(exit_code_of(std::system_error(std::make_error_code(std::errc::timed_out))) ==
          ExitCode::runtime_fault);
    CHECK(exit_code_of(InvalidArgument("x")) == ExitCode::usage);
    CHECK(exit_code_of(FilesFailed("x", ExitCode::some_files_failed)) ==
          ExitCode::some_files_failed);
    CHECK(exit_code_of(OutOfMemory("x")) == ExitCode::out_of_memory);
    CHECK(exit_code_of(std::bad_alloc()) == ExitCode::out_of_memory);
    CHECK(exit_code_of(std::system_error(std::make_error_code(
              std::errc::resource_unavailable_try_again))) == ExitCode::out_of_memory);
    CHECK(exit_code_of(Unavailable("x")) == ExitCode::unavailable);
    CHECK(exit_code_of(DeviceFailure("x")) == ExitCode::unavailable);
    CHECK(exit_code_of(OutputExists("x")) == ExitCode::output_exists);
    CHECK(exit_code_of(ErrorTooLarge("x")) == ExitCode::error_too_large);
    CHECK(exit_code_of(BadData("x")) == ExitCode::bad_data);
    CHECK(exit_code_of(InputNotFound("x")) == ExitCode::no_input);
    CHECK(exit_code_of(InternalError("x")) == ExitCode::internal);
    CHECK(exit_code_of(std::logic_error("x")) == ExitCode::internal);
    CHECK(exit_code_of(CannotCreate("x")) == ExitCode::cannot_create);
    CHECK(exit_code_of(IoError("x")) == ExitCode::io_error);
    CHECK(exit_code_of(PipeClosed("x")) == ExitCode::pipe_closed);
    CHECK(exit_code_of(Cancelled("x")) == ExitCode::interrupted);
}

TEST_CASE("exit codes are the documented numbers") {
    CHECK(static_cast<int>(ExitCode::ok) == 0);
    CHECK(static_cast<int>(ExitCode::runtime_fault) == 1);
    CHECK(static_cast<int>(ExitCode::error_too_large) == 6);
    CHECK(static_cast<int>(ExitCode::internal) == 70);
    CHECK(static_cast<int>(ExitCode::pipe_closed) == 141);
}

TEST_CASE("errors without a sentence of their own get one") {
    CHECK(sentence_of(BadData("the file ends early")) == "the file ends early");
    CHECK(sentence_of(Cancelled("stopped")) == "interrupted; nothing was written");
    CHECK(sentence_of(Cancelled("interrupted; half is there")) == "interrupted; half is there");
    CHECK(sentence_of(std::bad_alloc()).find("--max-host-mem") != std::string::npos);
    CHECK(sentence_of(std::logic_error("why")).find("report") != std::string::npos);
}
