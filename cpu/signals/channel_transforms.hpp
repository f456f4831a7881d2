// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of the frames of a polyphase filter bank.

#include <algorithm>
#include <complex>
#include <optional>
#include <string>

#include "convolume/volume.hpp"
#include "cpu/fft/any_rows_fft.hpp"
#include "cpu/fft/fft_plan.hpp"
#include "cpu/fft/own_fft.hpp"

namespace convolume::cpu {

/// Transforms rows of one length. The bits of a row do not depend on the other rows.
template <class Real>
class ChannelTransforms {
  public:
    /// Largest number of rows of run().
    static constexpr index_t most_rows = 16;

    ChannelTransforms(index_t length, TransformKind kind, FftLibrary library)
        : length_(length), kind_(kind) {
        // Rows of an odd number of real samples would be transformed in pairs, whose bits depend on
        // each other. Tiles of more samples leave the second cache.
        const bool in_batches = (is_complex(kind) || length % 2 == 0) && length <= 2048;
        if (library == FftLibrary::fftw || !OwnFft<Real>::takes(length)) {
            Buffer in(row_bytes()), out(row_bytes());
            plan_.emplace(TransformBatch{length, 1, 1, length, 1, length}, kind, in.data(),
                          out.data(), FftPlanning{library, PlanningEffort::quick});
        } else if (in_batches) {
            batch_.emplace(length, kind);
        } else {
            lines_.emplace(length, kind, 1);
        }
    }

    /// Returns the real numbers of scratch memory of run().
    index_t scratch_reals() const {
        if (batch_) return batch_->scratch_reals();
        if (lines_) return lines_->scratch_reals();
        return 2 * row_bytes() / static_cast<index_t>(sizeof(Real));
    }

    /// Transforms rows without normalization. May destroy the source.
    void run(const RowSet<Real>& rows, Real* scratch) const {
        if (batch_) return batch_->run(rows, scratch);
        for (index_t r = 0; r < rows.count; ++r) {
            const Real* const source = rows.source + r * rows.source_distance;
            Real* const target = rows.target + r * rows.target_distance;
            if (lines_)
                lines_->run({source, 0, target, 0, 1}, scratch);
            else
                run_planned(source, target, scratch);
        }
    }

    std::string method() const {
        if (plan_ && plan_->uses_fftw()) return "FFTW";
        return "own transforms";
    }

  private:
    using Complex = std::complex<Real>;

    // Rows in aligned memory, as FFTW's plans need them.
    index_t row_bytes() const {
        return round_up(static_cast<index_t>(sizeof(Complex)) * (length_ + 1),
                        static_cast<index_t>(Buffer::alignment));
    }
    void run_planned(const Real* source, Real* target, Real* scratch) const {
        Real* const from = scratch;
        Real* const to = scratch + row_bytes() / static_cast<index_t>(sizeof(Real));
        const index_t bins = 2 * (length_ / 2 + 1);
        const bool real_source = kind_ == TransformKind::real_forward;
        const bool real_target = kind_ == TransformKind::real_inverse;
        const index_t taken = real_source ? length_ : real_target ? bins : 2 * length_;
        const index_t given = real_target ? length_ : real_source ? bins : 2 * length_;
        std::copy_n(source, taken, from);
        if (real_source)
            plan_->execute(from, reinterpret_cast<Complex*>(to));
        else if (real_target)
            plan_->execute(reinterpret_cast<Complex*>(from), to);
        else
            plan_->execute(reinterpret_cast<Complex*>(from), reinterpret_cast<Complex*>(to));
        std::copy_n(to, given, target);
    }

    index_t length_;
    TransformKind kind_;
    std::optional<RowBatchFft<Real>> batch_;
    std::optional<AnyRowsFft<Real>> lines_;
    std::optional<FftPlan<Real>> plan_;
};

}  // namespace convolume::cpu
