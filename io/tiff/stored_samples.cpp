// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/stored_samples.hpp"

#include <tiffio.h>

#include <cstring>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

/// Unpacks one row of `count` numbers of `bits` bits each.
template <class T>
void unpack_row(const unsigned char* from, index_t count, int bits, T* to) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::uint64_t window = 0;
    int held = 0;
    for (index_t i = 0; i < count; ++i) {
        for (; held < bits; held += 8) window = window << 8 | *from++;
        held -= bits;
        to[i] = static_cast<T>(window >> held & mask);
    }
}

template <class T>
void unpack(const StoredSamples& stored, const void* from, index_t rows, index_t samples,
            void* to) {
    const index_t row_bytes = stored.row_bytes(samples);
    for (index_t row = 0; row < rows; ++row)
        unpack_row(static_cast<const unsigned char*>(from) + row * row_bytes, samples, stored.bits,
                   static_cast<T*>(to) + row * samples);
}

}  // namespace

index_t StoredSamples::row_bytes(index_t samples) const {
    return ceil_div(checked_multiply(samples, bits), index_t{8});
}

std::optional<StoredSamples> stored_samples(int bits, int sample_format) {
    using Form = SampleForm;
    switch (sample_format) {
        case SAMPLEFORMAT_UINT:
        case SAMPLEFORMAT_VOID:
            if (bits == 8) return StoredSamples{PixelType::uint8, Form::pixels, bits};
            if (bits == 16) return StoredSamples{PixelType::uint16, Form::pixels, bits};
            if (bits == 32) return StoredSamples{PixelType::uint32, Form::pixels, bits};
            if (bits == 64) return StoredSamples{PixelType::float64, Form::uint64, bits};
            if (bits >= 1 && bits < 8) return StoredSamples{PixelType::uint8, Form::packed, bits};
            if (bits > 8 && bits < 16) return StoredSamples{PixelType::uint16, Form::packed, bits};
            return std::nullopt;
        case SAMPLEFORMAT_INT:
            if (bits == 8) return StoredSamples{PixelType::int8, Form::pixels, bits};
            if (bits == 16) return StoredSamples{PixelType::int16, Form::pixels, bits};
            if (bits == 32) return StoredSamples{PixelType::int32, Form::pixels, bits};
            if (bits == 64) return StoredSamples{PixelType::float64, Form::int64, bits};
            return std::nullopt;
        case SAMPLEFORMAT_IEEEFP:
            if (bits == 16) return StoredSamples{PixelType::float32, Form::half, bits};
            if (bits == 32) return StoredSamples{PixelType::float32, Form::pixels, bits};
            if (bits == 64) return StoredSamples{PixelType::float64, Form::pixels, bits};
            return std::nullopt;
        case SAMPLEFORMAT_COMPLEXIEEEFP:
            if (bits == 64) return StoredSamples{PixelType::complex64, Form::pixels, bits};
            if (bits == 128) return StoredSamples{PixelType::complex128, Form::pixels, bits};
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

std::optional<InexactInteger> convert_stored(const StoredSamples& stored, const void* from,
                                             index_t rows, index_t samples, void* to) {
    const index_t count = rows * samples;
    switch (stored.form) {
        case SampleForm::pixels:
            throw InternalError("samples that need no conversion were to be converted");
        case SampleForm::packed:
            if (stored.type == PixelType::uint8)
                unpack<std::uint8_t>(stored, from, rows, samples, to);
            else
                unpack<std::uint16_t>(stored, from, rows, samples, to);
            return std::nullopt;
        case SampleForm::half:
            widen_halves(from, count, static_cast<float*>(to));
            return std::nullopt;
        case SampleForm::int64:
        case SampleForm::uint64:
            std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
            return widen_integers(
                to, count,
                stored.form == SampleForm::int64 ? WideInteger::int64 : WideInteger::uint64);
    }
    throw InternalError("a form of samples outside its enumeration");
}

}  // namespace convolume::io
