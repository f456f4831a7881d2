// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a CUDA kernel over segments is given, and the way of its results from the transform to
// device memory.

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/cuda/detail/segment_transform.hpp"
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
    const Complex<Real>* twiddles = nullptr;  ///< see TransformPlan::first_twiddle()
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

/// Arguments of a CUDA kernel that makes spectra.
template <class Real>
struct SpectraJob {
    const void* taps = nullptr;  ///< filters × taps, contiguous, Real or Complex<Real>
    int filters = 0, taps_each = 0;
    const Complex<Real>* twiddles = nullptr;
    Complex<Real>* spectra = nullptr;
};

/// Which results a segment gives: `count` of `signal` from `first` on; 0 beyond the last segment.
struct SegmentPlace {
    index_t signal = 0, first = 0;
    int count = 0;
};

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

/// The little of a place that storing keeps from filter to filter: the rest is computed again.
struct SegmentTarget {
    index_t segment = 0;
    index_t start = 0;  ///< of position 0 in the first filter's results, where all are stored
    int count = 0;
};

template <class Real>
CONVOLUME_DEVICE SegmentTarget segment_target(const SegmentJob<Real>& job, index_t segment) {
    const SegmentPlace place = segment_place(job, segment);
    return {segment, place.signal * job.signal_stride + place.first - job.begin - job.skip,
            place.count};
}

/// No function of the caller's.
struct NoFunction {
    static constexpr bool present = false;
};

/// The largest of some results: the first of equal ones, never a NaN.
template <class Real, class Position = int>
struct Peak {
    Real value;
    Position position;

    CONVOLUME_DEVICE void consider(Real other, Position at) {
        const bool first = other == value && at < position;
        if (other > value || first || (value != value && other == other)) {
            value = other;
            position = at;
        }
    }
};

/// Stores results of one filter. value(i) is the result at position thread + i·threads of the
/// segment; `memory` that of SegmentMemory, which no thread needs any more after a barrier.
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
            auto* const results = share<Sample>(value);
            using Result = decltype(function(results));
            Result made[static_cast<unsigned>(elements)];
            unroll<elements>([&](auto i) {
                const int position = thread_ + i * threads;
                if (kept(target.count, position)) made[i] = function(results + position);
            });
            window(target, filter, [&](auto i) { return made[i]; });
        } else {
            window(target, filter, value);
        }
    }

  private:
    static constexpr int elements = Shape::plan.elements, threads = Shape::plan.threads;

    CONVOLUME_DEVICE bool kept(int count, int position) const {
        return static_cast<unsigned>(position - job_.skip) < static_cast<unsigned>(count);
    }

    /// All results of the segment, by position.
    template <class Sample, class Value>
    CONVOLUME_DEVICE Sample* share(const Value& value) const {
        auto* const results = reinterpret_cast<Sample*>(memory_);
        context_.template sync_some<Shape::threads_each>();
        unroll<elements>([&](auto i) { results[thread_ + i * threads] = value(i); });
        context_.template sync_some<Shape::threads_each>();
        return results;
    }

    CONVOLUME_DEVICE index_t start(const SegmentPlace& place, int filter, index_t stored) const {
        return place.signal * job_.signal_stride + filter * job_.filter_stride + stored;
    }

    template <class Value>
    CONVOLUME_DEVICE void window(const SegmentTarget& target, int filter,
                                 const Value& value) const {
        using Result = decltype(value(Constant<0>{}));
        if (job_.window == WindowPost::Kind::none) {
            auto* const to =
                static_cast<Result*>(job_.target) + target.start + filter * job_.filter_stride;
            unroll<elements>([&](auto i) {
                const int position = thread_ + i * threads;
                if (kept(target.count, position)) context_.store(to + position, value(i));
            });
            return;
        }
        const SegmentPlace place = segment_place(job_, target.segment);
        if (job_.window == WindowPost::Kind::decimate) {
            decimate<Result>(place, filter, value);
        } else if constexpr (std::is_same_v<Result, Real>) {
            pick(place, filter, share<Real>(value) + job_.skip);
        }
    }

    template <class Result, class Value>
    CONVOLUME_DEVICE void decimate(const SegmentPlace& place, int filter,
                                   const Value& value) const {
        const index_t before = place.first - job_.begin;
        constexpr index_t beyond = 1 << 30;  // of any segment
        const index_t length = job_.window_length, phase = before % length;
        const index_t to_first = phase == 0 ? 0 : length - phase;
        const auto hit = static_cast<int>(to_first < beyond ? to_first : beyond);
        const auto period = static_cast<int>(length < beyond ? length : beyond);
        auto* const target =
            static_cast<Result*>(job_.target) + start(place, filter, (before + to_first) / length);
        unroll<elements>([&](auto i) {
            const int position = thread_ + i * threads, from_hit = position - job_.skip - hit;
            if (kept(place.count, position) && from_hit >= 0 && from_hit % period == 0)
                context_.store(target + from_hit / period, value(i));
        });
    }

    /// Several threads share a window where there are fewer windows than threads. Segments of a
    /// warp make the same steps, whatever they have to store: they share its barriers.
    CONVOLUME_DEVICE void pick(const SegmentPlace& place, int filter, const Real* results) const {
        const index_t before = place.first - job_.begin;
        const auto length = static_cast<int>(job_.window_length);
        const int windows = job_.useful / length;
        const int share = windows < threads ? threads / windows : 1;
        const int side_by_side = threads / share, part = thread_ % share;
        auto* const values = reinterpret_cast<Real*>(memory_) + Shape::plan.n;
        auto* const positions = reinterpret_cast<int*>(values + threads);
        for (int first = 0; first < windows; first += side_by_side) {
            const int window = first + thread_ / share, begin = window * length;
            const bool mine = thread_ / share < side_by_side && begin < place.count;
            if (mine) {
                const int end = begin + length < place.count ? begin + length : place.count;
                Peak<Real> peak{results[begin], begin};
                for (int at = begin + part; at < end; at += share) peak.consider(results[at], at);
                values[thread_] = peak.value;
                positions[thread_] = peak.position;
            }
            context_.template sync_some<Shape::threads_each>();
            if (mine && part == 0) {
                Peak<Real> peak{values[thread_], positions[thread_]};
                for (int other = 1; other < share; ++other)
                    peak.consider(values[thread_ + other], positions[thread_ + other]);
                const index_t to = start(place, filter, before / length + window);
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
