// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume phantom`: sentences for people, JSON for programs.

#include <vector>

#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/phantom/command.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

using nlohmann::ordered_json;

namespace {

void fill_phantom_json(ordered_json& json, const PhantomRequest& request, const Phantom& phantom) {
    const PhantomOptions& options = request.options;
    json["kind"] = to_string(options.kind);
    json["seed"] = options.seed;
    json["shape"] = shape_json(options.shape);
    json["voxel_size_um"] = {options.voxel.z_um, options.voxel.y_um, options.voxel.x_um};
    json["background"] = options.background;
    json["count"] = phantom.objects().size();
}

}  // namespace

void PhantomSteps::tell_plan(const Facts& facts) const {
    const Console& console = facts.console;
    fill_phantom_json(facts.json, request_, *phantom_);
    const std::size_t objects = phantom_->objects().size();
    console.fact("phantom", message(to_string(request_.options.kind), ", ", objects,
                                    objects == 1 ? " object, " : " objects, ",
                                    format_voxel_size(output_metadata_.voxel_size_um), ", seed ",
                                    request_.options.seed));
    if (!request_.voxel_warning.empty()) console.warning(request_.voxel_warning);
}

void PhantomSteps::tell_result(const Facts& facts) const {
    facts.json["clamped_high"] = clamped_;
    if (clamped_ > 0)
        facts.console.warning(message(clamped_, " values above the range of ",
                                      to_string(output_metadata_.type),
                                      " were clamped; lower --brightness or write float32"));
}

void PhantomSteps::tell_output(const Facts& facts) const {
    report_output(facts.console, request_.output, output_metadata_, request_.create.compression);
    facts.json["output"] = output_json(request_.output, output_metadata_);
}

/// Returns JSON with the options and one object a line. It is made as text, since a tree of
/// millions of objects would be large.
std::string PhantomSteps::objects_text() const {
    ordered_json facts = versioned_json();
    fill_phantom_json(facts, request_, *phantom_);
    std::string text = dump(facts);
    text.erase(text.find_last_not_of("}\n \t") + 1);
    text += ",\n  \"objects\": [";
    const char* separator = "\n    ";
    for (const PhantomObject& object : phantom_->objects()) {
        ordered_json center;
        for (std::size_t axis = 0; axis < 3; ++axis)
            center.push_back(object.center_um[axis] /
                             request_.options.voxel[static_cast<int>(axis)]);
        const ordered_json json{
            {"kind", to_string(object.kind)}, {"center_um", object.center_um},
            {"center_voxels", center},        {"radius_um", object.radius_um},
            {"length_um", object.length_um},  {"brightness", object.brightness}};
        text += separator + json.dump();
        separator = ",\n    ";
    }
    return text + "\n  ]\n}\n";
}

}  // namespace convolume::cli
