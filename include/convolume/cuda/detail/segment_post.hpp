// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a CUDA kernel over segments, and the post-processing and storing of its results
// in device memory.

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/cuda/detail/segment_transform.hpp"
#include "convolume/cuda/detail/stored_samples.hpp"
#include "convolume/filter_options.hpp"

namespace convolume::gpu {

/// Arguments of a CUDA kernel that filters. The results [begin, end) of each signal are computed in
/// segments of n samples. Segment k gives `useful` results from begin + k·useful on, and its
/// samples start `skip` before these. The first taps-1 results of a segment are aliased, and a
/// function reads results before and after its own:
///
///     skip >= taps-1 + before
///     n >= skip + useful + after
///
/// Complex segments are transformed alone. Two consecutive real segments are the real and imaginary
/// parts of one transform.
template <class Real>
struct SegmentJob {
    /// Sample `first` of signal 0: Real or Complex<Real>, or words of storage.source.
    const void* source = nullptr;
    index_t source_stride = 0;                ///< elements from one signal to the next
    index_t first = 0, count = 0;             ///< samples given of each signal; others are zero
    const Complex<Real>* twiddles = nullptr;  ///< table, see TransformPlan::first_twiddle()
    const Complex<Real>* spectra =
        nullptr;                   ///< spectra of filters, divided by n, in forward()'s order
    void* target = nullptr;        ///< stored samples: signals × filters × samples
    index_t* positions = nullptr;  ///< positions of peaks; may be null
    index_t signal_stride = 0, filter_stride = 0;  ///< distances in elements of `target`
    index_t begin = 0, end = 0;                    ///< range of the full result
    index_t segments = 0;                          ///< number of segments of all signals
    index_t segments_per_signal = 0;
    int useful = 0, skip = 0;
    int filters = 0, filters_per_block = 0;
    bool power = false;
    WindowPost::Kind window = WindowPost::Kind::none;
    index_t window_length = 1;  ///< number of results of a window; for peaks, a divisor of `useful`
    StorageJob storage{};       ///< not plain only for CUDA kernels compiled for other storage
};

/// Arguments of a CUDA kernel that computes spectra of filters.
template <class Real>
struct SpectraJob {
    const void* taps = nullptr;  ///< filters × taps, contiguous, Real or Complex<Real>
    int filters = 0, taps_each = 0;
    const Complex<Real>* twiddles = nullptr;
    Complex<Real>* spectra = nullptr;
};

/// The results that a segment gives: `count` results of `signal` from `first` on. Beyond the last
/// segment, `count` is 0.
struct SegmentPlace {
    index_t signal = 0, first = 0;
    int count = 0;
};

/// Returns the results that segment number `segment`, counted over all signals, gives.
template <class Real>
CONVOLUME_DEVICE SegmentPlace segment_place(const SegmentJob<Real>& job, index_t segment) {
    SegmentPlace place;
    if (segment >= job.segments) return place;
    place.signal = segment / job.segments_per_signal;
    const index_t in_signal = segment - place.signal * job.segments_per_signal;
    place.first = job.begin + in_signal * job.useful;
    const index_t left = job.end - place.first;
    place.count = left < job.useful ? static_cast<int>(left) : job.useful;
    return place;
}

/// The figures of a SegmentPlace that a thread keeps in registers for all filters. Others are
/// computed again for each filter.
struct SegmentTarget {
    index_t segment = 0;
    /// Index in SegmentJob::target of the result at position 0, for filter 0 without windows.
    index_t target_index = 0;
    int count = 0;
};

template <class Real>
CONVOLUME_DEVICE SegmentTarget segment_target(const SegmentJob<Real>& job, index_t segment) {
    const SegmentPlace place = segment_place(job, segment);
    return {segment, place.signal * job.signal_stride + place.first - job.begin - job.skip,
            place.count};
}

/// Stands for a caller's function if there is none.
struct NoFunction {
    static constexpr bool present = false;
};

/// The largest result so far and its position. Of equal results it is the first one, and never NaN
/// unless all are.
template <class Real, class Position = int>
struct Peak {
    Real value;
    Position position;

    /// Compares with the result `other` at position `at`, and keeps the larger one.
    CONVOLUME_DEVICE void consider(Real other, Position at) {
        const bool first = other == value && at < position;
        if (other > value || first || (value != value && other == other)) {
            value = other;
            position = at;
        }
    }
};

/// Stores results of one filter. value(i) is the result at position thread + i·threads of the
/// segment. `memory` is the exchange memory of SegmentMemory, which is free after a barrier.
template <class Real, class Shape, class Context>
class SegmentStore {
  public:
    CONVOLUME_DEVICE SegmentStore(const Context& context, char* memory, const SegmentJob<Real>& job,
                                  int thread)
        : context_(context), memory_(memory), job_(job), thread_(thread) {}

    template <class Function, class Value>
    CONVOLUME_DEVICE void store(const SegmentTarget& target, int filter, const Function& function,
                                const Value& value) const {
        if constexpr (Function::present) {
            using Sample = decltype(value(Constant<0>{}));
            auto* const results = share_results<Sample>(value);
            using Result = decltype(function(results));
            Result made[static_cast<unsigned>(elements)];
            unroll<elements>([&](auto i) {
                const int position = thread_ + i * threads;
                if (is_kept(target.count, position)) made[i] = function(results + position);
            });
            store_windows(target, filter, [&](auto i) { return made[i]; });
        } else {
            store_windows(target, filter, value);
        }
    }

    /// Stores results of one filter in 16 bits: real parts, and imaginary parts if `both`. With
    /// `two_segments`, these are the results of two segments. Otherwise Word holds a stored sample.
    template <bool two_segments, class Word = SampleWord, class Samples>
    CONVOLUME_DEVICE void store_short(const SegmentTarget* targets, int filter, const Samples& v,
                                      bool both) const {
        std::uint32_t words[static_cast<unsigned>(elements)];
        visit_storage(job_.storage.target, [&](auto kind) {
            if constexpr (decltype(kind)::storage == SampleStorage::int16) {
                if (!encode_in_range(v, words))
                    encode_clamped<two_segments>(targets, v, both, words);
            } else {
                typename decltype(kind)::Encoder encode(1);
                unroll<elements>([&](auto i) { words[i] = encode(v[i]); });
            }
        });
        if constexpr (two_segments) {
            if (job_.window == WindowPost::Kind::none) {
                pair_with_neighbor(words);
                store_pairs<0>(targets[0], filter, words);
                store_pairs<1>(targets[1], filter, words);
            } else {
                const SegmentPlace first = segment_place(job_, targets[0].segment);
                const SegmentPlace second = segment_place(job_, targets[1].segment);
                store_decimated<Word>(first, filter,
                                      [&](auto i) { return static_cast<Word>(words[i]); });
                store_decimated<Word>(second, filter,
                                      [&](auto i) { return static_cast<Word>(words[i] >> 16); });
            }
        } else {
            store_windows(targets[0], filter, [&](auto i) { return static_cast<Word>(words[i]); });
        }
    }

  private:
    static constexpr int elements = Shape::plan.elements, threads = Shape::plan.threads;

    /// Returns whether the result at `position` of the segment is one of its `count` useful
    /// results.
    CONVOLUME_DEVICE bool is_kept(int count, int position) const {
        return static_cast<unsigned>(position - job_.skip) < static_cast<unsigned>(count);
    }

    /// Positions of a segment whose results are stored: every `period` from `first` on, and below
    /// `end`.
    struct WindowHits {
        int first, period, end;
    };
    CONVOLUME_DEVICE WindowHits window_hits(const SegmentPlace& place) const {
        constexpr index_t beyond = 1 << 30;  // more than the samples of any segment
        const index_t length = job_.window_length, phase = (place.first - job_.begin) % length;
        const index_t to_first = phase == 0 ? 0 : length - phase;
        return {job_.skip + static_cast<int>(to_first < beyond ? to_first : beyond),
                static_cast<int>(length < beyond ? length : beyond), job_.skip + place.count};
    }
    CONVOLUME_DEVICE WindowHits window_hits(const SegmentTarget& target) const {
        if (job_.window == WindowPost::Kind::none) return {job_.skip, 1, job_.skip + target.count};
        return window_hits(segment_place(job_, target.segment));
    }
    CONVOLUME_DEVICE static bool is_stored(const WindowHits& hits, int position) {
        return position >= hits.first && position < hits.end &&
               (position - hits.first) % hits.period == 0;
    }

    /// Writes the results of all threads to shared memory. Returns the segment's results by
    /// position.
    template <class Sample, class Value>
    CONVOLUME_DEVICE Sample* share_results(const Value& value) const {
        auto* const results = reinterpret_cast<Sample*>(memory_);
        context_.template sync_some<Shape::threads_each>();
        unroll<elements>([&](auto i) { results[thread_ + i * threads] = value(i); });
        context_.template sync_some<Shape::threads_each>();
        return results;
    }

    /// Returns the index in SegmentJob::target of stored sample `stored` of a signal and filter.
    CONVOLUME_DEVICE index_t target_index(const SegmentPlace& place, int filter,
                                          index_t stored) const {
        return place.signal * job_.signal_stride + filter * job_.filter_stride + stored;
    }

    /// Rounds results to int16. Returns false if one of them, stored or not, is outside its range.
    template <class Samples>
    CONVOLUME_DEVICE bool encode_in_range(const Samples& v, std::uint32_t* words) const {
        bool is_outside = false;
        unroll<elements>([&](auto i) {
            const std::uint32_t re = to_int16_in_range(v[i].re, job_.storage.factor, is_outside);
            const std::uint32_t im = to_int16_in_range(v[i].im, job_.storage.factor, is_outside);
            words[i] = re | im << 16;
        });
        return !is_outside;
    }
    /// Rounds results to int16, clamps them, and counts those that are stored.
    template <bool two_segments, class Samples>
    CONVOLUME_DEVICE void encode_clamped(const SegmentTarget* targets, const Samples& v, bool both,
                                         std::uint32_t* words) const {
        WordEncoder<SampleStorage::int16> encode(job_.storage.factor);
        const WindowHits first = window_hits(targets[0]);
        const WindowHits second = two_segments ? window_hits(targets[1]) : first;
        unroll<elements>([&](auto i) {
            const int position = thread_ + i * threads;
            words[i] = encode.pair(
                v[i].re, v[i].im, [&] { return is_stored(first, position); },
                [&] { return both && is_stored(second, position); });
        });
        encode.add_clamped(context_, job_.storage.clamped);
    }

    /// Returns the position of the first of the two results that a thread stores for elements i and
    /// i + 1 after pair_with_neighbor(). An even thread stores element i, an odd one element i + 1.
    CONVOLUME_DEVICE int pair_position(int i) const {
        const int odd = thread_ % 2;
        return thread_ - odd + (i + odd) * threads;
    }

    /// Exchanges words of two segments with the neighboring thread. Words i and i + 1 then hold two
    /// neighboring results of the first and of the second segment.
    CONVOLUME_DEVICE void pair_with_neighbor(std::uint32_t* words) const {
        const bool odd = thread_ % 2 != 0;
        unroll<elements / 2>([&](auto pair) {
            constexpr int i = 2 * decltype(pair)::value;
            const std::uint32_t own = odd ? words[i + 1] : words[i];
            const std::uint32_t other =
                context_.exchange_with_neighbor(odd ? words[i] : words[i + 1]);
            const std::uint32_t low = odd ? other : own, high = odd ? own : other;
            words[i] = (low & 0xffffU) | high << 16;
            words[i + 1] = low >> 16 | (high & 0xffff0000U);
        });
    }

    /// Stores the pairs of one segment, which are words `which`, `which` + 2, …
    template <int which>
    CONVOLUME_DEVICE void store_pairs(const SegmentTarget& target, int filter,
                                      const std::uint32_t* words) const {
        auto* const to = static_cast<SampleWord*>(job_.target) + target.target_index +
                         filter * job_.filter_stride;
        const bool whole = (job_.skip | target.count) % 2 == 0 &&
                           reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint32_t) == 0;
        if (whole) {
            unroll<elements / 2>([&](auto pair) {
                constexpr int i = 2 * decltype(pair)::value;
                const int position = pair_position(i);
                if (is_kept(target.count, position))
                    context_.store(reinterpret_cast<std::uint32_t*>(to + position),
                                   words[i + which]);
            });
            return;
        }
        unroll<elements / 2>([&](auto pair) {
            constexpr int i = 2 * decltype(pair)::value;
            const int position = pair_position(i);
            const std::uint32_t two = words[i + which];
            if (is_kept(target.count, position))
                context_.store(to + position, static_cast<SampleWord>(two));
            if (is_kept(target.count, position + 1))
                context_.store(to + position + 1, static_cast<SampleWord>(two >> 16));
        });
    }

    /// Stores all results, or those that the window post-processing chooses.
    template <class Value>
    CONVOLUME_DEVICE void store_windows(const SegmentTarget& target, int filter,
                                        const Value& value) const {
        using Result = decltype(value(Constant<0>{}));
        if (job_.window == WindowPost::Kind::none) {
            auto* const to = static_cast<Result*>(job_.target) + target.target_index +
                             filter * job_.filter_stride;
            unroll<elements>([&](auto i) {
                const int position = thread_ + i * threads;
                if (is_kept(target.count, position)) context_.store(to + position, value(i));
            });
            return;
        }
        const SegmentPlace place = segment_place(job_, target.segment);
        if (job_.window == WindowPost::Kind::decimate) {
            store_decimated<Result>(place, filter, value);
        } else if constexpr (std::is_same_v<Result, Real>) {
            store_peaks(place, filter, share_results<Real>(value) + job_.skip);
        }
    }

    /// Stores the first result of each window.
    template <class Result, class Value>
    CONVOLUME_DEVICE void store_decimated(const SegmentPlace& place, int filter,
                                          const Value& value) const {
        const WindowHits hits = window_hits(place);
        const index_t before = place.first - job_.begin;
        auto* const target =
            static_cast<Result*>(job_.target) +
            target_index(place, filter, (before + hits.first - job_.skip) / job_.window_length);
        unroll<elements>([&](auto i) {
            const int position = thread_ + i * threads;
            if (is_stored(hits, position))
                context_.store(target + (position - hits.first) / hits.period, value(i));
        });
    }

    /// Stores the peak of each window. Several threads share a window if there are fewer windows
    /// than threads. All segments of a warp take the same steps, also those with fewer results to
    /// store, since they share its barriers.
    CONVOLUME_DEVICE void store_peaks(const SegmentPlace& place, int filter,
                                      const Real* results) const {
        const index_t before = place.first - job_.begin;
        const auto length = static_cast<int>(job_.window_length);
        const int windows = job_.useful / length;
        const int share = windows < threads ? threads / windows : 1;
        const int side_by_side = threads / share, lane = thread_ % share;
        auto* const values = reinterpret_cast<Real*>(memory_) + Shape::plan.n;
        auto* const positions = reinterpret_cast<int*>(values + threads);
        for (int first = 0; first < windows; first += side_by_side) {
            const int window = first + thread_ / share, begin = window * length;
            const bool has_window = thread_ / share < side_by_side && begin < place.count;
            if (has_window) {
                const int end = begin + length < place.count ? begin + length : place.count;
                Peak<Real> peak{results[begin], begin};
                for (int at = begin + lane; at < end; at += share) peak.consider(results[at], at);
                values[thread_] = peak.value;
                positions[thread_] = peak.position;
            }
            context_.template sync_some<Shape::threads_each>();
            if (has_window && lane == 0) {
                Peak<Real> peak{values[thread_], positions[thread_]};
                for (int other = 1; other < share; ++other)
                    peak.consider(values[thread_ + other], positions[thread_ + other]);
                const index_t to = target_index(place, filter, before / length + window);
                static_cast<Real*>(job_.target)[to] = peak.value;
                if (job_.positions != nullptr) job_.positions[to] = place.first + peak.position;
            }
            context_.template sync_some<Shape::threads_each>();
        }
    }

    const Context& context_;
    char* memory_;
    const SegmentJob<Real>& job_;
    int thread_;
};

}  // namespace convolume::gpu
