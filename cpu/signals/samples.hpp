// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the four sample types have in common, and how samples are fetched from signals.

#include <algorithm>
#include <complex>
#include <type_traits>

#include "core/filter_engine.hpp"
#include "core/sample_type.hpp"

namespace convolume::cpu {

template <class Sample>
inline constexpr bool is_complex_sample = !std::is_same_v<Sample, real_of<Sample>>;

/// Calls f(type_tag<Sample>{}) with the type that `work` computes in.
template <class F>
decltype(auto) visit_sample_type(const FilterWork& work, F&& f) {
    const bool single = work.precision == Precision::float32;
    if (work.complex_data)
        return single ? f(type_tag<std::complex<float>>{}) : f(type_tag<std::complex<double>>{});
    return single ? f(type_tag<float>{}) : f(type_tag<double>{});
}

/// Samples from … from+count-1 of signal `s`, zeros where it has none.
template <class Sample>
void load_samples(const SignalView& signal, index_t s, index_t from, index_t count, Sample* out) {
    const auto* const row = static_cast<const Sample*>(signal.data) + s * signal.stride;
    const index_t begin = std::clamp<index_t>(signal.first - from, 0, count);
    const index_t end = std::clamp<index_t>(signal.first + signal.count - from, begin, count);
    std::fill(out, out + begin, Sample{});
    if (end > begin)
        std::copy(row + (from + begin - signal.first), row + (from + end - signal.first),
                  out + begin);
    std::fill(out + end, out + count, Sample{});
}

/// The same where they lie when the signal has them all, else gathered in `space`.
template <class Sample>
const Sample* samples_at(const SignalView& signal, index_t s, index_t from, index_t count,
                         Sample* space) {
    if (from >= signal.first && from + count <= signal.first + signal.count)
        return static_cast<const Sample*>(signal.data) + s * signal.stride + (from - signal.first);
    load_samples(signal, s, from, count, space);
    return space;
}

}  // namespace convolume::cpu
