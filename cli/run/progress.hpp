// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far an execution is: one line that updates on a terminal, a plain line now and then
// elsewhere.

#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>

#include "cli/text/console.hpp"
#include "convolume/execution.hpp"

namespace convolume::cli {

class ProgressMeter {
  public:
    enum class Style { none, plain, terminal };

    /// `amount` of `unit` in all are to be computed. `clock_s` counts seconds; it is a parameter
    /// for tests.
    ProgressMeter(std::ostream& out, Style style, double amount, std::function<double()> clock_s,
                  std::string unit = "voxel");
    /// Clears the updating line.
    ~ProgressMeter();
    ProgressMeter(const ProgressMeter&) = delete;
    ProgressMeter& operator=(const ProgressMeter&) = delete;

    // The following may be called by several threads.

    /// The fraction of all work that is done.
    void update(double fraction);
    /// Stands at the end of the line from now on, after the title.
    void note(std::string text);
    void title(std::string text);
    /// Work that turns out to be done already counts no more.
    void amount(double amount);
    void clear();

  private:
    void clear_line();

    std::mutex mutex_;
    std::ostream& out_;
    Style style_;
    double amount_;
    std::string unit_;
    std::string title_;
    std::string note_;
    std::function<double()> clock_s_;
    double start_s_;
    double last_s_;
    bool line_shown_ = false;
};

/// The context of part `index` of `count` equal parts: its progress is that of all.
ExecutionContext part_of(const ExecutionContext& whole, index_t index, index_t count);

/// None where the console is quiet, else what suits stderr.
ProgressMeter::Style progress_style(const Console& console);

/// Seconds of the system's steady clock.
double steady_clock_s();

}  // namespace convolume::cli
