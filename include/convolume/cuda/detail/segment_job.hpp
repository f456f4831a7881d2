// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel over segments is told.

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::gpu {

/// Results n of [begin, end) of signal s are computed in segments: segment k gives the `useful`
/// results from begin + k·useful on, from the samples that start `skip` before the first. The first
/// taps-1 results of a segment are aliased, and a function looks at some before and after its own:
/// skip >= taps-1 + before, and n >= skip + useful + after. Complex segments are transformed alone,
/// real ones in pairs that follow each other, as real and imaginary part.
template <class Real>
struct SegmentJob {
    const void* source = nullptr;             ///< Real or Complex<Real>: sample `first` of signal 0
    index_t source_stride = 0;                ///< from signal to signal
    index_t first = 0, count = 0;             ///< samples there are of each signal; zero elsewhere
    const Complex<Real>* twiddles = nullptr;  ///< see first_twiddle()
    const Complex<Real>* spectra = nullptr;   ///< of filters, over n, in forward()'s order
    void* target = nullptr;                   ///< of stored samples, see FilterResult
    index_t* positions = nullptr;             ///< of peaks; may be null
    index_t signal_stride = 0, filter_stride = 0;
    index_t begin = 0, end = 0;
    index_t segments = 0;  ///< of all signals together
    index_t segments_per_signal = 0;
    int useful = 0, skip = 0;
    int filters = 0, filters_per_block = 0;
    bool power = false;
    WindowPost::Kind window = WindowPost::Kind::none;
    index_t window_length = 1;  ///< `useful` is a multiple of it for peaks
};

/// What a kernel that makes spectra is told.
template <class Real>
struct SpectraJob {
    const void* taps = nullptr;  ///< filters × taps, contiguous, Real or Complex<Real>
    int filters = 0, taps_each = 0;
    const Complex<Real>* twiddles = nullptr;
    Complex<Real>* spectra = nullptr;
};

}  // namespace convolume::gpu
