// SPDX-License-Identifier: Apache-2.0
#include "io/signal/sample_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "convolume/filter_options.hpp"
#include "convolume/signal_file.hpp"
#include "io/image_file.hpp"
#include "io/samples.hpp"
#include "io/signal/file.hpp"

namespace convolume::io {
namespace {

constexpr double cu8_zero = 127.5;  // stored number that means 0

/// Converts `count` numbers of type From, at the end of memory for the same count of To, to numbers
/// of type To. Subtracts `zero` from each.
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

SampleStorage storage_of(StoredType type) {
    return type == StoredType::float16 ? SampleStorage::float16 : SampleStorage::bfloat16;
}

/// The real numbers that a sample consists of: 1 for a real sample, 2 for a complex one.
struct SampleComponents {
    PixelType type;
    index_t count;
};

SampleComponents components_of(PixelType type) {
    if (!is_complex(type)) return {type, 1};
    return {type == PixelType::complex64 ? PixelType::float32 : PixelType::float64, 2};
}

SampleComponents components_of(SampleType type) {
    return components_of(pixel_type_of(type).value_or(PixelType::float64));
}

SampleComponents components_of(StoredType stored) {
    switch (stored) {
        case StoredType::cu8:
            return {PixelType::uint8, 2};
        case StoredType::ci8:
            return {PixelType::int8, 2};
        case StoredType::ci16:
            return {PixelType::int16, 2};
        case StoredType::ci32:
            return {PixelType::int32, 2};
        default:
            return components_of(read_type(stored));
    }
}

ConstImageView line(const void* data, PixelType type, index_t count) {
    return {data, type, {1, 1, count}, {count, count, 1}};
}

/// Names and properties of a stored type.
struct StoredTypeInfo {
    StoredType type;
    const char* name;
    const char* extension;  ///< extension of file names, such as ".u8"
    const char* other_extension;
    index_t bytes;
    PixelType read_type;
};
constexpr StoredTypeInfo stored_type_table[] = {
    {StoredType::uint8, "uint8", ".u8", "", 1, PixelType::uint8},
    {StoredType::int8, "int8", ".i8", ".s8", 1, PixelType::int8},
    {StoredType::uint16, "uint16", ".u16", "", 2, PixelType::uint16},
    {StoredType::int16, "int16", ".i16", ".s16", 2, PixelType::int16},
    {StoredType::int24, "int24", ".i24", "", 3, PixelType::float32},
    {StoredType::uint32, "uint32", ".u32", "", 4, PixelType::uint32},
    {StoredType::int32, "int32", ".i32", ".s32", 4, PixelType::int32},
    {StoredType::int64, "int64", ".i64", "", 8, PixelType::float64},
    {StoredType::float32, "float32", ".f32", "", 4, PixelType::float32},
    {StoredType::float64, "float64", ".f64", "", 8, PixelType::float64},
    {StoredType::complex64, "complex64", ".c64", ".cf32", 8, PixelType::complex64},
    {StoredType::complex128, "complex128", ".c128", ".cf64", 16, PixelType::complex128},
    {StoredType::cu8, "cu8", ".cu8", "", 2, PixelType::complex64},
    {StoredType::ci8, "ci8", ".ci8", ".cs8", 2, PixelType::complex64},
    {StoredType::ci16, "ci16", ".ci16", ".cs16", 4, PixelType::complex64},
    {StoredType::ci32, "ci32", ".ci32", ".cs32", 8, PixelType::complex128},
    {StoredType::float16, "float16", ".f16", "", 2, PixelType::float32},
    {StoredType::bfloat16, "bfloat16", ".bf16", "", 2, PixelType::float32},
};

const StoredTypeInfo& info_of(StoredType type) {
    const auto* const found =
        std::find_if(std::begin(stored_type_table), std::end(stored_type_table),
                     [&](const StoredTypeInfo& info) { return info.type == type; });
    if (found == std::end(stored_type_table))
        throw InternalError("a stored type outside its enumeration");
    return *found;
}

bool is_extension(const char* extension, std::string_view name) {
    return *extension != '\0' && name == extension + 1;
}

}  // namespace

void* stored_bytes_address(void* samples, index_t count, StoredType type) {
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
        case StoredType::float16:
        case StoredType::bfloat16:
            if (swapped) swap_bytes(static_cast<char*>(samples) + count * 2, count, 2);
            return widen_short_floats(static_cast<char*>(samples) + count * 2, count,
                                      storage_of(type), static_cast<float*>(samples));
        default:
            if (swapped) swap_pixels(samples, count, read_type(type));
    }
}

void decode_first(void* samples, index_t there, index_t count, StoredType type, bool swapped) {
    // decode() expects the bytes at the end of the memory for the samples that it converts.
    if (there < count)
        std::memmove(stored_bytes_address(samples, there, type),
                     stored_bytes_address(samples, count, type),
                     static_cast<std::size_t>(there * bytes_of(type)));
    decode(samples, there, type, swapped);
}

bool swaps_bytes(const OpenSignalOptions& options) {
    const ByteOrder native =
        std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;
    return options.raw_byte_order.value_or(ByteOrder::little) != native;
}

SampleEncoder::SampleEncoder(SampleType type, StoredType stored, const std::string& path)
    : type_(type),
      stored_(stored),
      needs_no_conversion_(std::string(to_string(type)) == to_string(stored)) {
    const bool positions = type == SampleType::int64 || stored == StoredType::int64;
    if (stored == StoredType::int24 || (positions && !needs_no_conversion_) ||
        components_of(type).count != components_of(stored).count)
        throw InvalidArgument(message("cannot write ", path, ": the samples are ", to_string(type),
                                      ", which are not stored as ", to_string(stored),
                                      components_of(type).count == 2
                                          ? "; choose complex64, ci16 or another complex type"
                                          : "; choose another type"));
}

void SampleEncoder::encode(const void* samples, index_t count,
                           const std::function<void(const void*, index_t)>& use) {
    constexpr index_t samples_a_group = index_t{1} << 15;
    const auto* from = static_cast<const char*>(samples);
    for (; count > 0; count -= std::min(count, samples_a_group)) {
        const index_t now = std::min(count, samples_a_group);
        use(encode_group(from, now), now);
        from += now * bytes_of(type_);
    }
}

const void* SampleEncoder::encode_group(const void* samples, index_t count) {
    if (needs_no_conversion_) return samples;
    const SampleComponents to = components_of(stored_);
    SampleComponents from = components_of(type_);
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
    if (is_short_float(stored_)) return encode_short_floats(samples, count);
    clamped_ += convert_pixels(line(samples, from.type, numbers),
                               {bytes_.data(), to.type, {1, 1, numbers}, {numbers, numbers, 1}});
    return bytes_.data();
}

const void* SampleEncoder::encode_short_floats(const void* samples, index_t count) {
    const auto* singles = static_cast<const float*>(samples);
    if (type_ != SampleType::float32) {
        singles_.resize(static_cast<std::size_t>(count));
        convert_pixels(line(samples, components_of(type_).type, count),
                       {singles_.data(), PixelType::float32, {1, 1, count}, {count, count, 1}});
        singles = singles_.data();
    }
    encode_samples(singles, count, storage_of(stored_), bytes_.data());
    return bytes_.data();
}

bool is_short_float(StoredType type) {
    return type == StoredType::float16 || type == StoredType::bfloat16;
}

const char* to_string(StoredType type) {
    return info_of(type).name;
}

StoredType parse_stored_type(std::string_view name) {
    std::string known;
    for (const StoredTypeInfo& info : stored_type_table) {
        if (name == info.name || is_extension(info.extension, name) ||
            is_extension(info.other_extension, name))
            return info.type;
        known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    throw InvalidArgument(message("there is no sample type \"", name, "\"; there are ", known,
                                  ", also as i16, c64, …"));
}

std::optional<StoredType> stored_type_of_name(std::string_view path) {
    const std::string text(path);
    for (const StoredTypeInfo& info : stored_type_table)
        for (const char* extension : {info.extension, info.other_extension})
            if (*extension != '\0' && info.type != StoredType::int24 &&
                has_extension(text, extension))
                return info.type;
    return std::nullopt;
}

StoredType stored_type_of(SampleType type) {
    return parse_stored_type(to_string(type));
}

index_t bytes_of(StoredType type) {
    return info_of(type).bytes;
}

bool is_complex(StoredType type) {
    return is_complex(info_of(type).read_type);
}

bool is_integer(StoredType type) {
    switch (type) {
        case StoredType::float16:
        case StoredType::bfloat16:
        case StoredType::float32:
        case StoredType::float64:
        case StoredType::complex64:
        case StoredType::complex128:
            return false;
        default:
            return true;
    }
}

PixelType read_type(StoredType type) {
    return info_of(type).read_type;
}

}  // namespace convolume::io
