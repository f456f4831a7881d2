// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of 1D Fourier transforms of any length, computed by the library that the caller or
// fft_plan.cpp chooses: by convolume's own transforms (own_fft.hpp) or by FFTW
// (cpu/fftw.hpp).

#include <complex>
#include <memory>

#include "convolume/engines.hpp"
#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

/// Thoroughness of FFTW's planning. Measuring takes some 0.1 s per plan, whatever its size, and
/// makes transforms faster by a quarter to a half.
enum class PlanningEffort {
    quick,    ///< an earlier measurement (wisdom) if there is one, or an estimate
    measured  ///< an earlier measurement, or a new one that is saved in the wisdom
};

/// The library that plans, and the effort if it is FFTW.
struct FftPlanning {
    FftLibrary library = FftLibrary::automatic;
    PlanningEffort effort = PlanningEffort::quick;
};

/// A plan for any arrays aligned to 16 bytes. Move-only.
template <class Real>
class FftPlan {
  public:
    using Complex = std::complex<Real>;

    FftPlan() = default;
    /// Plans transforms from `in` to `out`, arrays of the types of `kind`. FFTW overwrites them;
    /// other libraries do not use them.
    FftPlan(const TransformBatch& transforms, TransformKind kind, void* in, void* out,
            const FftPlanning& planning);

    /// Whether FFTW computes the transforms.
    bool uses_fftw() const { return uses_fftw_; }

    // Overloads are for the kinds of transforms. All of them may destroy the input.
    void execute(Complex* in, Complex* out) const { transforms_->execute(in, out); }
    void execute(Real* in, Complex* out) const { transforms_->execute(in, out); }
    void execute(Complex* in, Real* out) const { transforms_->execute(in, out); }

  private:
    std::unique_ptr<const PlannedTransforms> transforms_;
    bool uses_fftw_ = false;
};

/// Returns the memory of a forward and an inverse plan of one row of `length`, and of `threads`
/// threads that transform at once: an upper limit of what own transforms take. FFTW takes less.
template <class Real>
index_t fft_pair_bytes(index_t length, bool complex_data, int threads);

}  // namespace convolume::cpu
