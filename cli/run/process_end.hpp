// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the process ends before main() does: by signals such as Ctrl-C, which become a stop request,
// and by refused memory for which no error can be thrown.

#include <signal.h>

#include <stop_token>
#include <thread>

namespace convolume::cli {

/// Ends the process with exit code 130, without unfinished outputs, at SIGINT, SIGTERM or SIGHUP,
/// as long as no InterruptGuard lives.
void end_on_interrupts();

/// While it lives, the first SIGINT, SIGTERM or SIGHUP requests a stop; a second one removes
/// unfinished outputs and ends the process with exit code 130. Construct it before any other thread
/// is started: the signals are blocked in this thread and those it starts, and one thread waits for
/// them, so that no work ever ends within a signal handler.
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

/// Removes unfinished outputs, says so in one sentence, and ends the process with the exit code of
/// lacking memory. Allocates nothing.
[[noreturn]] void end_without_memory() noexcept;

/// From now on a refused allocation that no handler is there for, such as one in a destructor or at
/// the start of a thread, ends the process by end_without_memory(), and so does one within FFTW.
void install_out_of_memory_handler();

}  // namespace convolume::cli
