// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of one transform on a GPU: its radices, and the threads that hold its samples in
// registers.

#include "convolume/cuda/detail/complex.hpp"

namespace convolume::gpu {

/// The plan of a transform of n samples in one to three radix stages by `threads` threads, each of
/// which holds up to `elements` samples:
///
///     n = radix[0] · radix[1] · radix[2]
///
/// In radix stage s, thread t computes the butterflies t, t + threads, … of n / radix[s]. In radix
/// stage 0 of a `paired` plan, thread t computes the butterflies t and n / radix[0] - t. Thread 0
/// computes the first and the middle one. A thread that holds sample k then also holds n - k.
struct TransformPlan {
    int n = 0;
    int stages = 0;
    int radix[3] = {1, 1, 1};
    int threads = 0;
    int elements = 0;
    int lanes = 1;  ///< number of threads side by side that access memory in one step
    bool paired = false;

    /// Returns the number of butterflies of a radix stage, over all threads.
    CONVOLUME_CONSTEXPR int butterflies(int stage) const { return n / radix[stage]; }
    CONVOLUME_CONSTEXPR int butterflies_per_thread(int stage) const {
        if (paired && stage == 0) return 2;
        return (butterflies(stage) + threads - 1) / threads;
    }
    /// Returns the index of the last radix stage.
    CONVOLUME_CONSTEXPR int last() const { return stages - 1; }
    /// Returns the length of the transforms that a radix stage and the later ones compute.
    CONVOLUME_CONSTEXPR int length(int stage) const {
        int length = n;
        for (int s = 0; s < stage; ++s) length /= radix[s];
        return length;
    }
    /// Returns the distance of the samples that a butterfly of a radix stage combines.
    CONVOLUME_CONSTEXPR int width(int stage) const { return length(stage) / radix[stage]; }
    /// Returns the index of a radix stage's first twiddle factor in their table. A radix stage has
    /// rows r = 1 … radix-1 of width(stage) columns u; the last one has none. The factors are
    ///
    ///     e^{-2πi ru/length(stage)}
    CONVOLUME_CONSTEXPR int first_twiddle(int stage) const {
        int first = 0;
        for (int s = 0; s < stage; ++s) first += (radix[s] - 1) * width(s);
        return first;
    }

    /// Returns the pitch of the exchange memory between radix stages 0 and 1 (exchange 0), or 1 and
    /// 2 (exchange 1). `lanes` threads side by side then use different banks when they write and
    /// when they read; see RadixStages::place.
    CONVOLUME_CONSTEXPR int pitch(int exchange) const {
        const int width = radix[2];
        int size = exchange == 0 ? n / radix[0] : radix[0] * radix[1];
        int step = 1;  // distance of neighboring lanes: the pitch is `step` modulo `lanes`
        if (exchange == 0 && stages == 3) {
            if (width >= lanes) return size;
            step = width;
        } else if (exchange == 1) {
            step = (lanes + width - 1) / width;
        }
        while (size % lanes != step % lanes) ++size;
        return size;
    }
    /// Returns the number of samples in exchange memory.
    CONVOLUME_CONSTEXPR int exchange_size() const {
        if (stages == 1) return 0;
        const int first = radix[0] * pitch(0);
        const int second = stages == 3 ? radix[2] * pitch(1) : 0;
        return first > second ? first : second;
    }
    /// Returns first_twiddle(1).
    CONVOLUME_CONSTEXPR int second_twiddles() const { return n - n / radix[0]; }
    /// Returns the number of twiddle factors in the table.
    CONVOLUME_CONSTEXPR int twiddle_count() const {
        return (stages > 1 ? second_twiddles() : 0) + (stages > 2 ? n / radix[0] - radix[2] : 0);
    }
};

}  // namespace convolume::gpu
