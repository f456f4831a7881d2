// SPDX-License-Identifier: Apache-2.0
#include "signals/samples.hpp"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/pixels/rows.hpp"

namespace convolume {

namespace {
// Samples converted at a time: they and their indices stay in cache.
constexpr index_t samples_at_a_time = 4096;
}  // namespace

template <class T>
index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count,
                    bool nonfinite_to_zero, T* out) {
    static const pixels::RowGather whole = pixels::RowGather(identity_indices(samples_at_a_time));
    index_t nonfinite = 0;
    for (index_t done = 0; done < count; done += samples_at_a_time) {
        const index_t now = std::min(samples_at_a_time, count - done);
        ConstImageView part = view;
        part.data = view.at(0, y, begin + done);
        part.shape = {1, 1, now};
        nonfinite += pixels::load_row(
            part, 0, 0, now == samples_at_a_time ? whole : pixels::RowGather(identity_indices(now)),
            {0, nonfinite_to_zero}, out + done);
    }
    return nonfinite;
}

index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count,
                    bool nonfinite_to_zero, PixelType to, void* out) {
    return visit_pixel_type(to, [&](auto tag) -> index_t {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>)
            throw InternalError("samples are computed with as floating-point numbers");
        else
            return convert_row(view, y, begin, count, nonfinite_to_zero, static_cast<T*>(out));
    });
}

template index_t convert_row(const ConstImageView&, index_t, index_t, index_t, bool,
                             std::complex<double>*);

index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads) {
    if (policy == NanPolicy::propagate || is_integer(samples.type)) return 0;
    const auto found = pixels::find_nonfinite(samples, threads);
    if (!found) return 0;
    if (policy == NanPolicy::error)
        throw BadData(
            message("signal ", signal + found->index.y, " holds ", found->value, " at sample ",
                    first + found->index.x,
                    ": repair it, or choose to read such samples as zero or to propagate them"));
    return pixels::count_nonfinite(samples, threads);
}

}  // namespace convolume
