// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for the four sample types: dispatch, loading samples from signals, and scratch memory of
// a thread.

#include <algorithm>
#include <complex>
#include <type_traits>

#include "convolume/volume.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"
#include "core/pixels/stored_samples.hpp"

namespace convolume::cpu {

using gpu::SampleWord;

template <class Sample>
inline constexpr bool is_complex_sample = !std::is_same_v<Sample, real_of<Sample>>;

/// Calls f(type_tag<Sample>{}) with the type that `spec` computes in.
template <class F>
decltype(auto) visit_sample_type(const FilterSpec& spec, F&& f) {
    const bool single = spec.precision == Precision::float32;
    if (spec.complex_data)
        return single ? f(type_tag<std::complex<float>>{}) : f(type_tag<std::complex<double>>{});
    return single ? f(type_tag<float>{}) : f(type_tag<double>{});
}

/// Copies samples begin … end-1 of signal `s`, which the signal has.
template <class Sample>
void copy_samples(const SignalView& signal, index_t s, index_t begin, index_t end, Sample* out) {
    const index_t at = s * signal.stride + begin - signal.first, count = end - begin;
    if (signal.storage == SampleStorage::plain) {
        const auto* const samples = static_cast<const Sample*>(signal.data) + at;
        std::copy(samples, samples + count, out);
    } else if constexpr (std::is_same_v<real_of<Sample>, float>) {
        constexpr index_t elements = is_complex_sample<Sample> ? 2 : 1;
        pixels::decode(static_cast<const SampleWord*>(signal.data) + elements * at,
                       elements * count, signal.storage, reinterpret_cast<float*>(out));
    } else {
        throw InternalError("signals of 16 bits are filtered in float32");
    }
}

/// Loads samples from … from+count-1 of signal `s`. Samples that the signal lacks are zero.
template <class Sample>
void load_samples(const SignalView& signal, index_t s, index_t from, index_t count, Sample* out) {
    const index_t begin = std::clamp<index_t>(signal.first - from, 0, count);
    const index_t end = std::clamp<index_t>(signal.first + signal.count - from, begin, count);
    std::fill(out, out + begin, Sample{});
    if (end > begin) copy_samples(signal, s, from + begin, from + end, out + begin);
    std::fill(out + end, out + count, Sample{});
}

/// Returns the address of samples from … from+count-1 of signal `s`. If the signal lacks some of
/// them or has 16 bits, they are loaded to `space`.
template <class Sample>
const Sample* samples_at(const SignalView& signal, index_t s, index_t from, index_t count,
                         Sample* space) {
    if (signal.storage == SampleStorage::plain && from >= signal.first &&
        from + count <= signal.first + signal.count)
        return static_cast<const Sample*>(signal.data) + s * signal.stride + (from - signal.first);
    load_samples(signal, s, from, count, space);
    return space;
}

/// Hands out arrays from the scratch memory of one thread.
class ScratchArena {
  public:
    explicit ScratchArena(void* memory) : next_(static_cast<char*>(memory)) {}

    /// Returns room for `count` elements.
    template <class T>
    T* take(index_t count) {
        T* const array = reinterpret_cast<T*>(next_);
        next_ += room_for<T>(count);
        return array;
    }
    template <class T>
    static index_t room_for(index_t count) {
        return round_up(convolume::bytes_of<T>(count), static_cast<index_t>(Buffer::alignment)) +
               stagger_bytes;
    }

  private:
    // Arrays at distances of a power of two would share cache sets.
    static constexpr index_t stagger_bytes = 5 * static_cast<index_t>(Buffer::alignment);

    char* next_;
};

}  // namespace convolume::cpu
