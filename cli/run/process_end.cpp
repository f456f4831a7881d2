// SPDX-License-Identifier: Apache-2.0
#include "cli/run/process_end.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/run/errors.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

// Signal that wakes the watcher thread when the guard ends.
constexpr int wake_signal = SIGUSR1;

// Returns true if a signal is ignored, as in nohup or a shell's background jobs: it then stays so.
bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void end_at_once(int) {
    io::remove_uncommitted_outputs();
    _exit(static_cast<int>(ExitCode::interrupted));
}

// Thread of the InterruptGuard, if one lives.
std::atomic<bool> is_guarded{false};
pthread_t watching_thread;

// Handles a signal in a thread that does not block it. While a guard lives, that is a thread that a
// program around this command has started before, such as one of Python's packages.
void handle_interrupt(int signal) {
    if (!is_guarded.load()) end_at_once(signal);
    pthread_kill(watching_thread, signal);
}

std::terminate_handler previous_terminate_handler = nullptr;

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
    if (previous_terminate_handler != nullptr) previous_terminate_handler();
    std::abort();
}

}  // namespace

void end_on_interrupts() {
    struct sigaction action {};
    action.sa_handler = handle_interrupt;
    sigfillset(&action.sa_mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
}

InterruptGuard::InterruptGuard() {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (!is_ignored(signal)) sigaddset(&watched_, signal);
    sigaddset(&watched_, wake_signal);
    if (const int error = pthread_sigmask(SIG_BLOCK, &watched_, &previous_); error != 0)
        throw std::system_error(error, std::generic_category(), "pthread_sigmask");
    watcher_ = std::thread([this] { wait_for_signals(); });
    watching_thread = watcher_.native_handle();
    is_guarded = true;
}

InterruptGuard::~InterruptGuard() {
    is_guarded = false;
    pthread_kill(watcher_.native_handle(), wake_signal);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptGuard::wait_for_signals() {
    int signal = 0;
    while (sigwait(&watched_, &signal) == 0) {
        if (signal == wake_signal) return;
        if (!source_.request_stop()) end_at_once(signal);
    }
}

void end_without_memory() noexcept {
    io::remove_uncommitted_outputs();
    constexpr std::string_view sentence =
        "convolume: error: the system refused memory; close other programs or set "
        "--max-host-mem\n";
    const ssize_t written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
    static_cast<void>(written);  // a failure of stderr cannot be reported
    ::_exit(static_cast<int>(ExitCode::out_of_memory));
}

void install_out_of_memory_handler() {
    // OpenMP's runtime calls exit() if it gets no memory.
    static_cast<void>(std::atexit([] { io::remove_uncommitted_outputs(); }));
    previous_terminate_handler = std::set_terminate(end_by_exception);
}

}  // namespace convolume::cli

#if CONVOLUME_HAVE_FFTW
// FFTW calls these functions if one of its allocations fails. Its own versions abort the process;
// these definitions replace them.
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
#endif
