// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fourier transforms in one dimension, without planning: all that the CPU's engines need.

#include <optional>

#include "cpu/fft/aligned_memory.hpp"
#include "cpu/fft/any_rows_fft.hpp"
#include "cpu/fft/column_fft.hpp"
#include "cpu/fft/transform_batch.hpp"

namespace convolume::cpu {

/// Samples of several transforms in an array. Strides and distances are in real numbers, and a
/// sample has `parts` of them.
struct SamplePlaces {
    index_t stride, distance, parts;
};

/// Makes tables for a set of transforms, which several threads may execute at once. Scratch memory
/// of up to 4 MiB belongs to the thread and is freed when it ends, more belongs to the set.
template <class Real>
class OwnFft : public PlannedTransforms {
  public:
    /// Returns whether the length has no prime factor above 13.
    static bool takes(index_t length);

    /// Throws InvalidArgument if `transforms` has a length that is not taken, or no transforms.
    OwnFft(const TransformBatch& transforms, TransformKind kind);

    /// Arrays need no alignment. Results may replace their input, if strides and distances agree,
    /// and inputs are kept otherwise.
    void execute(void* in, void* out) const override;

  private:
    index_t scratch_reals() const;
    // Real numbers from one row to the next in the memory of copies.
    index_t copy_distance() const { return round_up(2 * (batch_.length + 1), index_t{16}); }
    SamplePlaces in_places() const {
        const index_t parts = kind_ == TransformKind::real_forward ? 1 : 2;
        return {parts * batch_.in_stride, parts * batch_.in_distance, parts};
    }
    SamplePlaces out_places() const {
        const index_t parts = kind_ == TransformKind::real_inverse ? 1 : 2;
        return {parts * batch_.out_stride, parts * batch_.out_distance, parts};
    }
    void run_columns(const Real* in, Real* out, Real* scratch) const;
    void run_copies(const Real* in, Real* out, index_t count, Real* scratch) const;

    TransformBatch batch_;
    TransformKind kind_;
    bool in_place_rows_;      // rows whose samples are neighbors need no copies
    index_t in_columns_ = 0;  // transforms that are neighboring columns
    std::optional<ColumnFft<Real>> columns_;
    std::optional<AnyRowsFft<Real>> rows_;
    mutable ScratchKeeper keeper_;
};

}  // namespace convolume::cpu
