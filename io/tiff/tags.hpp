// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags read past libtiff: exact rationals, ImageJ's private metadata, and tables of programs that
// libtiff does not know.

#include <array>
#include <cstring>
#include <optional>

#include "convolume/image_file.hpp"
#include "io/raw_file.hpp"
#include "io/strided.hpp"
#include "io/tiff/handle.hpp"

namespace convolume::io {

constexpr std::uint32_t tag_imagej_counts = 50838;
constexpr std::uint32_t tag_imagej_metadata = 50839;

/// Entry of a directory.
struct TiffEntry {
    int type = 0;        ///< as TIFF numbers them: 3 SHORT, 4 LONG, 5 RATIONAL, …
    index_t count = 0;   ///< of values
    index_t offset = 0;  ///< of the first value in the file
};

/// Numbers of a file in its own byte order. Reading beyond the end throws BadData.
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
    const RawFile& file() const { return file_; }

    /// Returns the entry of `tag` in the directory at `directory`, if it has one.
    std::optional<TiffEntry> find(std::uint64_t directory, int tag) const;
    /// Returns the offset of the directory after the one at `directory`, 0 for none. Throws BadData
    /// where the file ends before it says; libtiff takes that for the last directory.
    std::uint64_t next_directory(std::uint64_t directory) const;

  private:
    index_t entry_count(index_t start) const;
    index_t first_entry(index_t start) const { return start + (big_ ? 8 : 2); }
    index_t entry_bytes() const { return big_ ? 20 : 12; }

    const RawFile& file_;
    bool swapped_ = false;
    bool big_ = false;
};

/// Returns the Y and X resolution of the directory at `directory`, 0 where missing. libtiff gives
/// them in single precision, which turns 0.1 µm into 0.10000000149.
std::array<double, 2> read_resolution(const TiffNumbers& numbers, std::uint64_t directory);

/// Reads tags 50838 and 50839 of the current directory, in this machine's byte order. They stay
/// empty where they are missing or contradict each other.
void read_imagej_tags(const TiffHandle& tiff, ImageMetadata& metadata);

}  // namespace convolume::io
