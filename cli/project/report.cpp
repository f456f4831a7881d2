// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume project`: sentences for people, JSON for programs.

#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/picture/gray_png.hpp"
#include "cli/project/command.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

using nlohmann::ordered_json;

void ProjectSteps::report_plan(const Console& console) const {
    console.fact("image", message(request_.image, ": ", one_line(input_metadata_)));
    warn_of_input(console, request_.image, input_metadata_);
    console.fact("along", message(axis_name(request_.axis), ": ", to_string(request_.by)));
}

void ProjectSteps::report_result(const Console& console, const RunTimes& times) const {
    console.fact("time", format_duration(times.total_s));
    report_output(console, request_.output, output_metadata_, request_.create.compression);
    if (const GrayPng* png = dynamic_cast<const GrayPng*>(writer_.get()))
        console.fact("gray", png->gray_text());
}

void ProjectSteps::fill_json(ordered_json& json, const RunTimes* times) const {
    json["image"] = to_json(request_.image, input_metadata_);
    json["axis"] = axis_name(request_.axis);
    json["by"] = to_string(request_.by);
    if (times != nullptr) {
        json["seconds"] = times->total_s;
        json["peak_buffer_bytes"] = memory_use().peak_bytes;
    }
    json["output"] = output_json(request_.output, output_metadata_);
}

}  // namespace convolume::cli
