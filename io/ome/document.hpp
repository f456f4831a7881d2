// SPDX-License-Identifier: Apache-2.0
#pragma once
// OME-XML documents, in TIFFs or in files of their own (companion.ome) beside them. They are read
// as far as image readers need them, and written.

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

/// A TiffData element of OME-XML: planes of an image that are consecutive pages of a file.
struct OmePlanes {
    std::string file;    ///< name in the document; empty for the file that contains the document
    std::string uuid;    ///< UUID of the file; may be empty
    index_t first[3]{};  ///< z, c, t of the first plane
    index_t page = 0;    ///< first page, counted over all pages of the file
    index_t count = -1;  ///< number of planes; -1 if it is the number of pages that follow
};

/// An Image element of OME-XML.
struct OmeImage {
    std::string name;
    std::string order = "XYZCT";    ///< letters of the axes, fastest first
    bool has_assumed_order = true;  ///< true if the document does not have a valid order
    index_t height = 0;
    index_t width = 0;
    index_t size_z = 0;
    index_t size_c = 0;  ///< number of channels; each sample of a page is one
    index_t size_t = 0;
    std::vector<OmePlanes> planes;  ///< if empty, the planes are all pages of the file in order
};

class OmeDocument {
  public:
    /// Parses the document `xml`. `path` names the file in messages. Throws BadData.
    OmeDocument(const std::string& xml, const std::string& path);
    ~OmeDocument();
    OmeDocument(const OmeDocument&) = delete;
    OmeDocument& operator=(const OmeDocument&) = delete;

    /// Returns the name of the file with the whole document if this one only refers to it, else "".
    const std::string& companion() const { return companion_; }
    /// Returns the UUID of the file that contains this document; may be empty.
    const std::string& uuid() const { return uuid_; }
    const std::vector<OmeImage>& images() const { return images_; }

    /// Sets the metadata of an image: voxel sizes, frame interval, names and colors of channels,
    /// microscope, scaling of values. Sets `ome_xml` to the document without other images.
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

/// Tells whether the document `ome_xml` of the file `path` names more than one file with planes.
bool names_several_files(const std::string& ome_xml, const std::string& path);

/// Returns the last component of a path with slashes or backslashes.
std::string base_name(const std::string& path);

/// Reads the document in `file`. Throws BadData.
std::unique_ptr<OmeDocument> read_ome_file(const RawFile& file);

/// Reads the document to which the TIFF `path` refers by `name`, from the folder of the TIFF.
/// Throws BadData if it is missing.
std::unique_ptr<OmeDocument> read_ome_companion(const std::string& path, const std::string& name);

/// Returns the path of a document's first file in the folder of `path`. Throws BadData if none is.
std::string first_file_of(const OmeDocument& document, const std::string& path);

/// Namespace and keys of the MapAnnotation that maps stored values linearly to physical values.
constexpr const char* scaling_namespace = "convolume/value-scaling";
constexpr const char* scale_key = "scale";
constexpr const char* offset_key = "offset";

/// Returns a document for planes written with z fastest, then c, then t. It is the source's
/// document, if any, with changes for size and type.
std::string ome_xml(const ImageMetadata& metadata, const std::string& software);

/// Adapts the facts of planes in the source's document to an output that begins at plane `first_z`
/// of the image, which may be negative.
void move_ome_planes(ImageMetadata& metadata, index_t first_z);

}  // namespace convolume::io
