// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/stepped_fft.hpp"

#include <algorithm>

#include "cpu/fft/roots.hpp"
#include "cpu/signals/stream_loops.hpp"

namespace convolume::cpu {

namespace {

constexpr index_t longest_row = 4096;
constexpr index_t most_butterflies = 2048;  // of one step

index_t row_length_of(index_t length) {
    while (length > longest_row && length % 4 == 0) length /= 4;
    return length;
}

}  // namespace

template <class Real>
SteppedFft<Real>::SteppedFft(index_t length)
    : length_(length),
      row_length_(row_length_of(length)),
      forward_(row_length_, TransformKind::forward, 1),
      inverse_(row_length_, TransformKind::inverse, 1) {
    for (index_t group = length; group > row_length_; group /= 4) {
        const index_t quarter = group / 4;
        const auto factors = static_cast<index_t>(factors_.size());
        for (index_t r = 1; r < 4; ++r)
            for (index_t n = 0; n < quarter; ++n)
                factors_.push_back(
                    static_cast<std::complex<Real>>(std::conj(root_of_unity(r * n, group))));
        for (index_t first = 0; first < length; first += group)
            for (index_t begin = 0; begin < quarter; begin += most_butterflies)
                radix_steps_.push_back(
                    {first, quarter, begin, std::min(begin + most_butterflies, quarter), factors});
    }
}

template <class Real>
index_t SteppedFft<Real>::scratch_reals() const {
    return std::max(forward_.scratch_reals(), inverse_.scratch_reals());
}

template <class Real>
void SteppedFft<Real>::split(index_t step, Complex* z) const {
    const RadixStep& some = radix_steps_[static_cast<std::size_t>(step)];
    split_by_four(RadixFour<Real>{z + some.first, some.quarter, some.begin, some.end,
                                  factors_.data() + some.factors});
}

template <class Real>
void SteppedFft<Real>::merge(index_t step, Complex* z) const {
    const RadixStep& some = radix_steps_[static_cast<std::size_t>(radix_steps() - 1 - step)];
    merge_by_four(RadixFour<Real>{z + some.first, some.quarter, some.begin, some.end,
                                  factors_.data() + some.factors});
}

template <class Real>
void SteppedFft<Real>::transform_row(const Complex* row, Complex* to, bool inverse,
                                     Real* scratch) const {
    (inverse ? inverse_ : forward_)
        .run({reinterpret_cast<const Real*>(row), 2 * row_length_, reinterpret_cast<Real*>(to),
              2 * row_length_, 1},
             scratch);
}

template class SteppedFft<float>;
template class SteppedFft<double>;

}  // namespace convolume::cpu
