// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "io/atomic_output.hpp"
#include "io/formats.hpp"
#include "io/npy_header.hpp"
#include "io/plane_stream.hpp"

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
    }

    void write_planes(index_t t, index_t c, index_t z_begin,
                      const ConstImageView& source) override {
        progress_.accept(metadata_, t, c, z_begin, source);
        for_each_plane(source, [&](index_t, const void* plane, index_t bytes) {
            output_.write(offset_, plane, bytes);
            offset_ += bytes;
        });
    }

    void commit() override {
        progress_.finish(metadata_);
        output_.commit();
    }

  protected:
    const ImageMetadata& metadata() const override { return metadata_; }

  private:
    ImageMetadata metadata_;
    std::string header_;
    AtomicOutput output_;
    WriteProgress progress_;
    index_t offset_;
};

}  // namespace

std::unique_ptr<ImageWriter> create_npy(const std::string& path, const ImageMetadata& metadata,
                                        const CreateOptions& options) {
    if (options.compression != Compression::none)
        throw InvalidArgument("NPY files have no compression; write TIFF or HDF5, or leave it out");
    return std::make_unique<NpyWriter>(path, metadata, options);
}

}  // namespace convolume::io
