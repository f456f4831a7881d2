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

    /// Where samples k and N - k of the thread's pairs lie in a row of N + 1 samples. Of a row of
    /// N/2 + 1 only one of the two is there: N - k from pair `middle` on. The first thread's
    /// butterflies are pairs in themselves: sample i with -i of butterfly 0, i with count - 1 - i
    /// of the middle one. So k = k0 + distance j, with one of three k0: the compiler knows all
    /// distances.
    template <class T>
    struct Row {
        T *sample[3], *opposite[3];  ///< those of k0 and N - k0
        CONVOLUME_DEVICE T* of(int j) const { return sample[kind(j)] + distance * j; }
        CONVOLUME_DEVICE T* opposite_of(int j) const { return opposite[kind(j)] - distance * j; }
    };
    template <class T>
    CONVOLUME_DEVICE Row<T> of_row(T* row) const {
        const bool first = thread == 0;
        const int k0[3] = {thread, first ? distance / 2 : thread, first ? distance : thread};
        T* const end = row + n;
        return {{row + k0[0], row + k0[1], row + k0[2]}, {end - k0[0], end - k0[1], end - k0[2]}};
    }

    /// The samples before stage 0 of a row with the spectrum X: load(j, a, b) gives X[k] and X[N-k]
    /// of pair j, `center` is X[N/2].
    template <class Load>
    CONVOLUME_DEVICE void merge(Held& v, const Complex<float>* twiddles, Complex<float> center,
                                const Load& load) const {
        const auto roots = of_row(twiddles);
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            Complex<float> a, b;
            load(j, a, b);
            if (j == last && has_center()) a.im = b.im = 0;
            const Complex<float> other = conjugate(b);
            const Complex<float> sum = a + other;
            const Complex<float> rotated = times_i(conjugate_root(j, roots) * (a - other));
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
        const auto roots = of_row(twiddles);
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            const Complex<float> a = v[j];
            const Complex<float> other = conjugate(v[mirror(j)]);
            const Complex<float> even = 0.5F * (a + other);
            const Complex<float> odd =
                times_i(-0.5F * (conjugate(conjugate_root(j, roots)) * (a - other)));
            store(j, even + odd, conjugate(even - odd));
        }
    }

  private:
    /// Where the other sample of pair j is held, but for the first thread.
    CONVOLUME_CONSTEXPR static int mirror(int j) { return 2 * count - 1 - j; }
    /// e^{πik/N} of pair j, from a table of e^{-πik/N} for k <= N/2: -e^{-πi(N-k)/N} for others.
    CONVOLUME_DEVICE Complex<float> conjugate_root(int j,
                                                   const Row<const Complex<float>>& roots) const {
        if (j < middle) return conjugate(*roots.of(j));
        return -1.0F * *roots.opposite_of(j);
    }
    /// Which k0 pair j has.
    CONVOLUME_CONSTEXPR static int kind(int j) {
        return j == last ? 2 : j > 0 && j < middle ? 0 : 1;
    }
};

}  // namespace convolume::gpu
