// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "io/file_array.hpp"
#include "io/formats.hpp"
#include "io/npy_header.hpp"

namespace convolume::io {
namespace {

/// Arrays of t, c, z, y, x; without t and c when both are 1; with as few dimensions as the source
/// had when z (and y) are 1.
std::vector<index_t> dims_of(const ImageMetadata& metadata) {
    const Shape3& s = metadata.shape;
    if (metadata.frames > 1 || metadata.channels > 1)
        return {metadata.frames, metadata.channels, s.z, s.y, s.x};
    if (s.z > 1 || metadata.axes.find('Z') != std::string::npos) return {s.z, s.y, s.x};
    if (s.y > 1 || metadata.axes.find('Y') != std::string::npos) return {s.y, s.x};
    return {s.x};
}

class NpyWriter : public ImageWriter {
  public:
    NpyWriter(const std::string& path, const ImageMetadata& metadata, const CreateOptions& options)
        : metadata_(metadata),
          header_(npy_header_text(npy_type_code(metadata.type), dims_of(metadata))),
          output_(path, options.overwrite,
                  checked_add(metadata.bytes(), static_cast<index_t>(header_.size()))),
          offset_(static_cast<index_t>(header_.size())) {
        output_.write(0, header_.data(), offset_);
        output_.reserve(offset_, metadata.bytes());
    }

    StackFormat format() const override { return stack_format(metadata_); }

    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override {
        check_box(format(), t, c, box, source);
        const index_t volumes = metadata_.frames * metadata_.channels;
        const index_t number = t * metadata_.channels + c;
        const FileArray volume{offset_ + number * (metadata_.bytes() / volumes),
                               contiguous_strides(metadata_.shape)};
        write_array(output_, volume.from(box.begin, static_cast<index_t>(size_of(metadata_.type))),
                    source);
        written_.add(source);
    }

    void commit() override {
        written_.finish(metadata_);
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    ImageMetadata metadata_;
    std::string header_;
    AtomicOutput output_;
    WriteCount written_;
    index_t offset_;  // of the first sample
};

}  // namespace

std::unique_ptr<ImageWriter> create_npy(const std::string& path, const ImageMetadata& metadata,
                                        const CreateOptions& options) {
    if (options.compression != Compression::none)
        throw InvalidArgument("NPY files have no compression; write TIFF or HDF5, or leave it out");
    if (metadata.scaling)
        throw InvalidArgument(
            "NPY files cannot say what their values stand for; write TIFF or HDF5, or values that "
            "are not scaled");
    return std::make_unique<NpyWriter>(path, metadata, options);
}

}  // namespace convolume::io
