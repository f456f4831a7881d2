// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C and its relatives, turned into a stop request.

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

}  // namespace convolume::cli
