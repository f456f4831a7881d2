// SPDX-License-Identifier: Apache-2.0
#pragma once
// OME-XML documents, in TIFFs or in files of their own (companion.ome) beside them: read as far as
// a reader of images needs them, and written.

#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "io/raw_file.hpp"

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

/// The last part of a path of any system.
std::string base_name(const std::string& path);

/// Reads the document in `file`. Throws BadData.
std::unique_ptr<OmeDocument> read_ome_file(const RawFile& file);

/// Reads the document that the TIFF `path` refers to as `name`, from the folder of the TIFF. Throws
/// BadData if it is not there.
std::unique_ptr<OmeDocument> read_ome_companion(const std::string& path, const std::string& name);

/// Returns the path of the first file of a document's image (number or name as in
/// OpenOptions::image) that is in the folder of `path`. Throws BadData if none is.
std::string first_file_of(const OmeDocument& document, const std::string& path);

/// The MapAnnotation that says what stored values stand for: its namespace, and its keys.
constexpr const char* scaling_namespace = "convolume/value-scaling";
constexpr const char* scale_key = "scale";
constexpr const char* offset_key = "offset";

/// Returns a document for planes written with z fastest, then c, then t. It is the source's
/// document, where there is one, changed where size and type demand it.
std::string ome_xml(const ImageMetadata& metadata, const std::string& software);

}  // namespace convolume::io
