// SPDX-License-Identifier: Apache-2.0
#include "cli/run/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

#include <system_error>

#include "cli/run/exit_code.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

// Wakes the watcher when the guard ends.
constexpr int wake_signal = SIGUSR1;

// A process started with a signal ignored (nohup, a shell's background job) keeps it ignored.
bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void end_at_once(int) {
    io::remove_uncommitted_outputs();
    _exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

void end_on_interrupts() {
    struct sigaction action {};
    action.sa_handler = end_at_once;
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
}

InterruptGuard::~InterruptGuard() {
    pthread_kill(watcher_.native_handle(), wake_signal);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptGuard::wait_for_signals() {
    int signal = 0;
    while (sigwait(&watched_, &signal) == 0) {
        if (signal == wake_signal) return;
        if (source_.request_stop()) continue;
        io::remove_uncommitted_outputs();
        _exit(static_cast<int>(ExitCode::interrupted));
    }
}

}  // namespace convolume::cli
