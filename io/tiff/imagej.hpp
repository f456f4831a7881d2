// SPDX-License-Identifier: Apache-2.0
#pragma once
// ImageJ's metadata in a TIFF: lines such as "images=61" in the ImageDescription, and private tags.

#include <mutex>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/image_view.hpp"
#include "io/tiff/dialects.hpp"

namespace convolume::io {

/// Range of values that ImageJ shows from black to white.
struct DisplayRange {
    double least = 0;
    double most = 0;
};

/// Collects the range of values of each channel. Several threads may use it at once.
class ChannelRanges {
  public:
    explicit ChannelRanges(index_t channels);

    /// Extends the range of `channel` by samples of real types. NaN and infinities are ignored.
    void add(index_t channel, const ConstImageView& samples);
    /// Returns the range of each channel, {0, 0} for channels without a finite sample.
    std::vector<DisplayRange> all() const;

  private:
    std::mutex mutex_;
    std::vector<DisplayRange> ranges_;
};

/// Tells whether a description was written by ImageJ or ImageJ2.
bool is_imagej_description(const std::string& description);
/// Tells whether a description was written by ImageJ2, whose library is SCIFIO.
bool is_scifio_description(const std::string& description);

/// Returns the stack of planes: frames, slices and channels (fastest, unless `order` differs), or
/// the axes of ImageJ2. Sets the stack's `ambiguity` if one of those is none of T, C, Z.
TiffStack imagej_stack(const std::string& description);

/// Sets unit, voxel sizes, frame interval and the scaling of values from a description.
/// `pixels_per_unit` are the resolutions along y and x, 0 if the tags are missing.
void read_imagej_calibration(const std::string& description,
                             const std::array<double, 2>& pixels_per_unit, ImageMetadata& metadata);

/// Returns the description of a file with `metadata`, whose planes are stored with channels
/// fastest. Keys of the source's description are kept, except for shape and calibration. `range` is
/// the display range of the first channel; the text has the same length for all ranges.
std::string imagej_description(const ImageMetadata& metadata, const DisplayRange& range);

/// The unit of length in a description: that of the source, or "um".
struct ImagejUnit {
    std::string name;
    double micrometers = 1;  ///< µm in one unit
};
ImagejUnit imagej_unit(const ImageMetadata& metadata);

/// Reverses the byte order of `data`, the content of tag 50839. `counts` is the content of tag
/// 50838. Clears `data` if they contradict each other.
void swap_imagej_metadata(std::vector<std::uint8_t>& data,
                          const std::vector<std::uint32_t>& counts);

/// Returns the color 0xRRGGBB at the bright end of each channel's lookup table in tag 50839, if
/// any.
std::vector<std::uint32_t> imagej_colors(const ImageMetadata& metadata);

/// Sets the names of channels from labels of planes, if all planes of a channel have one label.
void read_imagej_channel_names(const TiffStack& stack, ImageMetadata& metadata);

/// Completes tags 50838 and 50839 of an image to be written, with space for display ranges. If
/// there are none, adds labels from the names of channels, and lookup tables from their colors.
void complete_imagej_metadata(ImageMetadata& metadata);
/// Sets the display range of each channel in tag 50839.
void set_imagej_ranges(ImageMetadata& metadata, const std::vector<DisplayRange>& ranges);

}  // namespace convolume::io
