// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a plane of an image as a gray PNG picture whose pixels are the values.

#include <string>

#include "cli/picture/projection.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// Returns true if the name ends in .png, in upper or lower case.
bool is_png(const std::string& path);

/// Throws InvalidArgument if `image` is not one plane, or is larger than PNG files can be.
void check_fits_png(const std::string& path, const io::ImageMetadata& image);

/// Writer that keeps the plane in memory until commit(). uint8 and uint16 are written unchanged. In
/// other types the least finite value becomes 0 and the largest 65535; NaN becomes 0.
class GrayPng : public io::ImageWriter {
  public:
    GrayPng(std::string path, const io::ImageMetadata& image);

    StackFormat format() const override;
    void write_box(index_t t, index_t c, const Box3& box, const ConstImageView& source) override;
    void commit() override;

    /// Returns, after commit(), a text with the values that are drawn black and white.
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
