// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume convert`: its request, and its run, which reads, converts and writes an image box by
// box.

#include <string>
#include <vector>

#include "cli/files/result_output.hpp"
#include "cli/images/image_steps.hpp"

namespace convolume::cli {

struct ConvertRequest : ImageFiles {
    std::vector<std::string> channel_names;  ///< empty: those of the image
    std::string output_type;                 ///< name of a type, "same", or empty for the default
    bool scale_output = false;
};

class ConvertSteps : public ImageSteps {
  public:
    explicit ConvertSteps(const ConvertRequest& request) : ImageSteps(request), request_(request) {
        allows_nonfinite_ = true;  // the image may hold them
    }

    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;
    void tell_result(const Facts& facts) const override;

  private:
    /// Returns true if values are written instead of the stored samples.
    bool applies_scaling() const;
    /// Converts a box of the image to the type of `output`, and counts clamped values.
    void convert(const ConstImageView& input, const ImageView& output);

    const ConvertRequest& request_;
    ResultStorage storage_;
    Volume values_;  ///< values of a box, if scaling is applied
};

}  // namespace convolume::cli
