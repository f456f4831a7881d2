// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/segment_bank.hpp"

#include "core/stop_scope.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

template <class Sample>
index_t SegmentBank<Sample>::bytes(const FilterWork& work) {
    return Buffer::rounded_bytes(
        checked_multiply(checked_multiply(work.filters, stride(work.segment)),
                         static_cast<index_t>(sizeof(Complex))));
}

template <class Sample>
SegmentBank<Sample>::SegmentBank(const FilterWork& work, const Sample* taps)
    : length_(work.segment), spectra_(bytes(work), "the filters' spectra") {
    Buffer segment(length_ * static_cast<index_t>(sizeof(Complex)), "a segment");
    Complex* const in = segment.as<Complex>();
    // Single transforms that FFTW estimates are as fast as those it measures.
    const Transforms one{length_, 1, 1, length_, 1, length_};
    Buffer other(length_ * static_cast<index_t>(sizeof(Complex)), "a segment");
    forward_ = FftPlan<Real>(one, in, other.as<Complex>(), Direction::forward, Effort::quick);
    inverse_ = FftPlan<Real>(one, in, other.as<Complex>(), Direction::inverse, Effort::quick);
    for (index_t f = 0; f < work.filters; ++f) {
        throw_if_stopped();
        std::fill(in, in + length_, Complex{});
        for (index_t k = 0; k < work.taps; ++k)
            in[k] = taps[f * work.taps + k] / static_cast<Real>(length_);
        forward_.execute(in, spectra_.as<Complex>() + f * stride(length_));
    }
}

template <class Sample>
void SegmentBank<Sample>::filter(index_t f, const Complex* spectrum, Complex* product,
                                 Complex* filtered) const {
    multiply(spectra_.as<Complex>() + f * stride(length_), spectrum, product, length_);
    inverse_.execute(product, filtered);
}

template class SegmentBank<float>;
template class SegmentBank<double>;
template class SegmentBank<std::complex<float>>;
template class SegmentBank<std::complex<double>>;

}  // namespace convolume::cpu
