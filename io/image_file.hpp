// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readers and writers of each format behind open_image() and create_image(), the recognition of
// formats, and functions that the formats share.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "convolume/image_file.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

class AtomicOutput;

std::unique_ptr<ImageReader> open_tiff(const std::string& path, const OpenOptions& options);
/// Opens an OME-XML document that describes TIFFs beside it.
std::unique_ptr<ImageReader> open_ome_companion(const std::string& path,
                                                const OpenOptions& options);
/// Opens an HDF5 file. `bdv_xml` is the path of BigDataViewer's XML. If it is empty, the XML has
/// the path of the file with the extension .xml.
std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options,
                                       const std::string& bdv_xml = "");
/// Opens the HDF5 file that BigDataViewer's XML names.
std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions& options);
std::unique_ptr<ImageReader> open_npy(const std::string& path, const OpenOptions& options);

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata& metadata,
                                         const CreateOptions& options, bool ome);
std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options);
/// Returns whether a name is free in an HDF5 file: no object of this name is there.
bool is_free_in_hdf5(const PathSpec& spec);
std::unique_ptr<ImageWriter> create_npy(const std::string& path, const ImageMetadata& metadata,
                                        const CreateOptions& options);

/// Returns the format of samples that a file stores in pieces of at most the shape `piece`.
StackFormat stack_format(const ImageMetadata& metadata, const Shape3& piece = {1, 1, 1});

/// Returns the scaling that a file specifies. Returns nothing if it changes no value or is invalid.
std::optional<ValueScaling> usable_scaling(const std::optional<double>& scale,
                                           const std::optional<double>& offset);

/// Base class of the writers of all formats, which checks every box and counts its samples.
class FileWriter : public ImageWriter {
  public:
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) final;
    /// Throws InvalidArgument unless the image was written as a whole.
    void commit() final;

  protected:
    explicit FileWriter(const ImageMetadata& metadata) : metadata_(metadata) {}
    const ImageMetadata& metadata() const final { return metadata_; }
    index_t bytes_each() const { return static_cast<index_t>(size_of(metadata_.type)); }
    /// Writes a box of samples into an uncompressed array, whose order is t, c, z, y, x and which
    /// begins at `offset`.
    void write_to_array(AtomicOutput& output, index_t offset, index_t t, index_t c, const Box3& box,
                        const ConstImageView& source) const;

    // Each format implements these functions.
    virtual void write_checked_box(index_t t, index_t c, const Box3& box,
                                   const ConstImageView& source) = 0;
    virtual void complete() = 0;

    ImageMetadata metadata_;

  private:
    std::atomic<index_t> samples_{0};  ///< number of samples written so far
};

/// Format of a file, according to its content.
enum class FileKind { tiff, hdf5, npy, xml, other };
FileKind kind_of(const RawFile& file);

/// Tells whether `path` ends with a name and `extension`, such as ".npy", in letters of any case.
bool has_extension(const std::string& path, std::string_view extension);
bool names_hdf5(const std::string& path);

}  // namespace convolume::io
