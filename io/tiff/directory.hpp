// SPDX-License-Identifier: Apache-2.0
#pragma once
// One directory (IFD) of a TIFF as bytes, in this machine's byte order.

#include <cstdint>
#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::io {

class TiffDirectory {
  public:
    explicit TiffDirectory(bool big) : big_(big) {}

    // Tags must be added in ascending order.
    void add_short(std::uint16_t tag, std::uint16_t value);
    void add_long(std::uint16_t tag, std::uint32_t value);
    void add_longs(std::uint16_t tag, const std::vector<std::uint32_t>& values);
    /// 64 bits in BigTIFF, 32 in classic TIFF.
    void add_offsets(std::uint16_t tag, const std::vector<std::uint64_t>& values);
    /// The closest fraction of two 32-bit numbers.
    void add_rational(std::uint16_t tag, double value);
    void add_text(std::uint16_t tag, const std::string& value);
    void add_bytes(std::uint16_t tag, const std::vector<std::uint8_t>& values);

    /// Bytes that at() returns.
    index_t size() const;
    /// The directory for that position of the file; `next` is the position of the next one, or 0.
    std::string at(index_t offset, index_t next) const;

  private:
    struct Entry {
        std::uint16_t tag;
        std::uint16_t type;
        std::uint64_t count;
        std::string value;
    };
    std::size_t inline_bytes() const { return big_ ? 8 : 4; }
    std::size_t table_bytes() const {
        return big_ ? 8 + entries_.size() * 20 + 8 : 2 + entries_.size() * 12 + 4;
    }

    bool big_;
    std::vector<Entry> entries_;
};

}  // namespace convolume::io
