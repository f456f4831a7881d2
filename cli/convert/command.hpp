// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume convert`: its request, and its run, which reads, converts and writes an image box by
// box.

#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/result_output.hpp"
#include "cli/files/selected_image.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"

namespace convolume::cli {

struct ConvertRequest {
    std::string image;
    std::string output;  ///< may be empty in a dry run
    ImageSelection selection;
    std::vector<std::string> channel_names;  ///< empty: those of the image
    std::string output_type;                 ///< name of a type, "same", or empty for the default
    bool scale_output = false;
    io::CreateOptions create{.software = software_name()};
    RunOptions run;

    RunFiles files() const {
        return {{run.timeline, output},
                io::image_files(image, selection.open_options()),
                create.overwrite};
    }
};

class ConvertSteps : public ImageSteps {
  public:
    explicit ConvertSteps(const ConvertRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    /// Returns true if values are written instead of the stored samples.
    bool applies_scaling() const;
    /// Converts a box of the image to the type of `output`, and counts clamped values.
    void convert(const ConstImageView& input, const ImageView& output);

    const ConvertRequest& request_;
    ResultStorage storage_;
    Volume values_;  ///< values of a box, if scaling is applied
    ExecutionReport executed_;
};

}  // namespace convolume::cli
