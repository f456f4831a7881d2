// SPDX-License-Identifier: Apache-2.0
#pragma once
// An OME-XML document as a reader of its files needs it: the images, and where their planes are.

#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace pugi {
class xml_document;
class xml_node;
}  // namespace pugi

namespace convolume::io {

bool is_ome_description(const std::string& description);

/// A TiffData element: planes of an image in a file.
struct OmePlanes {
    std::string file;    ///< as the document names it; empty: the file that holds the document
    std::string uuid;    ///< of that file; may be empty
    index_t first[3]{};  ///< z, c, t of the first plane
    index_t page = 0;    ///< among all pages of the file
    index_t count = -1;  ///< -1: one plane for each page that follows
};

/// An Image element.
struct OmeImage {
    std::string name;
    std::string order = "XYZCT";
    bool has_assumed_order = true;  ///< the document has none
    index_t height = 0;
    index_t width = 0;
    index_t size_z = 0;
    index_t size_c = 0;  ///< samples of pages counted
    index_t size_t = 0;
    std::vector<OmePlanes> planes;  ///< empty: the pages of the file, in order
};

class OmeDocument {
  public:
    /// Parses a document. `path` names the file in messages. Throws BadData.
    OmeDocument(const std::string& xml, const std::string& path);
    ~OmeDocument();
    OmeDocument(const OmeDocument&) = delete;
    OmeDocument& operator=(const OmeDocument&) = delete;

    /// Name of the file that holds the whole document, if this is only a reference to it; else "".
    const std::string& companion() const { return companion_; }
    /// UUID of the file that holds this document; may be empty.
    const std::string& uuid() const { return uuid_; }
    const std::vector<OmeImage>& images() const { return images_; }

    /// Sets voxel sizes, frame interval, channel names and colors, the microscope, the scaling of
    /// values, and `ome_xml`: the document with this image alone.
    void describe(index_t image, ImageMetadata& metadata) const;

  private:
    pugi::xml_node image_node(index_t image) const;

    std::string path_;
    std::string text_;
    std::unique_ptr<pugi::xml_document> document_;
    std::string companion_;
    std::string uuid_;
    std::vector<OmeImage> images_;
};

}  // namespace convolume::io
