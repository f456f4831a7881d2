// SPDX-License-Identifier: Apache-2.0
// Tests exit codes, and how the command shows the library's sentences: these name no option of the
// command, so it adds those that help.

#include <new>
#include <system_error>

#include "cli/run/errors.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

namespace {

// Predicates for a subcommand that has every option, and for a subcommand that has no option.
bool all(std::string_view) {
    return true;
}
bool none(std::string_view) {
    return false;
}

}  // namespace

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

TEST_CASE("cancellations and errors of other libraries get a sentence") {
    CHECK(sentence_of(BadData("the file ends early"), none) == "the file ends early");
    CHECK(sentence_of(Cancelled("stopped"), none) == "interrupted; nothing was written");
    CHECK(sentence_of(Interrupted("interrupted; half is there"), none) ==
          "interrupted; half is there");
    CHECK(sentence_of(std::bad_alloc(), all).find("--max-host-mem") != std::string::npos);
    CHECK(sentence_of(std::bad_alloc(), none).find("--") == std::string::npos);
    CHECK(sentence_of(std::logic_error("why"), none).find("report") != std::string::npos);
}

TEST_CASE("errors are followed by the options that help") {
    const auto shown = [](const Error& error) { return sentence_of(error, all); };
    CHECK(shown(GpuUnavailable("built without CUDA: use the CPU")) ==
          "built without CUDA: use the CPU (--device cpu)");
    CHECK(shown(DeviceFailure("the device failed; use the CPU")) ==
          "the device failed; use the CPU (--device cpu)");
    CHECK(shown(OutputExists("\"a.tif\" exists: replace it")) ==
          "\"a.tif\" exists: replace it (--overwrite)");
    CHECK(shown(OutOfMemory("2 GiB do not fit: allow more")) ==
          "2 GiB do not fit: allow more (--max-host-mem)");
    CHECK(shown(OutOfMemory("there is no memory left", MemoryKind::gpu)) ==
          "there is no memory left (--max-gpu-mem)");
    CHECK(shown(OutOfMemory("2 GiB fit nowhere: allow more", MemoryKind::host_and_gpu)) ==
          "2 GiB fit nowhere: allow more (--max-host-mem, --max-gpu-mem)");
    CHECK(shown(Unavailable("built without HDF5")) == "built without HDF5");
}

TEST_CASE("words in an error's text do not decide which options follow it") {
    // Paths may contain any words.
    CHECK(sentence_of(Unavailable("the GPU's file \"CUDA\""), all) == "the GPU's file \"CUDA\"");
    CHECK(sentence_of(BadData("no GPU is at fault"), all) == "no GPU is at fault");
    CHECK(sentence_of(OutOfMemory("no memory to read \"GPU --host.tif\""), all) ==
          "no memory to read \"GPU --host.tif\" (--max-host-mem)");
    CHECK(sentence_of(IoError("cannot overwrite \"(raw_type)\" (overwrite)"), all) ==
          "cannot overwrite \"(raw_type)\" (overwrite)");
    CHECK(sentence_of(Cancelled("interrupted by another"), all) ==
          "interrupted; nothing was written");
}

TEST_CASE("options that the sentence names are not named again") {
    CHECK(sentence_of(OutOfMemory(sentence("set ", OptionName{"max_gpu_bytes"}), MemoryKind::gpu),
                      all) == "set --max-gpu-mem");
    CHECK(sentence_of(OutputExists(sentence("give ", OptionName{"--resume"})), all) ==
          "give --resume");
}

TEST_CASE("options that the subcommand lacks are not named") {
    CHECK(sentence_of(OutOfMemory("too large"), none) == "too large");
    const auto only_host = [](std::string_view name) { return name == "--max-host-mem"; };
    CHECK(sentence_of(OutOfMemory("too large for both", MemoryKind::host_and_gpu), only_host) ==
          "too large for both (--max-host-mem)");
}

TEST_CASE("names of the library's options become those of the command") {
    const auto shown = [](const Sentence& text) { return sentence_of(InvalidArgument(text), all); };
    for (const auto& [library, command] : {std::pair{"overwrite", "--overwrite"},
                                           {"max_host_bytes", "--max-host-mem"},
                                           {"max_gpu_bytes", "--max-gpu-mem"},
                                           {"max_cpu_engine_bytes", "--engine-mem"},
                                           {"raw_type", "--raw"},
                                           {"raw_signals", "--signals"},
                                           {"raw_samples", "--taps"},
                                           {"raw_layout", "--layout"},
                                           {"raw_header", "--header"},
                                           {"raw_byte_order", "--byte-order"},
                                           {"stored", "--output-type"},
                                           {"sampling_rate_hz", "--rate"},
                                           {"segment", "--segment"}})
        CHECK(shown(sentence("allow more (", OptionName{library}, "), or less")) ==
              message("allow more (", command, "), or less"));
    CHECK(shown(sentence("leave that out (", OptionName{"raw_header"}, ", ",
                         OptionName{"raw_byte_order"}, ")")) ==
          "leave that out (--header, --byte-order)");
}

TEST_CASE("sentences are shown in one line") {
    CHECK(sentence_of(IoError("one\ntwo\n\n"), all) == "one two");
    CHECK(in_one_line("") == "");
}
