// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plane of an image as a gray PNG picture whose pixels are the values.

#include <string>

#include "cli/picture/projection.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Whether the name ends in .png, in any case.
bool is_png(const std::string& path);

/// Throws InvalidArgument where `image` is not one plane, or larger than PNG files can be.
void check_fits_png(const std::string& path, const io::ImageMetadata& image);

/// Takes the plane in memory. uint8 and uint16 are written as they are. Of other types the least
/// finite value becomes 0 and the largest 65535; NaN becomes 0.
class GrayPng : public io::ImageWriter {
  public:
    GrayPng(std::string path, const io::ImageMetadata& image);

    StackFormat format() const override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;
    void commit() override;

    /// After commit(): the values that are drawn black and white.
    std::string gray_text() const;

  protected:
    const io::ImageMetadata& metadata() const override { return metadata_; }

  private:
    std::string path_;
    io::ImageMetadata metadata_;
    Volume plane_;
    GrayLimits limits_{0, 0};
};

}  // namespace convolume::cli
