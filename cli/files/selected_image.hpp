// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of an image file: some channels, some times, a box; and what the file does not say.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/image_view.hpp"

namespace convolume::cli {

/// As typed; empty: all, or what the file says.
struct ImageSelection {
    std::string axes;      ///< "TYX"
    std::string image;     ///< "1" or "Position 2"
    std::string channels;  ///< "0,2"
    std::string frames;    ///< "3" or "0:10"
    std::string crop;      ///< "z0:z1,y0:y1,x0:x1", "0:32,:,:"
    std::string voxel;     ///< "200,65,65nm"
};

/// --axes, --image, --channel, --frame, --crop and --voxel.
void add_selection_options(CLI::App& app, const char* group, ImageSelection& selection);

/// A part of an image file. Its metadata are those of the part; a voxel size that is hardly meant
/// is one of their notes.
class SelectedImage : public io::ImageReader {
  public:
    /// Throws InvalidArgument where `whole` has no such part.
    SelectedImage(std::unique_ptr<io::ImageReader> whole, const ImageSelection& selection);

    const io::ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override;
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    void check_unchanged() const override { whole_->check_unchanged(); }

    /// Returns the place in the file of a place in the part.
    NonfiniteSample::Place place_in_file(const NonfiniteSample::Place& place) const;

  private:
    void choose_channels(const std::string& text);
    void choose_frames(const std::string& text);
    void crop(const std::string& text);
    /// Labels and regions of the whole image do not fit a part of it. What the metadata say of the
    /// part is written anew.
    void forget_descriptions();

    std::unique_ptr<io::ImageReader> whole_;
    io::ImageMetadata metadata_;
    std::vector<index_t> channels_;  ///< numbers in the file
    index_t first_frame_ = 0;
    Index3 origin_{0, 0, 0};
};

/// Opens what is selected of an image file. Throws as io::open_image(), and InvalidArgument where
/// the file has no such part.
std::unique_ptr<SelectedImage> open_selected(const std::string& path,
                                             const ImageSelection& selection);

/// Calls `run`, which works on `image`: what it throws of samples names their place in the file.
template <class Run>
auto with_places_of_file(const SelectedImage& image, const Run& run) {
    try {
        return run();
    } catch (const NonfiniteSample& error) {
        throw error.at(image.place_in_file(error.place()));
    }
}

/// Numbers in the file, from 0, of the `channels` channels that are selected of it.
std::vector<index_t> selected_channels(const ImageSelection& selection, index_t channels);

}  // namespace convolume::cli
