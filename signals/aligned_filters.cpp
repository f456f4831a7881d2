// SPDX-License-Identifier: Apache-2.0
#include "signals/aligned_filters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "core/check_memory.hpp"
#include "core/pixels/rows.hpp"
#include "signals/convert.hpp"

namespace convolume {

namespace {

index_t origin_of(const FilterOrigin& origin, index_t taps) {
    switch (origin.kind) {
        case FilterOrigin::Kind::center:
            return (taps - 1) / 2;
        case FilterOrigin::Kind::causal:
            return 0;
        case FilterOrigin::Kind::anticausal:
            return taps - 1;
        case FilterOrigin::Kind::explicit_:
            return origin.index;
    }
    throw InternalError("a filter origin outside its enumeration");
}

void check_finite(const std::vector<std::complex<double>>& taps, std::size_t filter) {
    for (std::size_t k = 0; k < taps.size(); ++k)
        if (!std::isfinite(taps[k].real()) || !std::isfinite(taps[k].imag()))
            throw BadData(message("filter ", filter, " holds ",
                                  std::isfinite(taps[k].real()) ? taps[k].imag() : taps[k].real(),
                                  " at tap ", k, ": replace it by a finite number"));
}

}  // namespace

AlignedFilters::AlignedFilters(const std::vector<ConstImageView>& filters,
                               const FilterOrigin& origin) {
    for (const ConstImageView& view : filters) {
        if (view.shape.z != 1)
            throw InvalidArgument(message("the filters have the shape ", to_string(view.shape),
                                          " (z×y×x): give 1×F×M, a filter of M taps in each row"));
        if (view.shape.y < 1 || view.shape.x < 1)
            throw InvalidArgument(message("the bank holds ", view.shape.y, " filters of ",
                                          view.shape.x,
                                          " taps: it needs at least 1 of at least 1"));
        check_memory(view, message("filter ", rows_.size()));
        complex_ = complex_ || is_complex(view.type);
        for (index_t y = 0; y < view.shape.y; ++y) {
            Row row;
            row.taps.resize(static_cast<std::size_t>(view.shape.x));
            convert_row(view, y, 0, view.shape.x, false, row.taps.data());
            check_finite(row.taps, rows_.size());
            row.origin = origin_of(origin, view.shape.x);
            rows_.push_back(std::move(row));
        }
    }
    if (rows_.empty()) throw InvalidArgument("the bank holds no filters: it needs at least 1");

    // The earliest tap of all is the frame's tap 0.
    origin_ = rows_.front().origin;
    for (const Row& row : rows_) origin_ = std::max(origin_, row.origin);
    for (Row& row : rows_) {
        row.begin = origin_ - row.origin;
        taps_ = std::max(taps_, row.begin + static_cast<index_t>(row.taps.size()));
    }
}

Volume AlignedFilters::make_taps(PixelType type, bool derivative) const {
    const index_t length = checked_add(taps_, derivative ? 2 : 0);
    Volume taps({1, filters(), length}, type);
    const bool single = type == PixelType::float32 || type == PixelType::complex64;
    std::vector<std::complex<double>> frame(static_cast<std::size_t>(length));
    for (index_t f = 0; f < filters(); ++f) {
        const Row& row = rows_[static_cast<std::size_t>(f)];
        std::fill(frame.begin(), frame.end(), 0.0);
        for (std::size_t k = 0; k < row.taps.size(); ++k) {
            const std::size_t at = static_cast<std::size_t>(row.begin) + k;
            if (derivative) {
                frame[at] += 0.5 * row.taps[k];
                frame[at + 2] -= 0.5 * row.taps[k];
            } else {
                frame[at] = row.taps[k];
            }
        }
        for (const std::complex<double>& tap : frame)
            if (single && std::max(std::abs(tap.real()), std::abs(tap.imag())) >
                              static_cast<double>(std::numeric_limits<float>::max()))
                throw BadData(message("filter ", f, " holds a tap of ", std::abs(tap),
                                      ", beyond what float32 holds: compute in float64"));
        visit_pixel_type(type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_integral_v<T>) {
                throw InternalError("taps are floating-point numbers");
            } else {
                T* const out = taps.elements<T>() + f * length;
                for (const std::complex<double>& tap : frame) {
                    if constexpr (std::is_floating_point_v<T>)
                        out[&tap - frame.data()] = static_cast<T>(tap.real());
                    else
                        out[&tap - frame.data()] = T(tap);
                }
            }
        });
    }
    return taps;
}

}  // namespace convolume
