// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of an image file: some channels, some times, a box. Options also give axes and voxel sizes
// that the file does not have.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/image_view.hpp"
#include "operations/channels/channel_names.hpp"

namespace convolume::cli {

/// The options for a part of an image, as typed. Empty ones mean all, or what the file says.
struct ImageSelection {
    std::string axes;                      ///< "TYX"
    std::string image;                     ///< "1" or "Position 2"
    std::string channels;                  ///< "0,2"
    std::string frames;                    ///< "3" or "0:10"
    std::string crop;                      ///< "z0:z1,y0:y1,x0:x1", "0:32,:,:"
    std::string voxel;                     ///< "200,65,65nm"
    std::string stack;                     ///< "z"
    std::vector<std::string> stack_files;  ///< files of the stack, if several are named

    io::OpenOptions open_options() const {
        return {.axes = axes, .image = image, .stack = stack, .stack_files = stack_files};
    }
};

/// Adds --axes, --image, --channel, --frame, --crop, --voxel and --stack.
void add_selection_options(CLI::App& app, ImageSelection& selection);

/// Adds --stack, for subcommands without the other options.
void add_stack_option(CLI::App& app, std::string& stack);

/// A part of an image file, with the metadata of the part. A note warns of an unlikely voxel size.
class SelectedImage : public io::ImageReader {
  public:
    /// Selects a part of `whole`. Throws InvalidArgument if `whole` does not have it.
    SelectedImage(std::unique_ptr<io::ImageReader> whole, const ImageSelection& selection);

    const io::ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    void check_unchanged() const override { whole_->check_unchanged(); }

    /// Returns the channels of the part: their numbers in the file, and their names.
    ChannelNames channel_names() const { return {channels_, metadata_.channel_names}; }

    /// Returns the place in the file of a place in the part.
    NonfiniteSample::Location place_in_file(const NonfiniteSample::Location& place) const;

  private:
    void choose_channels(const std::string& text);
    void choose_frames(const std::string& text);
    void crop(const std::string& text);
    /// Removes descriptions whose labels and regions are for the whole image. Writers make new ones
    /// from the metadata of the part.
    void drop_descriptions();

    std::unique_ptr<io::ImageReader> whole_;
    io::ImageMetadata metadata_;
    std::vector<index_t> channels_;  ///< number in the file of each channel
    index_t first_frame_ = 0;
    Index3 origin_{0, 0, 0};
};

/// Opens a part of an image file. Throws as io::open_image() and as the constructor above.
std::unique_ptr<SelectedImage> open_selected(const std::string& path,
                                             const ImageSelection& selection);

/// Calls `run`, which works on `image`. If it throws NonfiniteSample, the error gets the place of
/// the sample in the file.
template <class Run>
auto with_places_in_file(const SelectedImage& image, const Run& run) {
    try {
        return run();
    } catch (const NonfiniteSample& error) {
        throw error.at(image.place_in_file(error.place()));
    }
}

}  // namespace convolume::cli
