// SPDX-License-Identifier: Apache-2.0
#include "cli/run/out_of_memory.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "cli/run/exit_code.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

std::terminate_handler usual_end = nullptr;

[[noreturn]] void end_by_exception() {
    try {
        if (const std::exception_ptr error = std::current_exception())
            std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        end_without_memory();
    } catch (const OutOfMemory&) {
        end_without_memory();
    } catch (...) {
    }
    if (usual_end != nullptr) usual_end();
    std::abort();
}

}  // namespace

void end_without_memory() noexcept {
    io::remove_uncommitted_outputs();
    constexpr std::string_view sentence =
        "convolume: error: the system refused memory; close other programs or set "
        "--max-host-mem\n";
    const ssize_t written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    static_cast<void>(written);  // there is nobody else to tell
    ::_exit(static_cast<int>(ExitCode::out_of_memory));
}

void end_well_without_memory() {
    usual_end = std::set_terminate(end_by_exception);
}

}  // namespace convolume::cli

// What FFTW calls where an allocation of its own fails; it has no other way to say so, and would
// abort the process. These definitions come before those in its libraries.
extern "C" {
[[gnu::used, gnu::visibility("default")]] void fftwf_assertion_failed(const char*, int,
                                                                      const char*) {
    convolume::cli::end_without_memory();
}
[[gnu::used, gnu::visibility("default")]] void fftw_assertion_failed(const char*, int,
                                                                     const char*) {
    convolume::cli::end_without_memory();
}
}
