// SPDX-License-Identifier: Apache-2.0
#include "cpu/fftw.hpp"

#include <fftw3.h>

#include <filesystem>
#include <mutex>

#include "convolume/error.hpp"
#include "core/cache_folder.hpp"
#include "core/stop_scope.hpp"
#include "core/system/system.hpp"

// Functions that FFTW 3.3.6 and later export for their library of threads. The header does not
// declare them. Libraries that offer FFTW's interface without these functions need no lock.
extern "C" {
void fftwf_set_planner_hooks(void (*before)(), void (*after)()) __attribute__((weak));
void fftw_set_planner_hooks(void (*before)(), void (*after)()) __attribute__((weak));
}

namespace convolume::cpu {

namespace {

namespace fs = std::filesystem;

template <class Real>
struct FftwApi;

// The names of one precision, which begin with `prefix`.
#define CONVOLUME_FFTW_API(Real, prefix)                                               \
    template <>                                                                        \
    struct FftwApi<Real> {                                                             \
        using Plan = prefix##_plan;                                                    \
        using Complex = prefix##_complex;                                              \
        using Dimension = prefix##_iodim64;                                            \
        static constexpr auto plan_dft = prefix##_plan_guru64_dft;                     \
        static constexpr auto plan_dft_r2c = prefix##_plan_guru64_dft_r2c;             \
        static constexpr auto plan_dft_c2r = prefix##_plan_guru64_dft_c2r;             \
        static constexpr auto execute_dft = prefix##_execute_dft;                      \
        static constexpr auto execute_dft_r2c = prefix##_execute_dft_r2c;              \
        static constexpr auto execute_dft_c2r = prefix##_execute_dft_c2r;              \
        static constexpr auto destroy_plan = prefix##_destroy_plan;                    \
        static constexpr auto read_wisdom_file = prefix##_import_wisdom_from_filename; \
        static constexpr auto write_wisdom_file = prefix##_export_wisdom_to_filename;  \
        static constexpr auto set_time_limit = prefix##_set_timelimit;                 \
        static constexpr const char* wisdom_name = "fftw-" #Real ".wisdom";            \
    }
CONVOLUME_FFTW_API(float, fftwf);
CONVOLUME_FFTW_API(double, fftw);

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
        FftwApi<Real>::read_wisdom_file((*folder / FftwApi<Real>::wisdom_name).string().c_str());
}

template <class Real>
void save_wisdom() {
    const auto folder = cache_folder();
    if (!folder) return;
    std::error_code ignored;
    fs::create_directories(*folder, ignored);
    const fs::path target = *folder / FftwApi<Real>::wisdom_name;
    const fs::path partial = target.string() + "." + std::to_string(system::process_id());
    if (FftwApi<Real>::write_wisdom_file(partial.string().c_str()))
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

// An FFTW plan for any arrays aligned to 16 bytes.
template <class Real>
class FftwTransforms : public PlannedTransforms {
    using Api = FftwApi<Real>;
    using Complex = typename Api::Complex;

  public:
    FftwTransforms(const TransformBatch& transforms, TransformKind kind, void* in, void* out,
                   PlanningEffort effort)
        : kind_(kind),
          plan_(plan_locked<Real>(
              transforms, effort, [&](const auto* length, const auto* batch, unsigned flags) {
                  auto* const complex_in = static_cast<Complex*>(in);
                  auto* const complex_out = static_cast<Complex*>(out);
                  if (kind == TransformKind::real_forward)
                      return Api::plan_dft_r2c(1, length, 1, batch, static_cast<Real*>(in),
                                               complex_out, flags);
                  if (kind == TransformKind::real_inverse)
                      return Api::plan_dft_c2r(1, length, 1, batch, complex_in,
                                               static_cast<Real*>(out), flags);
                  const int sign = kind == TransformKind::forward ? FFTW_FORWARD : FFTW_BACKWARD;
                  return Api::plan_dft(1, length, 1, batch, complex_in, complex_out, sign, flags);
              })) {}

    ~FftwTransforms() override {
        const PlannerLock lock;
        Api::destroy_plan(plan_);
    }
    FftwTransforms(const FftwTransforms&) = delete;
    FftwTransforms& operator=(const FftwTransforms&) = delete;

    void execute(void* in, void* out) const override {
        auto* const complex_in = static_cast<Complex*>(in);
        auto* const complex_out = static_cast<Complex*>(out);
        switch (kind_) {
            case TransformKind::forward:
            case TransformKind::inverse:
                return Api::execute_dft(plan_, complex_in, complex_out);
            case TransformKind::real_forward:
                return Api::execute_dft_r2c(plan_, static_cast<Real*>(in), complex_out);
            case TransformKind::real_inverse:
                return Api::execute_dft_c2r(plan_, complex_in, static_cast<Real*>(out));
        }
    }

  private:
    TransformKind kind_;
    typename Api::Plan plan_;
};

}  // namespace

bool has_fftw() {
    return true;
}

std::string fftw_version() {
    return fftwf_version;
}

void require_fftw() {}

template <class Real>
std::unique_ptr<const PlannedTransforms> plan_by_fftw(const TransformBatch& transforms,
                                                      TransformKind kind, void* in, void* out,
                                                      PlanningEffort effort) {
    return std::make_unique<const FftwTransforms<Real>>(transforms, kind, in, out, effort);
}

template std::unique_ptr<const PlannedTransforms> plan_by_fftw<float>(const TransformBatch&,
                                                                      TransformKind, void*, void*,
                                                                      PlanningEffort);
template std::unique_ptr<const PlannedTransforms> plan_by_fftw<double>(const TransformBatch&,
                                                                       TransformKind, void*, void*,
                                                                       PlanningEffort);

}  // namespace convolume::cpu
