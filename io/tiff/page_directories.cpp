// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/page_directories.hpp"

#include <bit>

namespace convolume::io {
namespace {

std::string header_bytes(bool big, index_t first_directory) {
    std::string header = std::endian::native == std::endian::little ? "II" : "MM";
    const auto append = [&](auto value) {
        header.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    append(static_cast<std::uint16_t>(big ? 43 : 42));
    if (big) {
        append(std::uint16_t{8});
        append(std::uint16_t{0});
        append(static_cast<std::uint64_t>(first_directory));
    } else {
        append(static_cast<std::uint32_t>(first_directory));
    }
    return header;
}

}  // namespace

index_t page_number(const ImageMetadata& metadata, const TiffText& text, index_t t, index_t c,
                    index_t z) {
    const index_t slices = metadata.shape.z;
    const index_t channels = metadata.channels;
    return text.ome ? (t * channels + c) * slices + z : (t * slices + z) * channels + c;
}

TiffDirectory page_directory(const ImageMetadata& metadata, const TiffText& text, bool first,
                             const TiffStrips& strips) {
    TiffDirectory d(text.big);
    d.add_long(254, 0);
    d.add_long(256, static_cast<std::uint32_t>(metadata.shape.x));
    d.add_long(257, static_cast<std::uint32_t>(metadata.shape.y));
    d.add_short(258, static_cast<std::uint16_t>(size_of(metadata.type) * 8));
    d.add_short(259, strips.compression);
    d.add_short(262, 1);  // zero is black
    if (first) d.add_text(270, text.description);
    d.add_offsets(273, strips.offsets);
    d.add_short(277, 1);
    d.add_long(278, static_cast<std::uint32_t>(strips.rows));
    d.add_offsets(279, strips.bytes);
    d.add_rational(282, text.pixels_per_unit[1]);
    d.add_rational(283, text.pixels_per_unit[0]);
    d.add_short(296, text.resolution_unit);
    if (first && !text.software.empty()) d.add_text(305, text.software);
    if (strips.predictor > 1) d.add_short(317, strips.predictor);
    d.add_short(339, sample_format(metadata.type));
    if (first && !text.ome && !metadata.imagej_metadata.empty()) {
        d.add_longs(50838, metadata.imagej_metadata_counts);
        d.add_bytes(50839, metadata.imagej_metadata);
    }
    return d;
}

void write_directories(AtomicOutput& output, bool big, index_t offset, index_t pages,
                       const std::function<TiffDirectory(index_t)>& directory) {
    constexpr std::size_t bytes_at_once = 1 << 20;
    std::string bytes;
    index_t written_to = offset;
    index_t at = offset;
    for (index_t page = 0; page < pages; ++page) {
        const TiffDirectory d = directory(page);
        const index_t next = at + d.size();
        bytes += d.at(at, page + 1 < pages ? next : 0);
        at = next;
        if (bytes.size() > bytes_at_once || page + 1 == pages) {
            output.write(written_to, bytes.data(), static_cast<index_t>(bytes.size()));
            written_to = at;
            bytes.clear();
        }
    }
    const std::string header = header_bytes(big, offset);
    output.write(0, header.data(), static_cast<index_t>(header.size()));
}

}  // namespace convolume::io
