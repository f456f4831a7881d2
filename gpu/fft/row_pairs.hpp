// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spectra of real rows of 2N samples from the spectra of their N pairs, and back, in registers. A
// thread holds with every sample k sample N - k, too, as in radix stage 0 of a paired plan
// (plan.hpp). The formulas are those of split_row and merge_pairs (row_kernel.hpp).

#include "convolume/cuda/detail/complex.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

template <class P>
struct RowPairs {
    static constexpr TransformPlan plan = P::plan;
    /// Number of samples, and of pairs of a thread.
    static constexpr int n = plan.n, count = plan.radix[0];
    static constexpr int distance = n / count, last = count - 1, middle = count / 2;
    static_assert(plan.paired && count % 2 == 0 && distance % 2 == 0);
    using ThreadSamples = Samples<float, plan.elements>;

    int thread;

    CONVOLUME_DEVICE bool has_pairs() const {
        return distance / 2 == plan.threads || thread < distance / 2;
    }
    /// Whether the thread has sample N/2, and as its last pair samples N and 0. The first thread
    /// has.
    CONVOLUME_DEVICE bool has_center() const { return thread == 0; }

    /// Pointers to samples k and N - k of the thread's pairs in a row of N + 1 samples. A row of
    /// N/2 + 1 samples has only one of the two: sample N - k from pair `middle` on. In the first
    /// thread, both samples of a pair belong to the same butterfly: i and -i of butterfly 0, i and
    /// count - 1 - i of the middle one. So k is one of three k0 plus a distance that the compiler
    /// knows:
    ///     k = k0 + distance j
    template <class T>
    struct PairPointers {
        T *sample[3], *opposite[3];  ///< pointers to the samples k0 and N - k0
        CONVOLUME_DEVICE T* sample_of(int j) const {
            return sample[start_of_pair(j)] + distance * j;
        }
        CONVOLUME_DEVICE T* opposite_sample_of(int j) const {
            return opposite[start_of_pair(j)] - distance * j;
        }
    };
    template <class T>
    CONVOLUME_DEVICE PairPointers<T> pointers_in_row(T* row) const {
        const bool first = thread == 0;
        const int k0[3] = {thread, first ? distance / 2 : thread, first ? distance : thread};
        T* const end = row + n;
        return {{row + k0[0], row + k0[1], row + k0[2]}, {end - k0[0], end - k0[1], end - k0[2]}};
    }

    /// Computes the samples before radix stage 0 of a row with the spectrum X. load(j, a, b) gives
    /// X[k] and X[N-k] of pair j; `center` is X[N/2].
    template <class Load>
    CONVOLUME_DEVICE void merge(ThreadSamples& v, const Complex<float>* twiddles,
                                Complex<float> center, const Load& load) const {
        const auto roots = pointers_in_row(twiddles);
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            Complex<float> a, b;
            load(j, a, b);
            if (j == last && has_center()) a.im = b.im = 0;
            const Complex<float> conjugate_b = conjugate(b);
            const Complex<float> sum = a + conjugate_b;
            const Complex<float> rotated = times_i(conjugate_root(j, roots) * (a - conjugate_b));
            v[j] = conjugate(sum + rotated);
            v[opposite_index(j)] = sum - rotated;
        }
        if (!has_center()) return;
        const ThreadSamples pairs = v;
        CONVOLUME_UNROLL
        for (int j = 1; j < middle; ++j) v[count - j] = pairs[opposite_index(j)];
        CONVOLUME_UNROLL
        for (int j = middle; j < last; ++j) v[count + j] = pairs[j];
        v[count] = pairs[0];
        v[0] = pairs[last];
        v[middle] = 2.0F * center;
    }

    /// Computes the spectrum X of the samples after radix stage 0 of back(), and calls store(j,
    /// X[k], X[N-k]). The first thread also calls store_center(X[N/2]).
    template <class Store, class StoreCenter>
    CONVOLUME_DEVICE void split(ThreadSamples& v, const Complex<float>* twiddles,
                                const Store& store, const StoreCenter& store_center) const {
        if (has_center()) {
            const ThreadSamples samples = v;
            CONVOLUME_UNROLL
            for (int j = 1; j < middle; ++j) v[opposite_index(j)] = samples[count - j];
            CONVOLUME_UNROLL
            for (int j = middle; j < last; ++j) v[j] = samples[count + j];
            v[0] = samples[count];
            v[last] = v[opposite_index(last)] = samples[0];
            store_center(conjugate(samples[middle]));
        }
        const auto roots = pointers_in_row(twiddles);
        CONVOLUME_UNROLL
        for (int j = 0; j < count; ++j) {
            const Complex<float> a = v[j];
            const Complex<float> conjugate_b = conjugate(v[opposite_index(j)]);
            const Complex<float> even = 0.5F * (a + conjugate_b);
            const Complex<float> odd =
                times_i(-0.5F * (conjugate(conjugate_root(j, roots)) * (a - conjugate_b)));
            store(j, even + odd, conjugate(even - odd));
        }
    }

  private:
    /// Returns the index of the other sample of pair j, except in the first thread.
    CONVOLUME_CONSTEXPR static int opposite_index(int j) { return 2 * count - 1 - j; }
    /// Returns e^{πik/N} of pair j, from a table of e^{-πik/N} for k <= N/2; for other k it is
    /// -e^{-πi(N-k)/N}.
    CONVOLUME_DEVICE Complex<float> conjugate_root(
        int j, const PairPointers<const Complex<float>>& roots) const {
        if (j < middle) return conjugate(*roots.sample_of(j));
        return -1.0F * *roots.opposite_sample_of(j);
    }
    /// Returns which of the thread's three first sample numbers (k0) pair j counts from: 0, 1 or 2.
    CONVOLUME_CONSTEXPR static int start_of_pair(int j) {
        return j == last ? 2 : j > 0 && j < middle ? 0 : 1;
    }
};

/// The same for a row that one thread transforms in one radix stage, with all its samples.
template <class P>
struct PairsOfOneThread {
    static constexpr int n = P::plan.n;
    static_assert(P::plan.threads == 1 && P::plan.stages == 1 && n % 2 == 0);
    using ThreadSamples = Samples<float, n>;

    struct Pointers {
        Complex<float>* row;
        CONVOLUME_DEVICE Complex<float>* sample_of(int j) const { return row + j; }
        CONVOLUME_DEVICE Complex<float>* opposite_sample_of(int j) const { return row + (n - j); }
    };
    CONVOLUME_DEVICE Pointers pointers_in_row(Complex<float>* row) const { return {row}; }

    template <class Load>
    CONVOLUME_DEVICE void merge(ThreadSamples& v, const Complex<float>* twiddles,
                                Complex<float> center, const Load& load) const {
        CONVOLUME_UNROLL
        for (int j = 0; j < n / 2; ++j) {
            Complex<float> a, b;
            load(j, a, b);
            if (j == 0) a.im = b.im = 0;
            const Complex<float> conjugate_b = conjugate(b);
            const Complex<float> sum = a + conjugate_b;
            const Complex<float> rotated = times_i(conjugate(twiddles[j]) * (a - conjugate_b));
            v[j] = conjugate(sum + rotated);
            if (j > 0) v[n - j] = sum - rotated;
        }
        v[n / 2] = 2.0F * center;
    }

    template <class Store, class StoreCenter>
    CONVOLUME_DEVICE void split(const ThreadSamples& v, const Complex<float>* twiddles,
                                const Store& store, const StoreCenter& store_center) const {
        CONVOLUME_UNROLL
        for (int j = 0; j < n / 2; ++j) {
            const Complex<float> a = v[j], conjugate_b = conjugate(v[j == 0 ? 0 : n - j]);
            const Complex<float> even = 0.5F * (a + conjugate_b);
            const Complex<float> odd = times_i(-0.5F * (twiddles[j] * (a - conjugate_b)));
            store(j, even + odd, conjugate(even - odd));
        }
        store_center(conjugate(v[n / 2]));
    }
};

}  // namespace convolume::gpu
