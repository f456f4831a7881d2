// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/image_optics.hpp"

#include "cli/run/errors.hpp"
#include "convolume/error.hpp"
#include "operations/optics/image_optics.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the parameters of an object. Values of wrong types, which are refused later, are left
/// out.
MicroscopeParameters microscope_of(const Json& json) {
    MicroscopeParameters parameters;
    for (const auto& [name, number] : microscope_numbers)
        if (const auto found = json.find(name); found != json.end() && found->is_number())
            parameters.*number = found->get<double>();
    if (const auto found = json.find("modality"); found != json.end() && found->is_string())
        parameters.modality = parse_modality(found->get<std::string>());
    return parameters;
}

}  // namespace

std::string ImageOptics::line(const std::string& source) const {
    if (text.empty()) return {};
    return message(text, ", from ", source, assumed.empty() ? "" : "; ", assumed);
}

ImageOptics optics_of(const io::ImageMetadata& image, index_t channel, const Json& typed,
                      const Json& others) {
    const RecordedOptics recorded =
        recorded_optics(image, channel, microscope_of(typed), microscope_of(others));
    ImageOptics optics{Json::object(), recorded.text, recorded.assumed, {}};
    for (const auto& [name, number] : microscope_numbers)
        if (recorded.parameters.*number) optics.parameters[name] = *(recorded.parameters.*number);
    if (recorded.parameters.modality)
        optics.parameters["modality"] = to_string(*recorded.parameters.modality);
    for (const Sentence& warning : recorded.warnings)
        optics.warnings.push_back(in_words_of_command(warning));
    return optics;
}

}  // namespace convolume::cli
