// SPDX-License-Identifier: Apache-2.0
#include "core/pixels/rows.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/engine.hpp"
#include "core/pixels/contiguous.hpp"
#include "core/threads.hpp"

namespace convolume::pixels {

namespace {

/// Returns one sample as T, minus `subtract`. With nonfinite_to_zero, a sample that is not finite
/// is counted and read as 0.
template <class T, class S>
T load_sample(const S& sample, const LoadOptions& options, index_t& replaced) {
    using Real = real_of<T>;
    const auto subtract = static_cast<Real>(options.subtract);
    if constexpr (!std::is_integral_v<S>) {
        if (options.nonfinite_to_zero && !is_finite(sample)) {
            ++replaced;
            return T(-subtract);
        }
    }
    if constexpr (is_complex_v<S>) {
        return T(static_cast<Real>(sample.real()) - subtract, static_cast<Real>(sample.imag()));
    } else {
        return T(static_cast<Real>(sample) - subtract);
    }
}

/// Loads the samples at `indices` of a row one by one.
template <class T>
index_t load_scattered(const ConstImageView& source, const void* row,
                       std::span<const index_t> indices, const LoadOptions& options, T* out) {
    return visit_pixel_type(source.type, [&](auto tag) -> index_t {
        using S = typename decltype(tag)::type;
        index_t replaced = 0;
        if constexpr (!is_complex_v<S> || is_complex_v<T>) {
            const auto* elements = static_cast<const S*>(row);
            for (const index_t i : indices) {
                *out++ = i < 0 ? T(0)
                               : load_sample<T>(elements[i * source.strides.x], options, replaced);
            }
        }
        return replaced;
    });
}

/// Loads `count` contiguous samples.
template <class T>
index_t load_run(PixelType type, const void* run, index_t count, const LoadOptions& options,
                 T* out) {
    if constexpr (!is_complex_v<T>) {
        return load_contiguous(type, run, count, options, out);
    } else {
        using Real = typename T::value_type;
        auto* reals = reinterpret_cast<Real*>(out);
        if (!is_complex(type)) {
            // Samples are converted into the upper half of `out`, then spread from there.
            const index_t replaced = load_contiguous(type, run, count, options, reals + count);
            for (index_t i = 0; i < count; ++i) {
                const Real value = reals[count + i];
                reals[2 * i] = value;
                reals[2 * i + 1] = 0;
            }
            return replaced;
        }
        const PixelType component =
            type == PixelType::complex64 ? PixelType::float32 : PixelType::float64;
        if (options.subtract == 0 && !options.nonfinite_to_zero) {
            return load_contiguous(component, run, 2 * count, options, reals);
        }
        index_t replaced = 0;
        const auto load = [&](const auto* elements) {
            for (index_t i = 0; i < count; ++i) {
                out[i] = load_sample<T>(elements[i], options, replaced);
            }
        };
        if (type == PixelType::complex64) {
            load(static_cast<const std::complex<float>*>(run));
        } else {
            load(static_cast<const std::complex<double>*>(run));
        }
        return replaced;
    }
}

template <class S, class T>
void store_sample(const T& value, const T& add, S& out, ClampCount& clamped) {
    if constexpr (is_complex_v<S>) {
        using Real = typename S::value_type;
        if constexpr (is_complex_v<T>) {
            const T sum = value + add;
            out = S(static_cast<Real>(sum.real()), static_cast<Real>(sum.imag()));
        } else {
            out = S(static_cast<Real>(value + add));
        }
    } else if constexpr (is_complex_v<T>) {
        throw InternalError("a complex value stored as a real one");
    } else if constexpr (std::is_integral_v<S>) {
        out = to_integer<S>(value + add, clamped);
    } else {
        out = static_cast<S>(value + add);
    }
}

void check_kinds(bool complex_from, bool complex_to) {
    if (complex_from && !complex_to) {
        throw InvalidArgument("complex samples cannot become real ones; ask for a complex type");
    }
}

}  // namespace

RowGather::RowGather(std::span<const index_t> indices) : indices_(indices.begin(), indices.end()) {
    const index_t count = size();
    for (index_t begin = 0; begin < count;) {
        index_t end = begin + 1;
        const index_t first = indices_[static_cast<std::size_t>(begin)];
        if (first >= 0) {
            while (end < count && indices_[static_cast<std::size_t>(end)] == first + end - begin) {
                ++end;
            }
            if (end - begin > run_end_ - run_begin_) {
                run_begin_ = begin;
                run_end_ = end;
                run_source_ = first;
            }
        }
        begin = end;
    }
}

template <class T>
index_t load_span(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                  const RowSpan& span, const LoadOptions& options, T* out) {
    check_kinds(is_complex(source.type), is_complex_v<T>);
    const index_t begin = span.begin;
    const index_t end = begin + span.count;
    const bool contiguous = source.strides.x == 1;
    const index_t run_begin = contiguous ? std::clamp(gather.run_begin(), begin, end) : end;
    const index_t run_end = contiguous ? std::clamp(gather.run_end(), run_begin, end) : end;
    const void* row = source.at(z, y, 0);
    const auto scattered = [&](index_t from, index_t to) {
        return load_scattered(source, row,
                              gather.indices().subspan(static_cast<std::size_t>(from),
                                                       static_cast<std::size_t>(to - from)),
                              options, out + (from - begin));
    };
    index_t replaced = 0;
    if (run_begin > begin) replaced += scattered(begin, run_begin);
    if (run_end > run_begin) {
        const index_t x = gather.run_source() + run_begin - gather.run_begin();
        replaced += load_run(source.type, source.at(z, y, x), run_end - run_begin, options,
                             out + (run_begin - begin));
    }
    if (end > run_end) replaced += scattered(run_end, end);
    return replaced;
}

template <class T>
index_t load_row(const ConstImageView& source, index_t z, index_t y, const RowGather& gather,
                 const LoadOptions& options, T* out) {
    return load_span(source, z, y, gather, {0, gather.size()}, options, out);
}

template <class T>
ClampCount store_row(const T* values, index_t count, std::complex<double> add,
                     const ImageView& target, index_t z, index_t y, index_t x_begin) {
    check_kinds(is_complex_v<T>, is_complex(target.type));
    T plus;
    if constexpr (is_complex_v<T>) {
        plus = T(add);
    } else {
        plus = static_cast<T>(add.real());
    }
    void* first = target.at(z, y, x_begin);
    if (target.strides.x == 1) {
        if constexpr (is_complex_v<T>) {
            using Real = typename T::value_type;
            if (plus == T(0)) {
                const PixelType component =
                    target.type == PixelType::complex64 ? PixelType::float32 : PixelType::float64;
                return store_contiguous(reinterpret_cast<const Real*>(values), 2 * count, Real(0),
                                        component, first);
            }
        } else if (!is_complex(target.type)) {
            return store_contiguous(values, count, plus, target.type, first);
        }
    }
    ClampCount clamped;
    visit_pixel_type(target.type, [&](auto tag) {
        using S = typename decltype(tag)::type;
        auto* elements = static_cast<S*>(first);
        for (index_t i = 0; i < count; ++i) {
            store_sample(values[i], plus, elements[i * target.strides.x], clamped);
        }
    });
    return clamped;
}

#define CONVOLUME_INSTANTIATE(T)                                                             \
    template index_t load_span(const ConstImageView&, index_t, index_t, const RowGather&,    \
                               const RowSpan&, const LoadOptions&, T*);                      \
    template index_t load_row(const ConstImageView&, index_t, index_t, const RowGather&,     \
                              const LoadOptions&, T*);                                       \
    template ClampCount store_row(const T*, index_t, std::complex<double>, const ImageView&, \
                                  index_t, index_t, index_t);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
CONVOLUME_INSTANTIATE(std::complex<float>)
CONVOLUME_INSTANTIATE(std::complex<double>)
#undef CONVOLUME_INSTANTIATE

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
        // Rows after a row already found cannot be the first.
        if (row >= first_row.load(std::memory_order_relaxed)) return;
        const T* elements = row_at(row);
        bool finite = true;
        if (stride == 1) {
            finite = row_is_finite(elements, width);
        } else {
            for (index_t x = 0; x < width && finite; ++x) finite = is_finite(elements[x * stride]);
        }
        if (finite) return;
        index_t first_found = first_row.load();
        while (row < first_found && !first_row.compare_exchange_weak(first_found, row)) {
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
                index_t row_count = 0;
                for (index_t x = 0; x < image.shape.x; ++x)
                    row_count += !is_finite(elements[x * image.strides.x]);
                count += row_count;
            });
            return count;
        }
    });
}

}  // namespace convolume::pixels
