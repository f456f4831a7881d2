// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that the readers and writers of image formats share.

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "convolume/image_file.hpp"

namespace convolume::io {

class AtomicOutput;

/// Returns the format of samples that a file stores in pieces of at most the shape `piece`.
StackFormat stack_format(const ImageMetadata& metadata, const Shape3& piece = {1, 1, 1});

/// Returns the scaling that a file specifies. Returns nothing if it changes no value or is invalid.
std::optional<ValueScaling> usable_scaling(const std::optional<double>& scale,
                                           const std::optional<double>& offset);

/// Base class of the writers of all formats, which checks every box and counts its samples.
class CONVOLUME_API FileWriter : public ImageWriter {
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

/// Throws InvalidArgument if values are scaled, for a format that cannot say so.
CONVOLUME_API void refuse_scaling(const ImageMetadata& metadata, const std::string& format);

/// Tells whether `path` ends with a name and `extension`, such as ".npy", in letters of any case.
bool has_extension(const std::string& path, std::string_view extension);

}  // namespace convolume::io
