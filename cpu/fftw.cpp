// SPDX-License-Identifier: Apache-2.0
#include "cpu/fftw.hpp"

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <utility>

#include "convolume/error.hpp"
#include "core/cache_folder.hpp"
#include "core/stop_scope.hpp"

// Functions that FFTW 3.3.6 and later export for their library of threads. The header does not
// declare them. Libraries that offer FFTW's interface without these functions need no lock.
extern "C" {
void fftwf_set_planner_hooks(void (*before)(), void (*after)()) __attribute__((weak));
void fftw_set_planner_hooks(void (*before)(), void (*after)()) __attribute__((weak));
}

namespace convolume::cpu {

namespace {

namespace fs = std::filesystem;

// One lock for both precisions: FFTW's planners share tables.
std::mutex planner_mutex;
thread_local bool planning_here = false;

/// Holds the planner's mutex while this thread plans or uses the planner's wisdom.
class PlannerLock {
  public:
    PlannerLock() : lock_(planner_mutex) { planning_here = true; }
    ~PlannerLock() { planning_here = false; }
    PlannerLock(const PlannerLock&) = delete;
    PlannerLock& operator=(const PlannerLock&) = delete;

  private:
    std::lock_guard<std::mutex> lock_;
};

// FFTW has one planner for the whole process, which the caller may use as well. FFTW calls these
// hooks before and after all planning, so that the caller's plans are locked, too. They are set
// when the program starts, before any thread plans.
[[maybe_unused]] const bool planner_is_locked = [] {
    const auto before = [] {
        if (!planning_here) planner_mutex.lock();
    };
    const auto after = [] {
        if (!planning_here) planner_mutex.unlock();
    };
    if (fftwf_set_planner_hooks) fftwf_set_planner_hooks(before, after);
    if (fftw_set_planner_hooks) fftw_set_planner_hooks(before, after);
    return true;
}();

// Wisdom is optional: a missing or read-only cache folder costs time and is no error.
template <class Real>
void load_wisdom() {
    if (const auto folder = cache_folder())
        FftwApi<Real>::read_wisdom_file((*folder / FftwApi<Real>::wisdom_name).c_str());
}

template <class Real>
void save_wisdom() {
    const auto folder = cache_folder();
    if (!folder) return;
    std::error_code ignored;
    fs::create_directories(*folder, ignored);
    const fs::path target = *folder / FftwApi<Real>::wisdom_name;
    const fs::path partial = target.string() + "." + std::to_string(getpid());
    if (FftwApi<Real>::write_wisdom_file(partial.c_str()))
        fs::rename(partial, target, ignored);
    else
        fs::remove(partial, ignored);
}

// Makes an FFTW plan by measuring, which takes seconds for long rows. FFTW checks its time limit
// now and then. A stop request sets the limit to zero.
template <class Real, class Make>
auto measure_until_stopped(const Make& make) {
    constexpr double very_long_s = 1e9;  // without a limit FFTW does not check the time
    FftwApi<Real>::set_time_limit(very_long_s);
    auto plan = [&] {
        const StopCallbacks on_stop([] { FftwApi<Real>::set_time_limit(0); });
        return make();
    }();
    FftwApi<Real>::set_time_limit(FFTW_NO_TIMELIMIT);
    const StopScope* const scope = current_stop_scope();
    if (scope != nullptr && scope->stop_requested()) {
        if (plan) FftwApi<Real>::destroy_plan(plan);
        throw_if_stopped();
    }
    return plan;
}

// Makes an FFTW plan: calls `make` with the lengths and FFTW's flags, with the planner locked and
// wisdom loaded.
template <class Real, class Make>
auto plan_locked(const TransformBatch& transforms, PlanningEffort effort, Make make) {
    throw_if_stopped();
    const PlannerLock lock;
    throw_if_stopped();  // a second check, since the wait for the lock may be long
    [[maybe_unused]] static const bool loaded = (load_wisdom<Real>(), true);
    const typename FftwApi<Real>::Dimension length{transforms.length, transforms.in_stride,
                                                   transforms.out_stride};
    const typename FftwApi<Real>::Dimension batch{transforms.count, transforms.in_distance,
                                                  transforms.out_distance};

    auto plan = make(&length, &batch, FFTW_DESTROY_INPUT | FFTW_MEASURE | FFTW_WISDOM_ONLY);
    if (!plan && effort == PlanningEffort::measured) {
        plan = measure_until_stopped<Real>(
            [&] { return make(&length, &batch, FFTW_DESTROY_INPUT | FFTW_MEASURE); });
        save_wisdom<Real>();
    }
    if (!plan) plan = make(&length, &batch, FFTW_DESTROY_INPUT | FFTW_ESTIMATE);
    if (!plan)
        throw InternalError(message("FFTW has no plan for ", transforms.count,
                                    " transforms of length ", transforms.length));
    return plan;
}

template <class Real>
auto fftw_complex_of(std::complex<Real>* data) {
    return reinterpret_cast<typename FftwApi<Real>::Complex*>(data);
}

}  // namespace

template <class Real>
FftPlan<Real>::FftPlan(const TransformBatch& transforms, Complex* in, Complex* out,
                       FftDirection direction, PlanningEffort effort)
    : plan_(plan_locked<Real>(
          transforms, effort, [&](const auto* length, const auto* batch, unsigned flags) {
              const int sign = direction == FftDirection::forward ? FFTW_FORWARD : FFTW_BACKWARD;
              return FftwApi<Real>::plan_dft(1, length, 1, batch, fftw_complex_of(in),
                                             fftw_complex_of(out), sign, flags);
          })) {}

template <class Real>
FftPlan<Real>::FftPlan(const TransformBatch& transforms, Real* in, Complex* out,
                       PlanningEffort effort)
    : plan_(plan_locked<Real>(transforms, effort,
                              [&](const auto* length, const auto* batch, unsigned flags) {
                                  return FftwApi<Real>::plan_dft_r2c(1, length, 1, batch, in,
                                                                     fftw_complex_of(out), flags);
                              })) {}

template <class Real>
FftPlan<Real>::FftPlan(const TransformBatch& transforms, Complex* in, Real* out,
                       PlanningEffort effort)
    : plan_(plan_locked<Real>(transforms, effort,
                              [&](const auto* length, const auto* batch, unsigned flags) {
                                  return FftwApi<Real>::plan_dft_c2r(
                                      1, length, 1, batch, fftw_complex_of(in), out, flags);
                              })) {}

template <class Real>
FftPlan<Real>::~FftPlan() {
    if (!plan_) return;
    const PlannerLock lock;
    FftwApi<Real>::destroy_plan(plan_);
}

template <class Real>
FftPlan<Real>::FftPlan(FftPlan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}

template <class Real>
FftPlan<Real>& FftPlan<Real>::operator=(FftPlan&& other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
}

template <class Real>
void FftPlan<Real>::execute(Complex* in, Complex* out) const {
    FftwApi<Real>::execute_dft(plan_, fftw_complex_of(in), fftw_complex_of(out));
}

template <class Real>
void FftPlan<Real>::execute(Real* in, Complex* out) const {
    FftwApi<Real>::execute_dft_r2c(plan_, in, fftw_complex_of(out));
}

template <class Real>
void FftPlan<Real>::execute(Complex* in, Real* out) const {
    FftwApi<Real>::execute_dft_c2r(plan_, fftw_complex_of(in), out);
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace convolume::cpu
