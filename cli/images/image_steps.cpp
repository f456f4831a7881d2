// SPDX-License-Identifier: Apache-2.0
#include "cli/images/image_steps.hpp"

#include "cli/picture/gray_png.hpp"
#include "cli/run/report.hpp"
#include "cli/text/quantity.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::cli {

void ImageSteps::open(const ExecutionContext&) {
    reader_ = open_selected(files_.image, files_.selection);
    input_metadata_ = reader_->metadata();
    output_metadata_ = input_metadata_;
    output_metadata_.images = 1;
    output_metadata_.scaling.reset();
}

WorkAmount ImageSteps::work() const {
    return {static_cast<double>(volumes()) *
            static_cast<double>(element_count(input_metadata_.shape))};
}

void ImageSteps::commit() {
    if (second_writer_) second_writer_->commit();
    writer_->commit();
}

void ImageSteps::tell_plan(const Facts& facts) const {
    facts.console.fact(label_, message(files_.image, ": ", one_line(input_metadata_)));
    if (handles_scaling_)
        facts.console.warnings(note_warnings(files_.image, input_metadata_));
    else
        facts.console.warnings(input_warnings(files_.image, input_metadata_));
    facts.json["input"] = to_json(files_.image, input_metadata_);
}

void ImageSteps::tell_result(const Facts& facts) const {
    if (!allows_nonfinite_)
        warn_of_nonfinite_result(facts.console, nonfinite_, output_metadata_.type);
    const ExecutionReport& done = executed();
    if (leaves_out_nonfinite_ && done.nonfinite_inputs > 0)
        facts.console.fact("left out",
                           message(done.nonfinite_inputs, " NaN or infinite values of the image"));
    facts.console.warnings(changed_samples_warnings(
        {done.clamped_low, done.clamped_high, to_string(output_metadata_.type), "--output-type",
         leaves_out_nonfinite_ ? 0 : done.nonfinite_inputs}));
    facts.json["report"]["nonfinite_outputs"] = nonfinite_;
}

void ImageSteps::tell_output(const Facts& facts) const {
    report_output(facts.console, files_.output, output_metadata_, files_.create.compression);
    facts.json["output"] = output_json(files_.output, output_metadata_);
    if (const auto* png = dynamic_cast<const GrayPng*>(writer_.get()))
        facts.console.fact("gray", png->gray_text());
}

}  // namespace convolume::cli
