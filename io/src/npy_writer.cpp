#include <bit>
#include <string>

#include "atomic_output.hpp"
#include "formats.hpp"
#include "plane_stream.hpp"

namespace convolume::io {
namespace {

std::string type_code(PixelType type) {
    const char kind = is_complex(type)                       ? 'c'
                      : !is_integer(type)                    ? 'f'
                      : std::string(name_of(type))[0] == 'u' ? 'u'
                                                             : 'i';
    const std::size_t bytes = size_of(type);
    const char order = bytes == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
    return message(order, kind, bytes);
}

/// Format version 1: arrays of t, c, z, y, x; without t and c when both are 1; with as few
/// dimensions as the source had when z (and y) are 1.
std::string npy_header(const ImageMetadata& metadata) {
    const Shape3& s = metadata.shape;
    std::string shape = message(s.x, ",");
    const bool stack = metadata.frames > 1 || metadata.channels > 1;
    const bool with_z = stack || s.z > 1 || metadata.axes.find('Z') != std::string::npos;
    if (with_z || s.y > 1 || metadata.axes.find('Y') != std::string::npos)
        shape = message(s.y, ", ", s.x);
    if (with_z) shape = message(s.z, ", ", shape);
    if (stack) shape = message(metadata.frames, ", ", metadata.channels, ", ", shape);
    std::string text = message("{'descr': '", type_code(metadata.type),
                               "', 'fortran_order': False, 'shape': (", shape, "), }");
    // Elements start at a multiple of 64 bytes.
    text.append(63 - (text.size() + 10) % 64, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xFF);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

class NpyWriter : public ImageWriter {
  public:
    NpyWriter(const std::string& path, const ImageMetadata& metadata, const CreateOptions& options)
        : metadata_(metadata),
          header_(npy_header(metadata)),
          output_(path, options.overwrite,
                  checked_add(metadata.bytes(), static_cast<index_t>(header_.size()))),
          offset_(static_cast<index_t>(header_.size())) {
        output_.write(0, header_.data(), offset_);
    }

    void write(index_t t, index_t c, const ConstImageView& source) override {
        progress_.accept(metadata_, t, c, source);
        for_each_plane(source, [&](index_t, const void* plane, index_t bytes) {
            output_.write(offset_, plane, bytes);
            offset_ += bytes;
        });
    }

    void commit() override {
        progress_.finish(metadata_);
        output_.commit();
    }

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
