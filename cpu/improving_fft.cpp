// SPDX-License-Identifier: Apache-2.0
#include "cpu/improving_fft.hpp"

namespace convolume::cpu {

namespace {
// Transforms longer than this take long to measure and are rare enough to go on estimates.
constexpr index_t longest_measured = index_t{1} << 17;

bool can_measure(const Shape3& grid) {
    return grid.x <= longest_measured;
}

// Measuring the two plans of rows takes some tenths of a second: it has paid soon after this.
constexpr double worth_measuring_s = 3;
}  // namespace

template <class Real>
ImprovingFft<Real>::ImprovingFft(const Shape3& grid, bool complex_data, double expected_s,
                                 const PlanningMemory& memory)
    : grid_(grid),
      complex_data_(complex_data),
      measured_(expected_s >= worth_measuring_s && can_measure(grid)),
      current_(std::make_shared<FftBlock<Real>>(
          grid, complex_data, measured_ ? Effort::measured : Effort::quick, memory)) {}

template <class Real>
std::shared_ptr<const FftBlock<Real>> ImprovingFft<Real>::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

template <class Real>
void ImprovingFft<Real>::used(double seconds, const PlanningMemory& memory) {
    {
        const std::lock_guard lock(mutex_);
        spent_s_ += seconds;
        if (measured_ || spent_s_ < worth_measuring_s || !can_measure(grid_)) return;
        measured_ = true;  // others go on with the plans they have
    }
    auto better = std::make_shared<FftBlock<Real>>(grid_, complex_data_, Effort::measured, memory);
    const std::lock_guard lock(mutex_);
    current_ = std::move(better);
}

template class ImprovingFft<float>;
template class ImprovingFft<double>;

}  // namespace convolume::cpu
