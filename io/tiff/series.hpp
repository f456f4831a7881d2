// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of one image (mostly one, or a set that OME-XML names), and the order of their pages.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/axis_layout.hpp"
#include "io/tiff/pages.hpp"

namespace convolume::io {

/// An open TIFF and its libtiff handles.
struct OpenTiff {
    explicit OpenTiff(const std::string& path);

    RawFile file;
    TiffHandles handles;
    bool is_swapped;  ///< true if the byte order differs from this machine's
};

/// Files of one image. Each file is scanned when it is added. At most 64 stay open. Several threads
/// may use this at once, except for add().
class TiffFiles {
  public:
    /// Opens and scans a file, unless it was added before. Returns its number, which starts at 0.
    /// Throws what RawFile and scan_pages() throw.
    index_t add(const std::string& path);

    const std::string& path(index_t file) const { return files_[index(file)].path; }
    const std::vector<TiffPage>& pages(index_t file) const { return files_[index(file)].pages; }
    /// Returns the file, reopened if it was closed. Throws IoError if it was changed.
    std::shared_ptr<OpenTiff> open(index_t file) const;
    /// Throws IoError if any of the files was changed since it was added.
    void check_unchanged() const;

  private:
    struct ScannedFile {
        std::string path;
        std::vector<TiffPage> pages;
        FileState state;
        std::shared_ptr<OpenTiff> open;  ///< null if closed
    };
    static std::size_t index(index_t file) { return static_cast<std::size_t>(file); }
    void keep_open(std::size_t file, std::shared_ptr<OpenTiff> tiff) const;

    mutable std::mutex mutex_;
    mutable std::vector<ScannedFile> files_;
    mutable std::deque<std::size_t> open_;  // numbers of open files, in the order of opening
    // file numbers by RawFile::identity()
    std::map<std::pair<std::uint64_t, std::uint64_t>, index_t> numbers_;
};

class OmeDocument;

/// Reference to a page: a file number of TiffFiles, and the page's number in that file.
struct TiffPageRef {
    index_t file = 0;
    index_t page = -1;  ///< -1 if there is no such page
};

/// Location of one plane of one channel.
struct TiffPlane {
    index_t file = 0;
    /// Page of the file. If TiffSeries::behind_first_page, number of the plane after the page's
    /// offset.
    index_t page = 0;
    index_t sample = 0;  ///< index among the samples of a pixel
};

/// An image: its metadata, and the pages that its planes are in.
struct TiffSeries {
    ImageMetadata metadata;
    TiffPage page;      ///< a page of the image; all have its size and type
    AxisLayout layout;  ///< layout of the pages, and of their samples if these are planes
    /// Page of each plane in the order of `layout`; empty if `behind_first_page` is set.
    std::vector<TiffPageRef> plane_pages;
    index_t colors = 1;  ///< number of samples of a page that are channels
    /// Number of samples of a page that are planes, times or channels of `layout`
    index_t planes_a_page = 1;
    bool behind_first_page = false;  ///< same meaning as TiffStack::behind_first_page

    TiffPlane plane(index_t t, index_t c, index_t z) const;
};

/// Finds the image that `options` select in the first of `files`, and adds the files that belong to
/// it. `document`, if not null, is the OME-XML beside the files. Throws BadData if the pages
/// contradict the metadata or the metadata are ambiguous, InvalidArgument if the options do not
/// fit.
TiffSeries find_series(TiffFiles& files, const OpenOptions& options, const OmeDocument* document);

}  // namespace convolume::io
