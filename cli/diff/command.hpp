// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume diff`: its request, and its run, which reads two images box by box and adds up the
// measures of each channel.

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/diff/difference.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/files/volumes.hpp"
#include "cli/picture/projection.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

/// Difference between black and white, to which PSNR and SSIM relate: of the values of the first
/// image, of its pixel type, or a number.
struct RangeRule {
    enum class Kind { image, type, number };
    Kind kind = Kind::image;
    double number = 0;
};

struct DiffRequest {
    std::string first;
    std::string second;
    ImageSelection selection;  ///< part of both images
    RangeRule range;
    std::string picture;  ///< PNG file; may be empty
    bool overwrite = false;
    std::optional<double> least_psnr;  ///< in dB
    std::optional<double> tolerance;   ///< largest difference that is allowed
    RunOptions run;

    RunFiles files() const {
        RunFiles files{{run.timeline, picture}, {}, overwrite};
        for (const std::string& image : {first, second})
            for (std::string& file : io::image_files(image, selection.open_options()))
                files.inputs.push_back(std::move(file));
        return files;
    }
};

/// The difference of one channel at all times.
struct ChannelDifference {
    /// Range of the finite values of the first image, if it is needed.
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double range = 0;
    ImageDifference sums;
};

class DiffSteps : public RunSteps {
  public:
    explicit DiffSteps(const DiffRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

    /// Throws ErrorTooLarge if a channel does not meet the limits of the request.
    void check_limits() const;

  private:
    void check_match() const;
    /// Sets the range of each channel.
    void find_ranges(const ExecutionContext& context);
    void compare_images(const ExecutionContext& context);
    /// Adds the differences of a box, whose first image is in `samples`, to the picture.
    void draw(ImageView samples, const ConstImageView& second, index_t z_begin);
    std::string channel_text(index_t channel) const;
    std::string range_text(const ChannelDifference& channel) const;
    /// Returns a text such as "z,y,x 3,10,20, channel 1, time 0", in the numbers of the first file.
    std::string place_text(index_t channel) const;

    const DiffRequest& request_;
    std::unique_ptr<SelectedImage> first_, second_;
    io::ImageMetadata a_, b_;
    std::optional<ImageBoxes> boxes_;
    std::vector<ChannelDifference> channels_;
    std::optional<Projections> picture_;
};

}  // namespace convolume::cli
