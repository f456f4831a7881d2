#pragma once
// How far an execution is: one line that updates on a terminal, a plain line now and then
// elsewhere.

#include <functional>
#include <iosfwd>

namespace convolume::cli {

class ProgressMeter {
  public:
    enum class Style { none, plain, terminal };

    /// `voxels` in all are to be convolved. `clock_s` counts seconds; it is a parameter for tests.
    ProgressMeter(std::ostream& out, Style style, double voxels, std::function<double()> clock_s);
    /// Clears the updating line.
    ~ProgressMeter();
    ProgressMeter(const ProgressMeter&) = delete;
    ProgressMeter& operator=(const ProgressMeter&) = delete;

    /// The fraction of all work that is done; one call at a time.
    void update(double fraction);
    void clear();

  private:
    std::ostream& out_;
    Style style_;
    double voxels_;
    std::function<double()> clock_s_;
    double start_s_;
    double last_s_;
    bool line_shown_ = false;
};

/// Seconds of the system's steady clock.
double steady_clock_s();

}  // namespace convolume::cli
