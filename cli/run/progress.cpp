// SPDX-License-Identifier: Apache-2.0
#include "cli/run/progress.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <ostream>
#include <utility>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr double terminal_interval_s = 0.1;
constexpr double plain_interval_s = 10;

}  // namespace

double steady_clock_s() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

ProgressMeter::ProgressMeter(std::ostream& out, LineStyle style, double amount,
                             std::function<double()> clock_s, std::string unit)
    : out_(out),
      style_(style),
      amount_(amount),
      unit_(std::move(unit)),
      clock_s_(std::move(clock_s)),
      start_s_(clock_s_()),
      last_s_(start_s_) {}

ProgressMeter::~ProgressMeter() {
    clear();
}

void ProgressMeter::update(double fraction) {
    if (style_ == LineStyle::none) return;
    const std::lock_guard lock(mutex_);
    const double now_s = clock_s_();
    const double interval_s =
        style_ == LineStyle::terminal ? terminal_interval_s : plain_interval_s;
    if (now_s - last_s_ < interval_s || !(fraction > 0)) return;
    last_s_ = now_s;
    fraction = std::min(fraction, 1.0);
    const double elapsed_s = now_s - start_s_;
    TextStream line;
    line << std::fixed << std::setprecision(0) << std::setw(3) << 100 * fraction << " %, "
         << std::setprecision(1) << amount_ * fraction / elapsed_s / 1e6 << " M" << unit_ << "/s, "
         << format_duration(elapsed_s * (1 - fraction) / fraction) << " left";
    if (!title_.empty()) line << ", " << title_;
    if (!note_.empty()) line << ", " << note_;
    if (style_ == LineStyle::terminal) {
        out_ << '\r' << line.str() << "\033[K" << std::flush;
        line_shown_ = true;
    } else {
        out_ << "progress " << line.str() << std::endl;
    }
}

void ProgressMeter::note(std::string text) {
    const std::lock_guard lock(mutex_);
    note_ = std::move(text);
}

void ProgressMeter::title(std::string text) {
    const std::lock_guard lock(mutex_);
    title_ = std::move(text);
    note_.clear();
}

void ProgressMeter::amount(double amount) {
    const std::lock_guard lock(mutex_);
    amount_ = amount;
}

void ProgressMeter::clear() {
    const std::lock_guard lock(mutex_);
    clear_line();
}

void ProgressMeter::clear_line() {
    if (line_shown_) out_ << "\r\033[K" << std::flush;
    line_shown_ = false;
}

ExecutionContext part_of(const ExecutionContext& whole, index_t index, index_t count) {
    ExecutionContext part = whole;
    if (whole.progress)
        part.progress = [progress = whole.progress, index, count](double fraction) {
            progress((static_cast<double>(index) + fraction) / static_cast<double>(count));
        };
    return part;
}

ProgressMeter::LineStyle progress_style(const Console& console) {
    if (console.quiet()) return ProgressMeter::LineStyle::none;
    return stderr_is_terminal() ? ProgressMeter::LineStyle::terminal
                                : ProgressMeter::LineStyle::plain;
}

}  // namespace convolume::cli
