// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows progress: one line that updates on a terminal, elsewhere a plain line from time to time.

#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>

#include "cli/text/console.hpp"
#include "convolume/execution.hpp"

namespace convolume::cli {

/// Prints the fraction that is done, the speed and the time left.
class ProgressMeter {
  public:
    enum class LineStyle { none, plain, terminal };

    /// `amount` is the whole work in units. `clock_s` returns seconds; tests replace it.
    ProgressMeter(std::ostream& out, LineStyle style, double amount,
                  std::function<double()> clock_s, std::string unit = "voxel");
    /// Clears the updating line.
    ~ProgressMeter();
    ProgressMeter(const ProgressMeter&) = delete;
    ProgressMeter& operator=(const ProgressMeter&) = delete;

    // Several threads may call the following functions.

    /// Shows that `fraction` of all work is done.
    void update(double fraction);
    /// Sets a text for the end of the line, after the title.
    void note(std::string text);
    /// Sets the title, which is before the note, and removes the note.
    void title(std::string text);
    /// Sets the amount of all work, without work that turned out to be done already.
    void amount(double amount);
    void clear();

  private:
    void clear_line();

    std::mutex mutex_;
    std::ostream& out_;
    LineStyle style_;
    double amount_;
    std::string unit_;
    std::string title_;
    std::string note_;
    std::function<double()> clock_s_;
    double start_s_;
    double last_s_;
    bool line_shown_ = false;
};

/// Returns the context of portion `index` of `count` equal portions of a run. Its progress counts
/// toward the progress of the whole run.
ExecutionContext part_of(const ExecutionContext& whole, index_t index, index_t count);

/// Returns the style that suits stderr; none if the console is quiet.
ProgressMeter::LineStyle progress_style(const Console& console);

/// Returns the seconds of the system's steady clock.
double steady_clock_s();

}  // namespace convolume::cli
