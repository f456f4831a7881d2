// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends of the process before main() returns: by signals such as Ctrl-C, which first request a stop,
// and by refused memory for which no error can be thrown.

#include <signal.h>

#include <stop_token>
#include <thread>

namespace convolume::cli {

/// Installs handlers that remove unfinished outputs and end the process with exit code 130 at
/// SIGINT, SIGTERM or SIGHUP, as long as no InterruptGuard lives.
void end_on_interrupts();

/// Guard during whose life the first SIGINT, SIGTERM or SIGHUP requests a stop. A second one
/// removes unfinished outputs and ends the process with exit code 130. Construct the guard before
/// any other thread is started. It blocks the signals in this thread and in threads started later.
/// One thread waits for them, so that no work ever ends within a signal handler.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    std::stop_token stop() const { return source_.get_token(); }

  private:
    void wait_for_signals();

    std::stop_source source_;
    sigset_t watched_;
    sigset_t previous_;
    std::thread watcher_;
};

/// Removes unfinished outputs, prints one sentence, and ends the process with
/// ExitCode::out_of_memory. Allocates nothing.
[[noreturn]] void end_without_memory() noexcept;

/// Installs a handler that calls end_without_memory() for refused allocations that nothing catches,
/// such as those in a destructor or at the start of a thread. A library that ends the process
/// leaves no unfinished outputs either.
void install_out_of_memory_handler();

}  // namespace convolume::cli
