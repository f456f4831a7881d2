// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms that pay for better plans as they go: estimated at first, so that a first execution
// does not wait, measured once the time spent in them shows that measuring will pay.

#include <memory>
#include <mutex>

#include "cpu/volumes/fft_block.hpp"

namespace convolume::cpu {

template <class Real>
class ImprovingFft {
  public:
    using PlanningMemory = typename FftBlock<Real>::PlanningMemory;

    /// `expected_s`: what one use is predicted to take; long ones are measured at once.
    ImprovingFft(const Shape3& grid, bool complex_data, double expected_s,
                 const PlanningMemory& memory);

    std::shared_ptr<const FftBlock<Real>> current() const;
    /// Tells of a use that took `seconds`; may spend a fraction of a second on better plans.
    void used(double seconds, const PlanningMemory& memory);

  private:
    Shape3 grid_;
    bool complex_data_;
    mutable std::mutex mutex_;
    double spent_s_ = 0;
    bool measured_;
    std::shared_ptr<const FftBlock<Real>> current_;
};

}  // namespace convolume::cpu
