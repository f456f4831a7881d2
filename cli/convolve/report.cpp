// SPDX-License-Identifier: Apache-2.0
// What `convolume convolve` reports: sentences for people, JSON for programs.

#include "cli/convolve/command.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

const char* normalization_words(KernelNormalization normalization) {
    if (normalization == KernelNormalization::none) return "not normalized";
    return normalization == KernelNormalization::sum ? "normalized to sum 1"
                                                     : "normalized to peak 1";
}

}  // namespace

void ConvolveSteps::report_plan(const Console& console) const {
    console.fact("image", message(request_.image, ": ", one_line(input_)));
    warn_of_input(console, request_.image, input_);
    kernels_.report_each(console, [&](const Kernels::Ready& kernel) {
        const Plan plan = kernel.solver->plan();
        report_kernel(console, kernel.file,
                      message(", sum ", format_number(kernel.solver->kernel_sum(), 9), ", ",
                              normalization_words(request_.options.normalization)));
        warn_of_input(console, kernel.file.path, kernel.file.metadata);
        cli::report_plan(console, request_.run, plan.to_string() + "\n", plan_line(plan));
    });
}

void ConvolveSteps::report_result(const Console& console, const RunTimes& times) const {
    warn_of_clamped_values(console, executed_, output_.type);
    if (request_.options.nan != NanPolicy::propagate)
        warn_of_nonfinite_result(console, nonfinite_, output_.type);
    if (executed_.nonfinite_inputs > 0)
        console.warning(message(executed_.nonfinite_inputs,
                                " NaN or infinite values of the image were read as 0"));
    report_times(console, times);
    report_output(console, request_.output, output_, request_.create.compression);
}

void ConvolveSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    json["input"] = to_json(request_.image, input_);
    json["kernel"] = kernels_.json_of_each([&](const Kernels::Ready& kernel) {
        nlohmann::ordered_json one = to_json(kernel.file);
        one["sum"] = kernel.solver->kernel_sum();
        one["normalize"] = to_string(request_.options.normalization);
        kernels_.add_channels(one, kernel);
        return one;
    });
    json["plan"] = kernels_.json_of_each([](const Kernels::Ready& kernel) {
        return nlohmann::ordered_json::parse(kernel.solver->plan().to_json());
    });
    if (times != nullptr) {
        json["report"] = report_json(executed_, *times);
        json["report"]["nonfinite_outputs"] = nonfinite_;
    }
    json["output"] = output_json(request_.output, output_);
}

}  // namespace convolume::cli
