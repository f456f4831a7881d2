// SPDX-License-Identifier: Apache-2.0
#pragma once
// The TIFF files that one image lies in: mostly one, or a set that OME-XML names.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/tiff/pages.hpp"

namespace convolume::io {

/// A TIFF that is open.
struct OpenTiff {
    explicit OpenTiff(const std::string& path);

    RawFile file;
    TiffHandles handles;
    bool is_swapped;  ///< numbers in the other byte order than this machine's
};

/// Files of one image. Each is scanned when it is added; at most 64 stay open. May be used by
/// several threads at once, apart from add().
class TiffFiles {
  public:
    /// Opens and scans a file, unless it was added before. Returns its number, from 0. Throws what
    /// RawFile and scan_pages() throw.
    index_t add(const std::string& path);

    const std::string& path(index_t file) const { return known_[at(file)].path; }
    const std::vector<TiffPage>& pages(index_t file) const { return known_[at(file)].pages; }
    /// Returns the file, opened again if it was closed meanwhile. Throws IoError if it was changed.
    std::shared_ptr<OpenTiff> open(index_t file) const;
    /// Throws IoError if any of the files was changed since it was added.
    void check_unchanged() const;

  private:
    struct Known {
        std::string path;
        std::vector<TiffPage> pages;
        FileState state;
        std::shared_ptr<OpenTiff> open;  ///< null: closed
    };
    static std::size_t at(index_t file) { return static_cast<std::size_t>(file); }
    void keep_open(std::size_t file, std::shared_ptr<OpenTiff> tiff) const;

    mutable std::mutex mutex_;
    mutable std::vector<Known> known_;
    mutable std::deque<std::size_t> open_;  // the one that was opened first is first
    std::map<std::pair<std::uint64_t, std::uint64_t>, index_t> numbers_;  // by RawFile::identity()
};

}  // namespace convolume::io
