// SPDX-License-Identifier: Apache-2.0
#pragma once
// The spectra of a bank at one transform length, and the way from a segment through each filter.
// All is complex: two real segments ride as real and imaginary part of one, which filters that are
// real keep apart. That takes FFTW two thirds of the time of real transforms.

#include "cpu/fftw.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

template <class Sample>
class SegmentBank {
  public:
    using Real = real_of<Sample>;
    using Complex = std::complex<Real>;
    /// Segments of signals in one transform.
    static constexpr index_t packed = is_complex_sample<Sample> ? 1 : 2;

    /// `taps`: filters × taps.
    SegmentBank(const FilterWork& work, const Sample* taps);

    index_t length() const { return length_; }

    /// Of the spectra.
    static index_t bytes(const FilterWork& work);

    /// Overwrites `segment`.
    void transform(Complex* segment, Complex* spectrum) const {
        forward_.execute(segment, spectrum);
    }
    /// `filtered`: circular convolution of the segment with filter f. Overwrites `product`.
    void filter(index_t f, const Complex* spectrum, Complex* product, Complex* filtered) const;

  private:
    /// From one spectrum to the next: aligned for FFTW.
    static index_t stride(index_t length) {
        return round_up(length, static_cast<index_t>(Buffer::alignment / sizeof(Complex)));
    }

    index_t length_;
    Buffer spectra_;  ///< of the filters, divided by the length
    FftPlan<Real> forward_;
    FftPlan<Real> inverse_;
};

}  // namespace convolume::cpu
