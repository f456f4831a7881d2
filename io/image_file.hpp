// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers and writers behind open_image() and create_image(), how a file's format is
// recognized, and what the formats share.

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
/// Opens a document of OME-XML that describes TIFFs beside it.
std::unique_ptr<ImageReader> open_ome_companion(const std::string& path,
                                                const OpenOptions& options);
/// `bdv_xml` is the path of BigDataViewer's XML; empty: that of the file with another extension.
std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options,
                                       const std::string& bdv_xml = "");
/// Opens the HDF5 file that BigDataViewer's XML names.
std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions& options);
std::unique_ptr<ImageReader> open_npy(const std::string& path, const OpenOptions& options);

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata& metadata,
                                         const CreateOptions& options, bool ome);
std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options);
std::unique_ptr<ImageWriter> create_npy(const std::string& path, const ImageMetadata& metadata,
                                        const CreateOptions& options);

/// Samples as the file holds them, in pieces of at most that shape.
StackFormat stack_format(const ImageMetadata& metadata, const Shape3& piece = {1, 1, 1});

/// A scaling as a file gives it; nothing where it changes no value or makes no sense.
std::optional<ValueScaling> usable_scaling(const std::optional<double>& scale,
                                           const std::optional<double>& offset);

/// What writers of all formats do: every box is checked, and its samples are counted.
class FileWriter : public ImageWriter {
  public:
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) final;
    /// Throws InvalidArgument unless as many samples were written as the image has.
    void commit() final;

  protected:
    explicit FileWriter(const ImageMetadata& metadata) : metadata_(metadata) {}
    const ImageMetadata& metadata() const final { return metadata_; }
    index_t bytes_each() const { return static_cast<index_t>(size_of(metadata_.type)); }
    /// Writes a box of samples that lie in a file from `offset` on, in the order t, c, z, y, x.
    void write_to_array(AtomicOutput& output, index_t offset, index_t t, index_t c, const Box3& box,
                        const ConstImageView& source) const;

    // Each format.
    virtual void write_checked_box(index_t t, index_t c, const Box3& box,
                                   const ConstImageView& source) = 0;
    virtual void complete() = 0;

    ImageMetadata metadata_;

  private:
    std::atomic<index_t> samples_{0};  ///< written so far
};

/// What a file is by its content.
enum class FileKind { tiff, hdf5, npy, xml, other };
FileKind kind_of(const RawFile& file);

/// Whether `path` ends with `extension` (".npy"), in letters of any case, and has a name before it.
bool has_extension(const std::string& path, std::string_view extension);
bool names_hdf5(const std::string& path);

}  // namespace convolume::io
