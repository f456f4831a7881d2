// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/result_writer.hpp"

#include <atomic>

#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

template <class Sample>
ResultWriter<Sample>::ResultWriter(const FilterSpec& spec, const FilterResult& result,
                                   index_t signals, index_t longest)
    : spec_(spec),
      result_(result),
      signals_(signals),
      longest_(longest),
      chunks_(result.range, spec.window, longest) {
    if (chunks_.chunks_per_window() == 1) return;
    const index_t peaks =
        checked_multiply(checked_multiply(signals, spec.filters), chunks_.count());
    chunk_peaks_ = Buffer(checked_multiply(peaks, sample_bytes(spec.result_type())), "peaks");
    chunk_peak_positions_ = Buffer(bytes_of<index_t>(peaks), "peaks");
}

template <class Sample>
index_t ResultWriter<Sample>::scratch_bytes(const FilterSpec& spec, index_t longest) {
    // Room for the values that a function or the power computes.
    return spec.power || spec.function ? ScratchArena::room_for<char>(checked_multiply(
                                             longest, sample_bytes(spec.result_type())))
                                       : 0;
}

template <class Sample>
void ResultWriter<Sample>::store(index_t signal, index_t filter, index_t chunk, const Sample* y,
                                 ScratchArena scratch) const {
    const ResultChunk at = chunks_[chunk];
    const index_t count = at.results.count();
    const PixelType type = spec_.result_type();
    char* const target = static_cast<char*>(result_.data) +
                         spec_.result_bytes() * (signal * result_.signal_stride +
                                                 filter * result_.filter_stride + at.first_stored);
    const bool windows = spec_.window.kind != WindowPost::Kind::none;
    const bool converts = spec_.result_storage != SampleStorage::plain;

    const void* values = y;
    if (spec_.power || spec_.function) {
        char* const made =
            windows || converts ? scratch.take<char>(count * sample_bytes(type)) : target;
        if (spec_.function)
            spec_.function->apply(y, count, made);
        else
            power(y, reinterpret_cast<real_of<Sample>*>(made), count);
        values = made;
    }
    if (converts) {
        encode_results(values, count, at.stored, target);
        return;
    }

    switch (spec_.window.kind) {
        case WindowPost::Kind::none:
            if (values == y) std::copy(y, y + count, reinterpret_cast<Sample*>(target));
            break;
        case WindowPost::Kind::decimate:
            visit_pixel_type(type, [&](auto tag) {
                using T = typename decltype(tag)::type;
                for (index_t w = 0; w < at.stored; ++w)
                    reinterpret_cast<T*>(target)[w] =
                        static_cast<const T*>(values)[w * spec_.window.length];
            });
            break;
        case WindowPost::Kind::peak:
            if (type == PixelType::float32)
                store_peaks(signal, filter, chunk, static_cast<const float*>(values));
            else if (type == PixelType::float64)
                store_peaks(signal, filter, chunk, static_cast<const double*>(values));
            else
                throw InternalError("peaks of results that are no real floating-point numbers");
            break;
    }
}

template <class Sample>
void ResultWriter<Sample>::encode_results(const void* values, index_t count, index_t stored,
                                          void* target) const {
    const index_t elements = is_complex(spec_.result_type()) ? 2 : 1;
    const auto* const from = static_cast<const float*>(values);
    auto* const to = static_cast<SampleWord*>(target);
    const auto factor = static_cast<float>(1 / spec_.result_scale);
    ClampCount clamped;
    if (spec_.window.kind == WindowPost::Kind::none) {
        clamped = pixels::encode(from, elements * count, spec_.result_storage, factor, to);
    } else {
        for (index_t w = 0; w < stored; ++w)
            clamped += pixels::encode(from + elements * w * spec_.window.length, elements,
                                      spec_.result_storage, factor, to + elements * w);
    }
    if (clamped.low > 0) std::atomic_ref(result_.clamped[0]) += clamped.low;
    if (clamped.high > 0) std::atomic_ref(result_.clamped[1]) += clamped.high;
}

template <class Sample>
template <class Real>
void ResultWriter<Sample>::store_peaks(index_t signal, index_t filter, index_t chunk,
                                       const Real* values) const {
    const ResultChunk at = chunks_[chunk];
    index_t first =
        signal * result_.signal_stride + filter * result_.filter_stride + at.first_stored;
    Real* peaks = static_cast<Real*>(result_.data);
    index_t* positions = result_.peak_positions;
    if (chunks_.chunks_per_window() > 1) {
        first = (signal * spec_.filters + filter) * chunks_.count() + chunk;
        peaks = chunk_peaks_.as<Real>();
        positions = chunk_peak_positions_.as<index_t>();
    }
    for (index_t w = 0; w < at.stored; ++w) {
        const index_t begin = at.stored == 1 ? 0 : w * spec_.window.length;
        const index_t end = w + 1 == at.stored ? at.results.count() : begin + spec_.window.length;
        const Real peak = largest(values + begin, end - begin);
        const Real* const found = std::find(values + begin, values + end, peak);
        // The peak of a window of NaN alone is NaN, at the window's first sample.
        const index_t position = found == values + end ? begin : found - values;
        peaks[first + w] = values[position];
        if (positions) positions[first + w] = at.results.begin + position;
    }
}

template <class Sample>
void ResultWriter<Sample>::finish() const {
    if (chunks_.chunks_per_window() == 1) return;
    if (size_of(spec_.result_type()) == sizeof(float))
        combine_chunk_peaks<float>();
    else
        combine_chunk_peaks<double>();
}

template <class Sample>
template <class Real>
void ResultWriter<Sample>::combine_chunk_peaks() const {
    const Real* values = chunk_peaks_.as<Real>();
    const index_t* positions = chunk_peak_positions_.as<index_t>();
    for (index_t s = 0; s < signals_; ++s)
        for (index_t f = 0; f < spec_.filters; ++f) {
            const index_t row = s * result_.signal_stride + f * result_.filter_stride;
            for (index_t i = 0; i < chunks_.count(); ++i, ++values, ++positions) {
                const index_t at = row + chunks_[i].first_stored;
                Real& peak = static_cast<Real*>(result_.data)[at];
                if (i % chunks_.chunks_per_window() != 0 && !is_higher(*values, peak)) continue;
                peak = *values;
                if (result_.peak_positions) result_.peak_positions[at] = *positions;
            }
        }
}

template class ResultWriter<float>;
template class ResultWriter<double>;
template class ResultWriter<std::complex<float>>;
template class ResultWriter<std::complex<double>>;

}  // namespace convolume::cpu
