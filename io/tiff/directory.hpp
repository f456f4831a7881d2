// SPDX-License-Identifier: Apache-2.0
#pragma once
// Directories (IFDs) of a TIFF as bytes. They are written without libtiff, and read without it if
// libtiff loses precision or does not know a tag.

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "convolume/shape.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"

namespace convolume::io {

class TiffDirectory {
  public:
    explicit TiffDirectory(bool big) : big_(big) {}

    // The calls must be in ascending order of tags.
    void add_short(std::uint16_t tag, std::uint16_t value);
    void add_long(std::uint16_t tag, std::uint32_t value);
    void add_longs(std::uint16_t tag, const std::vector<std::uint32_t>& values);
    /// Adds offsets, of 64 bits in BigTIFF and of 32 bits in classic TIFF.
    void add_offsets(std::uint16_t tag, const std::vector<std::uint64_t>& values);
    /// Adds `value` as the closest fraction of two 32-bit numbers.
    void add_rational(std::uint16_t tag, double value);
    void add_text(std::uint16_t tag, const std::string& value);
    void add_bytes(std::uint16_t tag, const std::vector<std::uint8_t>& values);

    /// Returns the number of bytes that at() returns.
    index_t size() const;
    /// Returns the bytes of the directory, which the caller writes at `offset`. `next` is the
    /// offset of the next directory, or 0.
    std::string at(index_t offset, index_t next) const;

  private:
    struct PendingEntry {
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
    std::vector<PendingEntry> entries_;
};

/// An entry of a directory that was read.
struct TiffEntry {
    int type = 0;        ///< TIFF's number of the type: 3 SHORT, 4 LONG, 5 RATIONAL, …
    index_t count = 0;   ///< number of values
    index_t offset = 0;  ///< offset of the first value in the file
};

/// Reader of numbers and directories in the file's byte order. Throws BadData beyond the file's
/// end.
class TiffNumbers {
  public:
    explicit TiffNumbers(const RawFile& file);

    template <class T>
    T at(index_t offset) const {
        T value{};
        file_.read(offset, &value, sizeof(T));
        if (swapped_) swap_bytes(&value, 1, sizeof(T));
        return value;
    }
    /// Returns the quotient of the two 32-bit numbers at `offset`, 0 if the second one is 0.
    double rational_at(index_t offset) const;
    const RawFile& file() const { return file_; }

    /// Returns the entry of `tag` in the directory at `directory`, if any.
    std::optional<TiffEntry> find(std::uint64_t directory, int tag) const;
    /// Returns the offset of the directory after the one at `directory`, 0 for none. Throws BadData
    /// if the file ends before it; libtiff would take the one at `directory` for the last.
    std::uint64_t next_directory(std::uint64_t directory) const;

  private:
    index_t entry_count(index_t start) const;
    index_t first_entry(index_t start) const { return start + (big_ ? 8 : 2); }
    index_t entry_bytes() const { return big_ ? 20 : 12; }

    const RawFile& file_;
    bool swapped_ = false;
    bool big_ = false;
};

/// Returns the Y and X resolution in the directory at `directory`, 0 for missing tags. libtiff
/// reads them in single precision, which turns 0.1 µm into 0.10000000149.
std::array<double, 2> read_resolution(const TiffNumbers& numbers, std::uint64_t directory);

}  // namespace convolume::io
