// SPDX-License-Identifier: Apache-2.0
#include "signals/sample_recorder.hpp"

#include <algorithm>

#include "core/engine.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {

// Writes the samples in `wanted` as double, zero where `there`, which begins with sample `first`,
// has none.
void convert_section(const ConstImageView& there, index_t first, const SampleRange& wanted,
                     bool nonfinite_to_zero, std::complex<double>* to) {
    std::fill_n(to, wanted.count(), 0.0);
    const index_t begin = std::max(wanted.begin, first);
    const index_t end = std::min(wanted.end, first + there.shape.x);
    if (begin < end)
        convert_row(there, 0, begin - first, end - begin, nonfinite_to_zero,
                    to + (begin - wanted.begin));
}

}  // namespace

void SampleMemory::release(index_t, index_t) {}
void SampleMemory::release(index_t) {}

void RereadSource::recall(index_t signal, index_t begin, index_t count, bool nonfinite_to_zero,
                          std::complex<double>* to) {
    const index_t first = std::clamp<index_t>(begin, 0, samples_);
    const index_t there = std::clamp<index_t>(begin + count, first, samples_) - first;
    Volume samples({1, 1, there}, source_.type());
    if (there > 0) {
        const std::lock_guard lock(mutex_);
        source_.read(signal, first, there, samples.view().data);
    }
    convert_section(samples.view(), first, {begin, begin + count}, nonfinite_to_zero, to);
}

void MemorySource::read(index_t signal, index_t begin, index_t count, void* to) {
    visit_pixel_type(signals_.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* const from = static_cast<const T*>(signals_.at(0, signal, begin));
        for (index_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = from[i * signals_.strides.x];
    });
}

void SampleRecorder::read(index_t signal, index_t begin, index_t count, void* to) {
    source_.read(signal, begin, count, to);
    keep(signal, begin, count, to);
}

index_t SampleRecorder::read_until_end(index_t signal, index_t begin, index_t count, void* to) {
    const index_t found = source_.read_until_end(signal, begin, count, to);
    keep(signal, begin, std::max<index_t>(found, 0), to);
    return found;
}

void SampleRecorder::keep(index_t signal, index_t begin, index_t count, const void* samples) {
    const auto size = static_cast<index_t>(size_of(type()));
    const char* const from = static_cast<const char*>(samples);
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[signal];
    if (kept.bytes.empty()) kept.begin = begin;
    kept.bytes.insert(kept.bytes.end(), from, from + count * size);
}

void SampleRecorder::recall(index_t signal, index_t begin, index_t count, bool nonfinite_to_zero,
                            std::complex<double>* to) {
    const std::lock_guard lock(mutex_);
    const Kept& kept = kept_[signal];
    const auto samples = static_cast<index_t>(kept.bytes.size() / size_of(type()));
    convert_section({kept.bytes.data(), type(), {1, 1, samples}, {samples, samples, 1}}, kept.begin,
                    {begin, begin + count}, nonfinite_to_zero, to);
}

index_t SampleRecorder::samples_there(index_t signal) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(signal);
    if (found == kept_.end()) return 0;
    return found->second.begin + static_cast<index_t>(found->second.bytes.size() / size_of(type()));
}

void SampleRecorder::release(index_t signal, index_t begin) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(signal);
    if (found == kept_.end()) return;
    Kept& kept = found->second;
    const auto size = static_cast<index_t>(size_of(type()));
    const index_t samples = static_cast<index_t>(kept.bytes.size()) / size;
    // One sample stays, which tells how far the signal was read.
    const index_t released =
        std::clamp<index_t>(begin - kept.begin, 0, std::max<index_t>(samples - 1, 0));
    kept.bytes.erase(kept.bytes.begin(), kept.bytes.begin() + released * size);
    kept.begin += released;
}

void SampleRecorder::release(index_t signal) {
    const std::lock_guard lock(mutex_);
    kept_.erase(signal);
}

}  // namespace convolume
