// SPDX-License-Identifier: Apache-2.0
// Where an image stops being numbers.

#include <algorithm>
#include <atomic>

#include "core/pixels/contiguous.hpp"
#include "core/pixels/pixel.hpp"
#include "core/thread_team.hpp"

namespace convolume::pixels {

namespace {

template <class T>
bool row_is_finite(const T* row, index_t count) {
    if constexpr (is_complex_v<T>) {
        return all_finite(reinterpret_cast<const typename T::value_type*>(row), 2 * count);
    } else {
        return all_finite(row, count);
    }
}

template <class T>
double worst_component(const T& value) {
    if constexpr (is_complex_v<T>) {
        return static_cast<double>(std::isfinite(value.real()) ? value.imag() : value.real());
    } else {
        return static_cast<double>(value);
    }
}

template <class T>
std::optional<NonFinite> find_typed(const ConstImageView& image, int threads) {
    const auto row_at = [&](index_t row) {
        return static_cast<const T*>(image.at(row / image.shape.y, row % image.shape.y, 0));
    };
    const index_t width = image.shape.x;
    const index_t stride = image.strides.x;
    const index_t rows = image.shape.z * image.shape.y;
    std::atomic<index_t> first_row{rows};
    parallel_for(rows, threads, [&](index_t row, int) {
        // Rows behind one already found cannot be the first.
        if (row >= first_row.load(std::memory_order_relaxed)) return;
        const T* elements = row_at(row);
        bool finite = true;
        if (stride == 1) {
            finite = row_is_finite(elements, width);
        } else {
            for (index_t x = 0; x < width && finite; ++x) finite = is_finite(elements[x * stride]);
        }
        if (finite) return;
        index_t known = first_row.load();
        while (row < known && !first_row.compare_exchange_weak(known, row)) {
        }
    });
    const index_t row = first_row.load();
    if (row == rows) return std::nullopt;
    const T* elements = row_at(row);
    index_t x = 0;
    while (is_finite(elements[x * stride])) ++x;
    return NonFinite{{row / image.shape.y, row % image.shape.y, x},
                     worst_component(elements[x * stride])};
}

}  // namespace

std::optional<NonFinite> find_nonfinite(const ConstImageView& image, int threads) {
    if (element_count(image.shape) == 0) return std::nullopt;
    return visit_pixel_type(image.type, [&](auto tag) -> std::optional<NonFinite> {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
            return std::nullopt;
        } else {
            return find_typed<T>(image, threads);
        }
    });
}

index_t count_nonfinite(const ConstImageView& image, int threads) {
    return visit_pixel_type(image.type, [&](auto tag) -> index_t {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
            return 0;
        } else {
            const index_t rows = image.shape.z * image.shape.y;
            std::atomic<index_t> count{0};
            parallel_for(rows, threads, [&](index_t row, int) {
                const auto* elements =
                    static_cast<const T*>(image.at(row / image.shape.y, row % image.shape.y, 0));
                index_t of_row = 0;
                for (index_t x = 0; x < image.shape.x; ++x)
                    of_row += !is_finite(elements[x * image.strides.x]);
                count += of_row;
            });
            return count;
        }
    });
}

}  // namespace convolume::pixels
