// SPDX-License-Identifier: Apache-2.0
// What `convolume convolve` reports: sentences for people, JSON for programs.

#include "cli/convolve/command.hpp"
#include "cli/files/image_output.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/text/format.hpp"

namespace convolume::cli {

namespace {

const char* normalization_words(KernelNormalization normalization) {
    switch (normalization) {
        case KernelNormalization::sum:
            return "normalized to sum 1";
        case KernelNormalization::peak:
            return "normalized to peak 1";
        case KernelNormalization::none:
            break;
    }
    return "not normalized";
}

}  // namespace

void ConvolveSteps::report_plan(const Console& console) const {
    const Plan plan = convolver_->plan();
    console.fact("image", message(request_.image, ": ", one_line(input_)));
    report_kernel(console, kernel_,
                  message(", sum ", format_number(convolver_->kernel_sum(), 9), ", ",
                          normalization_words(request_.options.normalization)));
    warn_of_scaled_input(console, request_.image, input_);
    warn_of_scaled_input(console, request_.kernel, kernel_.metadata);
    cli::report_plan(console, request_.run, plan.to_string() + "\n", plan_line(plan));
}

void ConvolveSteps::report_result(const Console& console, const RunTimes& times) const {
    warn_of_clamped_values(console, executed_, output_.type);
    if (executed_.nonfinite_inputs > 0)
        console.warning(message(executed_.nonfinite_inputs,
                                " NaN or infinite values of the image were read as 0"));
    report_times(console, times);
    report_output(console, request_.output, output_);
}

void ConvolveSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    json["input"] = to_json(request_.image, input_);
    json["kernel"] = to_json(kernel_);
    json["kernel"]["sum"] = convolver_->kernel_sum();
    json["kernel"]["normalize"] = to_string(request_.options.normalization);
    json["plan"] = nlohmann::ordered_json::parse(convolver_->plan().to_json());
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = output_json(request_.output, output_);
}

}  // namespace convolume::cli
