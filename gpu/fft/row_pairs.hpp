// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spectra of real rows of 2N samples from those of their N pairs, and back, in the registers of
// threads that hold with every sample k sample N - k, too: those of a paired plan (plan.hpp) in
// stage 0. The formulas are those of split_row and merge_pairs (row_kernel.hpp).

#include "convolume/cuda/detail/complex.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

template <class P>
struct RowPairs {
    static constexpr Plan plan = P::value;
    static constexpr int n = plan.n, count = plan.radix[0];  ///< pairs of a thread
    static constexpr int distance = n / count, last = count - 1, middle = count / 2;
    static_assert(plan.paired && count % 2 == 0 && distance % 2 == 0);
    using Held = Samples<float, plan.elements>;

    int thread;

    CONVOLUME_DEVICE bool has_any() const {
        return distance / 2 == plan.threads || thread < distance / 2;
    }
    /// Of the first thread the last pair is sample N with sample 0, and sample N/2 comes with it.
    CONVOLUME_DEVICE bool has_center() const { return thread == 0; }

    /// k of pair j of the thread, above N/2 from j = middle on. The first one's butterflies are
    /// pairs in themselves: sample i with -i of butterfly 0, i with count - 1 - i of the middle
    /// one.
    CONVOLUME_DEVICE int sample(int j) const {
        const bool first = thread == 0;
        const int base = j > 0 && j < middle ? thread
                         : j == last         ? (first ? distance : thread)
                                             : (first ? distance / 2 : thread);
        return base + distance * j;
    }

    /// The samples before stage 0 of a row with the spectrum X: load(j, a, b) gives X[k] and X[N-k]
    /// of pair j, `center` is X[N/2].
    template <class Load>
    CONVOLUME_DEVICE void merge(Held& v, const Complex<float>* twiddles, Complex<float> center,
                                const Load& load) const {
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            Complex<float> a, b;
            load(j, a, b);
            if (j == last && has_center()) a.im = b.im = 0;
            const Complex<float> other = conjugate(b);
            const Complex<float> sum = a + other;
            const Complex<float> rotated = times_i(conjugate_root(j, twiddles) * (a - other));
            v[j] = conjugate(sum + rotated);
            v[mirror(j)] = sum - rotated;
        }
        if (!has_center()) return;
        const Held pairs = v;
        CONVOLUME_UNROLL
        for (int j = 1; j < middle; ++j) v[count - j] = pairs[mirror(j)];
        CONVOLUME_UNROLL
        for (int j = middle; j < last; ++j) v[count + j] = pairs[j];
        v[count] = pairs[0];
        v[0] = pairs[last];
        v[middle] = 2.0F * center;
    }

    /// The spectrum of the samples after stage 0 of back(): store(j, X[k], X[N-k]), and of the
    /// first thread store_center(X[N/2]).
    template <class Store, class StoreCenter>
    CONVOLUME_DEVICE void split(Held& v, const Complex<float>* twiddles, const Store& store,
                                const StoreCenter& store_center) const {
        if (has_center()) {
            const Held samples = v;
            CONVOLUME_UNROLL
            for (int j = 1; j < middle; ++j) v[mirror(j)] = samples[count - j];
            CONVOLUME_UNROLL
            for (int j = middle; j < last; ++j) v[j] = samples[count + j];
            v[0] = samples[count];
            v[last] = v[mirror(last)] = samples[0];
            store_center(conjugate(samples[middle]));
        }
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            const Complex<float> a = v[j];
            const Complex<float> other = conjugate(v[mirror(j)]);
            const Complex<float> even = 0.5F * (a + other);
            const Complex<float> odd =
                times_i(-0.5F * (conjugate(conjugate_root(j, twiddles)) * (a - other)));
            store(j, even + odd, conjugate(even - odd));
        }
    }

  private:
    /// Where the other sample of pair j is held, but for the first thread.
    CONVOLUME_CONSTEXPR static int mirror(int j) { return 2 * count - 1 - j; }
    /// e^{πik/N} of pair j, from a table of e^{-πik/N} for k <= N/2: -e^{-πi(N-k)/N} for others.
    CONVOLUME_DEVICE Complex<float> conjugate_root(int j, const Complex<float>* twiddles) const {
        if (j < middle) return conjugate(twiddles[sample(j)]);
        return -1.0F * twiddles[n - sample(j)];
    }
};

}  // namespace convolume::gpu
