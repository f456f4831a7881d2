// SPDX-License-Identifier: Apache-2.0
#pragma once
// How threads share one transform: its factors, and the threads that hold it in registers.

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::gpu {

/// A transform of length n = radix[0] · … in one to three stages by `threads` threads, each of
/// which holds up to `elements` samples. In stage s thread t computes the butterflies t, t +
/// threads, … of n / radix[s]. If it is `paired`, thread t computes in stage 0 the butterflies t
/// and n / radix[0] - t, thread 0 the first and the middle one: together these hold with every
/// sample k sample n - k, too.
struct TransformPlan {
    int n = 0;
    int stages = 0;
    int radix[3] = {1, 1, 1};
    int threads = 0;
    int elements = 0;
    int lanes = 1;
    bool paired = false;

    CONVOLUME_CONSTEXPR int butterflies(int stage) const { return n / radix[stage]; }
    CONVOLUME_CONSTEXPR int butterflies_per_thread(int stage) const {
        if (paired && stage == 0) return 2;
        return (butterflies(stage) + threads - 1) / threads;
    }
    CONVOLUME_CONSTEXPR int last() const { return stages - 1; }
    /// Samples that a stage and those after it transform together, and how far apart it takes them.
    CONVOLUME_CONSTEXPR int length(int stage) const {
        int length = n;
        for (int s = 0; s < stage; ++s) length /= radix[s];
        return length;
    }
    CONVOLUME_CONSTEXPR int width(int stage) const { return length(stage) / radix[stage]; }
    /// Where the twiddle factors of a stage begin in their table: rows i = 1 … radix-1 of
    /// width(stage) columns u, e^{-2πi iu/length(stage)}. The last stage has none.
    CONVOLUME_CONSTEXPR int first_twiddle(int stage) const {
        int first = 0;
        for (int s = 0; s < stage; ++s) first += (radix[s] - 1) * width(s);
        return first;
    }

    /// Pitches of the exchange memory between stages 0 and 1 (1 and 2), such that `lanes` threads
    /// side by side meet in different banks on both sides; see RadixStages::place.
    CONVOLUME_CONSTEXPR int pitch(int exchange) const {
        const int width = radix[2];
        int size = exchange == 0 ? n / radix[0] : radix[0] * radix[1];
        int step = 1;  // of the lanes, that is; the pitch is that modulo them
        if (exchange == 0 && stages == 3) {
            if (width >= lanes) return size;
            step = width;
        } else if (exchange == 1) {
            step = (lanes + width - 1) / width;
        }
        while (size % lanes != step % lanes) ++size;
        return size;
    }
    /// Samples of exchange memory.
    CONVOLUME_CONSTEXPR int exchange_size() const {
        if (stages == 1) return 0;
        const int first = radix[0] * pitch(0);
        const int second = stages == 3 ? radix[2] * pitch(1) : 0;
        return first > second ? first : second;
    }
    /// first_twiddle(1), and the size of the table.
    CONVOLUME_CONSTEXPR int second_twiddles() const { return n - n / radix[0]; }
    CONVOLUME_CONSTEXPR int twiddle_count() const {
        return (stages > 1 ? second_twiddles() : 0) + (stages > 2 ? n / radix[0] - radix[2] : 0);
    }
};

}  // namespace convolume::gpu
