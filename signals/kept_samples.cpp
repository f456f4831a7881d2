// SPDX-License-Identifier: Apache-2.0
#include "signals/kept_samples.hpp"

#include <algorithm>
#include <cstring>

#include "convolume/error.hpp"

namespace convolume {

void check_has_samples(index_t samples) {
    if (samples < 1)
        throw BadData("a signal without samples cannot be resampled: give one at least");
}

void check_resampled(const ConstImageView& signals, bool is_for_complex) {
    if (signals.data == nullptr)
        throw InvalidArgument("the signals point to no memory (null): allocate it first");
    check_has_samples(signals.shape.x);
    if (is_complex(signals.type) && !is_for_complex)
        throw InvalidArgument(
            "the signals are complex and the resampler is for real ones: make it for a complex "
            "signal_type");
}

KeptSamples::KeptSamples(index_t signals) : signals_(signals) {
    if (signals < 1)
        throw InvalidArgument(message(signals, " signals cannot be resampled: one at least"));
}

void KeptSamples::check(const ConstImageView& samples, bool is_for_complex) const {
    if (samples.shape.z != 1 || samples.shape.y != signals_)
        throw InvalidArgument(message("a block has samples of ", samples.shape.z * samples.shape.y,
                                      " signals where ", signals_, " are resampled"));
    if (samples.shape.x == 0) return;
    check_resampled(samples, is_for_complex);
    if (end() > 0 && samples.type != type_)
        throw InvalidArgument(message("a block of ", to_string(samples.type), " follows one of ",
                                      to_string(type_), ": all blocks of a signal have one type"));
}

void KeptSamples::append(const ConstImageView& samples, index_t needed) {
    type_ = samples.type;
    const index_t begin = std::clamp(needed, first_, end());
    const index_t old = end() - begin;
    Volume next({1, signals_, checked_add(old, samples.shape.x)}, samples.type);
    for (index_t y = 0; y < signals_ && old > 0; ++y)
        std::memcpy(next.view().at(0, y, 0), kept_.view().at(0, y, begin - first_),
                    static_cast<std::size_t>(bytes_of({1, 1, old}, samples.type)));
    const ImageView tail = subview(next.view(), {{0, 0, old}, next.shape()});
    convert_pixels(samples, tail);
    first_ = begin;
    kept_ = std::move(next);
}

void KeptSamples::clear() {
    kept_ = {};
    first_ = 0;
}

}  // namespace convolume
