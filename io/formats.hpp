// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers and writers behind open_image() and create_image(), and what they share.

#include <memory>
#include <string>

#include "convolume/image_file.hpp"

namespace convolume::io {

std::unique_ptr<ImageReader> open_tiff(const std::string& path, const OpenOptions& options);
std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options);
std::unique_ptr<ImageReader> open_npy(const std::string& path, const OpenOptions& options);

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata& metadata,
                                         const CreateOptions& options, bool ome);
std::unique_ptr<ImageWriter> create_hdf5(const PathSpec& spec, const ImageMetadata& metadata,
                                         const CreateOptions& options);
std::unique_ptr<ImageWriter> create_npy(const std::string& path, const ImageMetadata& metadata,
                                        const CreateOptions& options);

/// Throws InvalidArgument when the planes asked for do not exist or `target` cannot hold them.
void check_request(const ImageMetadata& metadata, index_t t, index_t c, index_t z_begin,
                   const ImageView& target);

/// Holds writers to "every plane once, in order".
class WriteProgress {
  public:
    void accept(const ImageMetadata& metadata, index_t t, index_t c, index_t z_begin,
                const ConstImageView& source);
    void finish(const ImageMetadata& metadata) const;

  private:
    index_t written_ = 0;  // planes
};

}  // namespace convolume::io
