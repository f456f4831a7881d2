// SPDX-License-Identifier: Apache-2.0
#pragma once
// FFTW in both precisions under one name, with its planner locked. In FFTW only executing is
// thread-safe.

#include <fftw3.h>

#include <complex>

#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

enum class FftDirection { forward, inverse };

/// Thoroughness of FFTW's planning. Measuring takes some 0.1 s per plan, whatever its size, and
/// makes transforms faster by a quarter to a half.
enum class PlanningEffort {
    quick,    ///< an earlier measurement (wisdom) if there is one, or an estimate
    measured  ///< an earlier measurement, or a new one that is saved in the wisdom
};

template <class Real>
struct FftwApi;

/// An FFTW plan for any arrays aligned to 16 bytes. Move-only. Constructors plan on the given
/// arrays and overwrite them; they throw InternalError if FFTW knows no plan.
template <class Real>
class FftPlan {
  public:
    using Complex = std::complex<Real>;

    FftPlan() = default;
    FftPlan(const TransformBatch& transforms, Complex* in, Complex* out, FftDirection direction,
            PlanningEffort effort);
    FftPlan(const TransformBatch& transforms, Real* in, Complex* out,
            PlanningEffort effort);  ///< plans forward transforms, real to half-complex
    FftPlan(const TransformBatch& transforms, Complex* in, Real* out,
            PlanningEffort effort);  ///< plans inverse transforms, which destroy their input
    ~FftPlan();
    FftPlan(FftPlan&& other) noexcept;
    FftPlan& operator=(FftPlan&& other) noexcept;

    void execute(Complex* in, Complex* out) const;
    void execute(Real* in, Complex* out) const;
    void execute(Complex* in, Real* out) const;

  private:
    typename FftwApi<Real>::Plan plan_ = nullptr;
};

template <>
struct FftwApi<float> {
    using Plan = fftwf_plan;
    using Complex = fftwf_complex;
    using Dimension = fftwf_iodim64;
    static constexpr auto plan_dft = fftwf_plan_guru64_dft;
    static constexpr auto plan_dft_r2c = fftwf_plan_guru64_dft_r2c;
    static constexpr auto plan_dft_c2r = fftwf_plan_guru64_dft_c2r;
    static constexpr auto execute_dft = fftwf_execute_dft;
    static constexpr auto execute_dft_r2c = fftwf_execute_dft_r2c;
    static constexpr auto execute_dft_c2r = fftwf_execute_dft_c2r;
    static constexpr auto destroy_plan = fftwf_destroy_plan;
    static constexpr auto read_wisdom_file = fftwf_import_wisdom_from_filename;
    static constexpr auto write_wisdom_file = fftwf_export_wisdom_to_filename;
    static constexpr auto set_time_limit = fftwf_set_timelimit;
    static constexpr const char* wisdom_name = "fftw-float.wisdom";
};

template <>
struct FftwApi<double> {
    using Plan = fftw_plan;
    using Complex = fftw_complex;
    using Dimension = fftw_iodim64;
    static constexpr auto plan_dft = fftw_plan_guru64_dft;
    static constexpr auto plan_dft_r2c = fftw_plan_guru64_dft_r2c;
    static constexpr auto plan_dft_c2r = fftw_plan_guru64_dft_c2r;
    static constexpr auto execute_dft = fftw_execute_dft;
    static constexpr auto execute_dft_r2c = fftw_execute_dft_r2c;
    static constexpr auto execute_dft_c2r = fftw_execute_dft_c2r;
    static constexpr auto destroy_plan = fftw_destroy_plan;
    static constexpr auto read_wisdom_file = fftw_import_wisdom_from_filename;
    static constexpr auto write_wisdom_file = fftw_export_wisdom_to_filename;
    static constexpr auto set_time_limit = fftw_set_timelimit;
    static constexpr const char* wisdom_name = "fftw-double.wisdom";
};

}  // namespace convolume::cpu
