// SPDX-License-Identifier: Apache-2.0
#include "io/signal/sample_codec.hpp"

#include <algorithm>
#include <cstring>

#include "io/strided.hpp"

namespace convolume::io {
namespace {

constexpr double cu8_zero = 127.5;

/// `count` numbers of type From at the end of memory for as many of type To.
template <class From, class To>
void widen(void* data, index_t count, bool swapped, double zero = 0) {
    constexpr auto wider = static_cast<index_t>(sizeof(To) - sizeof(From));
    auto* to = static_cast<char*>(data);
    const char* from = to + count * wider;
    if (swapped) swap_bytes(to + count * wider, count, sizeof(From));
    for (index_t i = 0; i < count; ++i, to += sizeof(To), from += sizeof(From)) {
        From number;
        std::memcpy(&number, from, sizeof(number));
        const auto value = static_cast<To>(static_cast<double>(number) - zero);
        std::memcpy(to, &value, sizeof(value));
    }
}

/// The type of a real sample, or of the parts of a complex one, and how many parts there are.
struct Parts {
    PixelType type;
    index_t count;
};

Parts parts_of(StoredType stored) {
    switch (stored) {
        case StoredType::cu8:
            return {PixelType::uint8, 2};
        case StoredType::ci8:
            return {PixelType::int8, 2};
        case StoredType::ci16:
            return {PixelType::int16, 2};
        case StoredType::ci32:
            return {PixelType::int32, 2};
        case StoredType::complex64:
            return {PixelType::float32, 2};
        case StoredType::complex128:
            return {PixelType::float64, 2};
        default:
            return {read_type(stored), 1};
    }
}

Parts parts_of(SampleType type) {
    switch (type) {
        case SampleType::float32:
            return {PixelType::float32, 1};
        case SampleType::complex64:
            return {PixelType::float32, 2};
        case SampleType::complex128:
            return {PixelType::float64, 2};
        default:
            return {PixelType::float64, 1};
    }
}

ConstImageView line(const void* data, PixelType type, index_t count) {
    return {data, type, {1, 1, count}, {count, count, 1}};
}

}  // namespace

void* stored_place(void* samples, index_t count, StoredType type) {
    const auto bytes_read = static_cast<index_t>(size_of(read_type(type)));
    return static_cast<char*>(samples) + count * (bytes_read - bytes_of(type));
}

void decode(void* samples, index_t count, StoredType type, bool swapped) {
    switch (type) {
        case StoredType::cu8:
            return widen<std::uint8_t, float>(samples, 2 * count, swapped, cu8_zero);
        case StoredType::ci8:
            return widen<std::int8_t, float>(samples, 2 * count, swapped);
        case StoredType::ci16:
            return widen<std::int16_t, float>(samples, 2 * count, swapped);
        case StoredType::ci32:
            return widen<std::int32_t, double>(samples, 2 * count, swapped);
        case StoredType::int64:
            return widen<std::int64_t, double>(samples, count, swapped);
        default:
            if (swapped) swap_pixels(samples, count, read_type(type));
    }
}

SampleEncoder::SampleEncoder(SampleType type, StoredType stored, const std::string& path)
    : type_(type), stored_(stored), as_it_is_(std::string(to_string(type)) == to_string(stored)) {
    const bool positions = type == SampleType::int64 || stored == StoredType::int64;
    if (stored == StoredType::int24 || (positions && !as_it_is_) ||
        parts_of(type).count != parts_of(stored).count)
        throw InvalidArgument(message("cannot write ", path, ": the samples are ", to_string(type),
                                      ", which are not stored as ", to_string(stored),
                                      parts_of(type).count == 2
                                          ? "; choose complex64, ci16 or another complex type"
                                          : "; choose another type"));
}

const void* SampleEncoder::encode(const void* samples, index_t count) {
    if (as_it_is_) return samples;
    const Parts to = parts_of(stored_);
    Parts from = parts_of(type_);
    const index_t numbers = count * from.count;
    if (stored_ == StoredType::cu8) {
        shifted_.resize(static_cast<std::size_t>(numbers));
        const ImageView in_double{
            shifted_.data(), PixelType::float64, {1, 1, numbers}, {numbers, numbers, 1}};
        convert_pixels(line(samples, from.type, numbers), in_double);
        for (double& value : shifted_) value += cu8_zero;
        samples = shifted_.data();
        from.type = PixelType::float64;
    }
    bytes_.resize(static_cast<std::size_t>(count * bytes_of(stored_)));
    clamped_ += convert_pixels(line(samples, from.type, numbers),
                               {bytes_.data(), to.type, {1, 1, numbers}, {numbers, numbers, 1}});
    return bytes_.data();
}

}  // namespace convolume::io
