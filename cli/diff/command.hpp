// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume diff`: its request, and its run.

#include <optional>
#include <string>
#include <vector>

#include "cli/files/selected_image.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"

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

/// Reads two images box by box and adds up the measures of each channel. Throws ErrorTooLarge if a
/// channel does not meet the limits of the request.
void run_diff(const DiffRequest& request);

}  // namespace convolume::cli
