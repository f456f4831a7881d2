// SPDX-License-Identifier: Apache-2.0
#include "signals/samples.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <type_traits>
#include <vector>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {
// Samples converted at a time: they and their indices stay in cache.
constexpr index_t samples_at_a_time = 4096;

[[noreturn]] void throw_nonfinite(index_t signal, double value, index_t sample) {
    throw BadData(message("signal ", signal, " holds ", value, " at sample ", sample,
                          ": repair it, or choose to read such samples as zero or to propagate "
                          "them"));
}
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

void refuse_null(bool is_null, const char* what) {
    if (is_null)
        throw InvalidArgument(
            message("the ", what, " point to no memory (null): allocate it first"));
}

void check_stored_type(PixelType results, PixelType type, const char* what) {
    if (type != results)
        throw InvalidArgument(message(what, " are ", to_string(results),
                                      " here and cannot be stored as ", to_string(type)));
}

void check_nan_policy(NanPolicy policy) {
    if (policy == NanPolicy::missing)
        throw InvalidArgument(
            "missing samples are left out of images, not of signals: read them as zero, or let "
            "them propagate");
}

index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads) {
    if (policy == NanPolicy::propagate || is_integer(samples.type)) return 0;
    const auto found = pixels::find_nonfinite(samples, threads);
    if (!found) return 0;
    if (policy == NanPolicy::error)
        throw_nonfinite(signal + found->index.y, found->value, first + found->index.x);
    return pixels::count_nonfinite(samples, threads);
}

namespace {

// Returns whether a word is NaN or infinite.
bool is_nonfinite(std::uint16_t word, SampleStorage storage) {
    const int exponent = storage == SampleStorage::float16    ? 0x7c00
                         : storage == SampleStorage::bfloat16 ? 0x7f80
                                                              : 0;
    return exponent != 0 && (word & exponent) == exponent;
}

}  // namespace

void convert_words(const std::uint16_t* from, index_t count, index_t stride, SampleStorage storage,
                   bool nonfinite_to_zero, float* to) {
    std::array<std::uint16_t, samples_at_a_time> words;
    for (index_t done = 0; done < count; done += samples_at_a_time) {
        const index_t now = std::min(samples_at_a_time, count - done);
        for (index_t i = 0; i < now; ++i)
            words[static_cast<std::size_t>(i)] = from[(done + i) * stride];
        if (nonfinite_to_zero) clear_nonfinite(words.data(), now, storage);
        decode_samples(words.data(), now, storage, to + done);
    }
}

void clear_nonfinite(std::uint16_t* words, index_t count, SampleStorage storage) {
    for (index_t i = 0; i < count; ++i)
        words[i] = is_nonfinite(words[i], storage) ? std::uint16_t{0} : words[i];
}

index_t check_finite_words(const ConstImageView& words, SampleStorage storage, index_t elements,
                           NanPolicy policy, index_t signal, index_t first, int threads) {
    if (policy == NanPolicy::propagate || storage == SampleStorage::int16) return 0;
    const index_t chunks = ceil_div(words.shape.x, samples_at_a_time);
    std::vector<index_t> counts(static_cast<std::size_t>(words.shape.y * chunks), 0);
    const auto count_from = [&](index_t task, const auto& found) {
        const index_t y = task / chunks, begin = task % chunks * samples_at_a_time;
        const index_t end = std::min(begin + samples_at_a_time, words.shape.x);
        const auto* const row = static_cast<const std::uint16_t*>(words.at(0, y, 0));
        for (index_t x = begin; x < end; ++x)
            if (is_nonfinite(row[x * words.strides.x], storage)) found(y, x);
    };
    parallel_for(words.shape.y * chunks, threads, [&](index_t task, int) {
        count_from(task, [&](index_t, index_t) { ++counts[static_cast<std::size_t>(task)]; });
    });
    index_t nonfinite = 0;
    for (index_t task = 0; task < words.shape.y * chunks; ++task) {
        nonfinite += counts[static_cast<std::size_t>(task)];
        if (nonfinite == 0 || policy != NanPolicy::error) continue;
        count_from(task, [&](index_t y, index_t x) {
            float value = 0;
            decode_samples(words.at(0, y, x), 1, storage, &value);
            throw_nonfinite(signal + y, value, first + x / elements);
        });
    }
    return nonfinite;
}

}  // namespace convolume
