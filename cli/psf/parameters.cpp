// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/parameters.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/run/errors.hpp"
#include "convolume/error.hpp"
#include "operations/optics/image_optics.hpp"
#include "operations/optics/psf_layers.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> required_keys{"na", "wavelength_um", "voxel_um"};

// Reads the keys of an object one by one. Keys that are left at the end are unknown.
class KeyReader {
  public:
    KeyReader(Json object, const std::string& source)
        : object_(std::move(object)), source_(source) {}

    /// Returns the value of a key, if it exists.
    template <class Field>
    std::optional<typename Field::Value> value_of(const Field& field) {
        using Value = typename Field::Value;
        const char* const key = field.text.name;
        const auto found = extract(key);
        if (!found) return {};
        if constexpr (Named<Value>) {
            if (!found->is_string()) refuse(key, "a string");
            return field.parse(found->template get<std::string>());
        } else if constexpr (std::is_same_v<Value, bool>) {
            if (!found->is_boolean()) refuse(key, "true or false");
            return found->template get<bool>();
        } else if constexpr (std::is_same_v<Value, int>) {
            return static_cast<int>(whole_number_of(key, *found, index_t{1} << 30));
        } else if constexpr (std::is_same_v<Value, VoxelSize> || std::is_same_v<Value, Shape3>) {
            if (!found->is_array() || found->size() != 3)
                refuse(key, "an array of three numbers, for z, y and x");
            if constexpr (std::is_same_v<Value, VoxelSize>)
                return Value{number_of(key, (*found)[0]), number_of(key, (*found)[1]),
                             number_of(key, (*found)[2])};
            else
                return Value{whole_number_of(key, (*found)[0], index_t{1} << 40),
                             whole_number_of(key, (*found)[1], index_t{1} << 40),
                             whole_number_of(key, (*found)[2], index_t{1} << 40)};
        } else {
            return number_of(key, *found);
        }
    }
    void check_all_read() const {
        if (!object_.empty())
            throw BadData(message(source_, " has \"", object_.begin().key(),
                                  "\", which is not a parameter of a PSF; remove or correct it"));
    }

  private:
    std::optional<Json> extract(const char* key) {
        const auto found = object_.find(key);
        if (found == object_.end()) return {};
        Json value = *found;
        object_.erase(key);
        return value;
    }
    double number_of(const char* key, const Json& value) const {
        if (!value.is_number()) refuse(key, "a number");
        return value.get<double>();
    }
    index_t whole_number_of(const char* key, const Json& value, index_t most) const {
        const double number = number_of(key, value);
        if (number != std::floor(number) || std::abs(number) > static_cast<double>(most))
            refuse(key, "a whole number");
        return static_cast<index_t>(number);
    }
    [[noreturn]] void refuse(const char* key, const char* wanted) const {
        throw BadData(message("\"", key, "\" of ", source_, " is not ", wanted, "; correct it"));
    }

    Json object_;
    const std::string& source_;
};

}  // namespace

Json psf_parameters(const PsfOptions& options) {
    Json json;
    for_each_option<PsfOptions>([&](const auto& field) {
        const std::string_view key = field.text.name;
        if (key == "threads" || (is_layer(key) && !has_layers(options.model))) return;
        if (key.starts_with("scan_") && !options.scan_angle_deg) return;
        if (key == "wavelength_um" && options.modality == Modality::two_photon) return;
        const auto value = field.get(options);
        if constexpr (detail::is_optional<std::remove_cvref_t<decltype(value)>>)
            if (!value) return;
        json[std::string(key)] = option_json(value);
    });
    return json;
}

bool needs_parameter(const Json& parameters, std::string_view key) {
    const auto modality = parameters.find("modality");
    return key != "wavelength_um" || modality == parameters.end() || !modality->is_string() ||
           needs_wavelength(modality->get<std::string>());
}

PsfOptions psf_options_of(Json parameters, const std::string& source) {
    for (const char* key : required_keys)
        if (!parameters.contains(key) && needs_parameter(parameters, key))
            throw BadData(message(source, " has no \"", key, "\", which every PSF needs; add it"));
    PsfOptions options;
    std::vector<std::string> given;
    KeyReader reader(std::move(parameters), source);
    for_each_option<PsfOptions>([&](const auto& field) {
        const std::string_view key = field.text.name;
        if (key == "threads") return;
        const auto value = reader.value_of(field);
        if (!value) return;
        field.set(options, *value);
        given.emplace_back(key);
    });
    complete_objective(options, given);
    reader.check_all_read();
    return options;
}

void refuse_unused_layers(const PsfOptions& options, const Json& typed) {
    std::vector<std::string> given;
    for (const auto& [key, value] : typed.items()) given.push_back(key);
    refuse_unused_layers(options.model, given);
}

Json read_psf_parameters(const std::string& file) {
    std::ifstream in(file);
    if (!in)
        throw InputNotFound(message("cannot open \"", file, "\" (", std::strerror(errno),
                                    "); name the JSON file written beside a PSF"));
    // Side files have a sixtieth of this length. Time for an object grows with its squared length.
    std::string text(1 << 16, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    // Unlimited nesting would exhaust the stack when values are copied.
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < 8; };
    const Json json = Json::parse(text, shallow, false);
    if (!json.is_object() || !json.contains("psf") || !json["psf"].is_object())
        throw BadData(message("\"", file,
                              "\" is not a JSON object with the parameters of a PSF under \"psf\"; "
                              "name the file written beside one"));
    return json["psf"];
}

Json to_json(const PsfFacts& facts) {
    return {{"fwhm_lateral_um", facts.fwhm_lateral_um},
            {"fwhm_axial_um", facts.fwhm_axial_um},
            {"rayleigh_lateral_um", facts.rayleigh_lateral_um},
            {"rayleigh_axial_um", facts.rayleigh_axial_um},
            {"nyquist_lateral_um", facts.nyquist_lateral_um},
            {"nyquist_axial_um", facts.nyquist_axial_um},
            {"paraxial_focus_um", facts.paraxial_focus_um},
            {"brightest_focus_um", facts.brightest_focus_um},
            {"effective_na", facts.effective_na},
            {"total_reflection", facts.total_reflection},
            {"pinhole_um", facts.pinhole_um}};
}

Json psf_voxel_for(const io::ImageMetadata& image, const std::string& path, const char* cure) {
    const std::optional<VoxelSize> voxel = convolume::psf_voxel_for(image);
    if (!voxel)
        throw InvalidArgument(message("the image \"", path,
                                      "\" does not say its voxel size, which a PSF needs; ", cure));
    return option_json(*voxel);
}

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
