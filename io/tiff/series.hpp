// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that one image lies in (mostly one, or a set that OME-XML names), and their pages made
// that image.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
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

class OmeDocument;

/// Page of a file of the set: files are numbered as TiffFiles has them, pages in file order.
struct TiffPlace {
    index_t file = 0;
    index_t page = -1;  ///< -1: there is none
};

/// Location of one plane of one channel.
struct TiffPlane {
    index_t file = 0;
    /// Page of the file; in a series `behind_first_page`, the plane's place behind that page's
    /// first byte.
    index_t page = 0;
    index_t sample = 0;  ///< of the page's samples
};

struct TiffSeries {
    ImageMetadata metadata;
    TiffPage page;      ///< every page has its size and type
    AxisLayout layout;  ///< of the pages, and of their samples if these are planes
    std::vector<TiffPlace>
        places;                 ///< page of each plane in that order; empty: behind the first page
    index_t colors = 1;         ///< samples of a page that are channels
    index_t planes_a_page = 1;  ///< samples of a page that are planes, times or channels
    bool behind_first_page = false;

    TiffPlane plane(index_t t, index_t c, index_t z) const;
};

/// Finds the image that `options` ask for in the first of `files`; files that belong to it are
/// added. `document`, if not null, is the OME-XML beside the files. Throws BadData for what the
/// pages contradict and for metadata that do not tell what the pages are, InvalidArgument for
/// options that do not fit.
TiffSeries find_series(TiffFiles& files, const OpenOptions& options, const OmeDocument* document);

}  // namespace convolume::io
