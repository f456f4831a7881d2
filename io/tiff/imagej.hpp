// SPDX-License-Identifier: Apache-2.0
#pragma once
// ImageJ's "ImageJ=1.53\nimages=61\n…" in the ImageDescription, and its private metadata tag.

#include <mutex>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/image_view.hpp"
#include "io/tiff/dialects.hpp"

namespace convolume::io {

struct ValueRange {
    double least = 0;
    double most = 0;
};

/// Collects the range of each channel. May be used by several threads.
class ChannelRanges {
  public:
    explicit ChannelRanges(index_t channels);

    /// Takes samples of real types into account; NaN and infinities are left out.
    void add(index_t channel, const ConstImageView& samples);
    /// Returns the ranges, {0, 0} for channels without a finite sample.
    std::vector<ValueRange> all() const;

  private:
    std::mutex mutex_;
    std::vector<ValueRange> ranges_;
};

/// Tells whether a description is of ImageJ or ImageJ2.
bool is_imagej_description(const std::string& description);
/// Tells whether a description is of ImageJ2.
bool is_scifio_description(const std::string& description);

/// Returns the planes as frames, slices and channels (channels fastest unless `order` says
/// otherwise), or as ImageJ2's axes name them. The stack is `ambiguity` if those are none of T, C,
/// Z.
TiffStack imagej_stack(const std::string& description);

/// Sets unit, voxel sizes, frame interval and the scaling of values. `pixels_per_unit` are y and x
/// of the resolution tags, 0 where they are missing.
void read_imagej_calibration(const std::string& description,
                             const std::array<double, 2>& pixels_per_unit, ImageMetadata& metadata);

/// Returns the description of a file that holds `metadata`'s planes with channels fastest. What the
/// source's description says beyond shape and calibration is carried over. `range` is what the
/// first channel is shown with; the text has one length for all ranges.
std::string imagej_description(const ImageMetadata& metadata, const ValueRange& range);

/// The word for lengths in that description, and µm in one of it: the file's own, or "um".
struct ImagejUnit {
    std::string name;
    double micrometers = 1;
};
ImagejUnit imagej_unit(const ImageMetadata& metadata);

/// Reverses the byte order of the content of tag 50839; `counts` is tag 50838. Leaves `data` empty
/// when they contradict each other.
void swap_imagej_metadata(std::vector<std::uint8_t>& data,
                          const std::vector<std::uint32_t>& counts);

/// Colors 0xRRGGBB at the bright end of the lookup tables in tag 50839, one for each channel; empty
/// where it has none.
std::vector<std::uint32_t> imagej_colors(const ImageMetadata& metadata);

/// Sets the channels' names from the labels of planes, if all planes of a channel have one label.
void read_imagej_channel_names(const TiffStack& stack, ImageMetadata& metadata);

/// Makes tags 50838 and 50839 of an image that is written: labels of planes from the channels'
/// names and lookup tables from their colors, where the source has none, and room for the display
/// ranges of several channels.
void complete_imagej_metadata(ImageMetadata& metadata);
/// Sets these display ranges, one for each channel.
void set_imagej_ranges(ImageMetadata& metadata, const std::vector<ValueRange>& of_channels);

}  // namespace convolume::io
