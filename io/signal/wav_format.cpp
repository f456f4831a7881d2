// SPDX-License-Identifier: Apache-2.0
#include "io/signal/wav_format.hpp"

#include <bit>
#include <cstring>

#include "convolume/error.hpp"

namespace convolume::io {

std::uint64_t number_of_bytes_at(std::string_view bytes, std::size_t at, std::size_t width,
                                 bool big_endian) {
    if (at + width > bytes.size()) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
        const std::size_t byte = big_endian ? at + i : at + width - 1 - i;
        value = value << 8 | static_cast<unsigned char>(bytes[byte]);
    }
    return value;
}

bool means_unknown(std::uint64_t size) {
    constexpr std::uint64_t half = 0x80000000, header = 0x1000;
    return size == 0 || (size >= half - header && size <= half + header) ||
           size >= largest_uint32 - header;
}

WavFormat::WavFormat(std::string_view chunk, bool is_big_endian) : big_endian(is_big_endian) {
    const auto number = [&](std::size_t at, std::size_t bytes) {
        return static_cast<index_t>(number_of_bytes_at(chunk, at, bytes, big_endian));
    };
    constexpr int extensible = 0xFFFE;
    tag = static_cast<int>(number(0, 2));
    if (tag == extensible) {
        tag = static_cast<int>(number(24, 2));
        // Some programs write a subformat of four bytes, which is big-endian in RIFX.
        if (tag == 0) tag = static_cast<int>(number(26, 2));
    }
    channels = number(2, 2);
    rate_hz = number(4, 4);
    bits = number(14, 2);
    width = ceil_div(bits, index_t{8});
    frame_bytes = number(12, 2);
    if (frame_bytes == 0) frame_bytes = channels * width;
}

SignalInfo WavFormat::signal_info(index_t frames) const {
    const bool is_float = tag == floating_point;
    SignalInfo info;
    info.format = "WAV";
    info.type = width < 4 || (is_float && width == 4) ? PixelType::float32 : PixelType::float64;
    info.dims = {frames};
    if (channels > 1) info.dims.insert(info.dims.begin(), channels);
    if (!is_float) info.stored = message(width == 1 ? "uint" : "int", 8 * width);
    info.coordinates.sampling_rate_hz = static_cast<double>(rate_hz);
    return info;
}

template <class Real>
Real WavFormat::value(const char* sample) const {
    // The bits of the sample as the highest bits of the number.
    std::uint64_t all = 0;
    std::memcpy(&all, sample, sizeof all);
    if (big_endian == (std::endian::native == std::endian::little)) all = __builtin_bswap64(all);
    const index_t others = 64 - 8 * width;
    all = big_endian ? all >> others << others : all << others;
    if (tag == floating_point)
        return width == 8
                   ? static_cast<Real>(std::bit_cast<double>(all))
                   : static_cast<Real>(std::bit_cast<float>(static_cast<std::uint32_t>(all >> 32)));
    // Samples of one byte are unsigned: 128 is 0.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const auto number = static_cast<std::int64_t>(width == 1 ? all ^ sign : all);
    return static_cast<Real>(static_cast<double>(number) * 0x1p-63);
}

template float WavFormat::value<float>(const char*) const;
template double WavFormat::value<double>(const char*) const;

void check_format(const WavFormat& format, const std::string& path) {
    const bool is_float = format.tag == WavFormat::floating_point;
    if (format.tag != WavFormat::integers && !is_float)
        throw BadData(message(path,
                              " holds compressed samples, which are not supported; "
                              "save them as integers or float32"));
    if (format.frame_bytes < 1 || format.frame_bytes != format.channels * format.width)
        throw BadData(message(path, " cannot be read as WAV: ", format.channels, " channels of ",
                              format.bits, " bits do not make frames of ", format.frame_bytes,
                              " bytes; it is damaged, copy it again"));
    if (is_float ? format.width != 4 && format.width != 8 : format.width > 8)
        throw BadData(
            message(path, " holds samples of ", format.bits, " bits in an encoding (", format.tag,
                    ") that is not supported; save it as int16, int24, int32 or float32"));
    if (format.rate_hz < 1)
        throw BadData(message(path,
                              " cannot be read as WAV: its sampling rate is 0 Hz; it is damaged, "
                              "copy it again"));
}

}  // namespace convolume::io
