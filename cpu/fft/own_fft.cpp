// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/own_fft.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume::cpu {

namespace {

// Transforms whose samples are not neighbors are copied in groups.
constexpr index_t copied_at_once = 16;

index_t reals_of_input(const TransformBatch& batch, TransformKind kind) {
    return kind == TransformKind::real_forward   ? batch.length
           : kind == TransformKind::real_inverse ? 2 * (batch.length / 2 + 1)
                                                 : 2 * batch.length;
}
index_t reals_of_output(const TransformBatch& batch, TransformKind kind) {
    return kind == TransformKind::real_forward   ? 2 * (batch.length / 2 + 1)
           : kind == TransformKind::real_inverse ? batch.length
                                                 : 2 * batch.length;
}
bool are_rows(const TransformBatch& batch) {
    return (batch.in_stride == 1 && batch.out_stride == 1) || batch.length == 1;
}
bool are_columns(const TransformBatch& batch, TransformKind kind) {
    return is_complex(kind) && batch.in_distance == 1 && batch.out_distance == 1;
}

// Copies samples of `count` transforms from one array to another, along the memory that is far
// apart in either.
template <class Real>
void copy_samples(const Real* from, const SamplePlaces& source, Real* to,
                  const SamplePlaces& target, index_t samples, index_t count) {
    for (index_t n = 0; n < samples; ++n)
        for (index_t c = 0; c < count; ++c)
            for (index_t part = 0; part < source.parts; ++part)
                to[n * target.stride + c * target.distance + part] =
                    from[n * source.stride + c * source.distance + part];
}

}  // namespace

template <class Real>
OwnFft<Real>::OwnFft(const TransformBatch& transforms, TransformKind kind)
    : batch_(transforms), kind_(kind), in_place_rows_(are_rows(transforms)) {
    if (!takes(batch_.length) || batch_.count < 1)
        throw InvalidArgument(message("no ", batch_.count, " transforms of ", batch_.length,
                                      " samples: lengths are positive and have no prime factor "
                                      "above 13"));
    if (!in_place_rows_ && are_columns(batch_, kind)) {
        columns_.emplace(batch_.length);
        in_columns_ = batch_.count - batch_.count % ColumnFft<Real>::column_multiple;
    }
    const index_t in_rows = batch_.count - in_columns_;
    if (in_rows > 0)
        rows_.emplace(batch_.length, kind,
                      in_place_rows_ ? in_rows : std::min(in_rows, copied_at_once));
}

template <class Real>
bool OwnFft<Real>::takes(index_t length) {
    return ColumnFft<Real>::takes(length);
}

template <class Real>
void OwnFft<Real>::execute(void* in, void* out) const {
    const FftScratch scratch(static_cast<std::size_t>(scratch_reals()) * sizeof(Real), keeper_);
    Real* const memory = scratch.template as<Real>();
    const Real* const from = static_cast<const Real*>(in);
    Real* const to = static_cast<Real*>(out);
    const SamplePlaces source = in_places(), target = out_places();
    if (in_place_rows_)
        return rows_->run({from, source.distance, to, target.distance, batch_.count}, memory);
    run_columns(from, to, memory);
    for (index_t first = in_columns_; first < batch_.count; first += copied_at_once)
        run_copies(from + first * source.distance, to + first * target.distance,
                   std::min(copied_at_once, batch_.count - first), memory);
}

template <class Real>
index_t OwnFft<Real>::scratch_reals() const {
    const index_t columns = columns_ ? 2 * ColumnFft<Real>::scratch_samples(batch_.length) : 0;
    const index_t copies = in_place_rows_ || !rows_ ? 0 : copied_at_once * copy_distance();
    return std::max(columns, copies + (rows_ ? rows_->scratch_reals() : 0));
}

template <class Real>
void OwnFft<Real>::run_columns(const Real* in, Real* out, Real* scratch) const {
    constexpr index_t most = ColumnFft<Real>::most_columns;
    ColumnTransform<Real> transform;
    transform.source_stride = in_places().stride;
    transform.source_count = batch_.length;
    transform.target_stride = out_places().stride;
    transform.target_count = batch_.length;
    transform.inverse = kind_ == TransformKind::inverse;
    for (index_t first = 0; first < in_columns_; first += transform.columns) {
        transform.columns = in_columns_ - first >= most ? most : most / 2;
        transform.source = in + 2 * first;
        transform.target = out + 2 * first;
        columns_->run(transform, scratch);
    }
}

template <class Real>
void OwnFft<Real>::run_copies(const Real* in, Real* out, index_t count, Real* scratch) const {
    Real* const own_scratch = scratch + copied_at_once * copy_distance();
    const auto copies = [&](index_t parts) { return SamplePlaces{parts, copy_distance(), parts}; };
    const SamplePlaces from = in_places(), to = out_places();
    copy_samples(in, from, scratch, copies(from.parts), reals_of_input(batch_, kind_) / from.parts,
                 count);
    rows_->run({scratch, copy_distance(), scratch, copy_distance(), count}, own_scratch);
    copy_samples(static_cast<const Real*>(scratch), copies(to.parts), out, to,
                 reals_of_output(batch_, kind_) / to.parts, count);
}

template class OwnFft<float>;
template class OwnFft<double>;

}  // namespace convolume::cpu
