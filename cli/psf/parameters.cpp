// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/parameters.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "convolume/error.hpp"

namespace convolume::cli {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::array<const char*, 3> needed{"na", "wavelength_um", "voxel_um"};

// Takes keys out of an object one by one: what is left in the end is unknown.
class KeyReader {
  public:
    KeyReader(Json object, const std::string& source)
        : object_(std::move(object)), source_(source) {}

    void number(const char* key, double& value) {
        if (const auto found = take(key)) value = number_of(key, *found);
    }
    void number(const char* key, std::optional<double>& value) {
        if (const auto found = take(key)) value = number_of(key, *found);
    }
    void whole(const char* key, int& value) {
        if (const auto found = take(key))
            value = static_cast<int>(whole_of(key, *found, index_t{1} << 30));
    }
    template <class Parser, class T>
    void choice(const char* key, Parser parse, T& value) {
        const auto found = take(key);
        if (!found) return;
        if (!found->is_string()) refuse(key, "a string");
        value = parse(found->template get<std::string>());
    }
    void lengths(const char* key, VoxelSize& value) {
        const auto found = triple(key);
        if (!found) return;
        value = {number_of(key, (*found)[0]), number_of(key, (*found)[1]),
                 number_of(key, (*found)[2])};
    }
    void extents(const char* key, Shape3& value) {
        const auto found = triple(key);
        if (!found) return;
        for (int axis = 0; axis < 3; ++axis)
            value[axis] = whole_of(key, (*found)[static_cast<std::size_t>(axis)], index_t{1} << 40);
    }
    void finish() const {
        if (!object_.empty())
            throw BadData(message(source_, " has \"", object_.begin().key(),
                                  "\", which is not a parameter of a PSF; remove or correct it"));
    }

  private:
    std::optional<Json> take(const char* key) {
        const auto found = object_.find(key);
        if (found == object_.end()) return {};
        Json value = *found;
        object_.erase(key);
        return value;
    }
    std::optional<Json> triple(const char* key) {
        auto found = take(key);
        if (found && (!found->is_array() || found->size() != 3))
            refuse(key, "an array of three numbers, for z, y and x");
        return found;
    }
    double number_of(const char* key, const Json& value) const {
        if (!value.is_number()) refuse(key, "a number");
        return value.get<double>();
    }
    index_t whole_of(const char* key, const Json& value, index_t most) const {
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
    const Objective& lens = options.objective;
    Json json;
    json["model"] = to_string(options.model);
    json["modality"] = to_string(options.modality);
    json["na"] = lens.na;
    if (options.modality != Modality::two_photon) json["wavelength_um"] = options.wavelength_um;
    if (options.excitation_um) json["excitation_um"] = *options.excitation_um;
    if (options.pinhole_au) json["pinhole_au"] = *options.pinhole_au;
    if (options.sheet_fwhm_um) json["sheet_fwhm_um"] = *options.sheet_fwhm_um;
    if (options.disc_pinhole_um) json["disc_pinhole_um"] = *options.disc_pinhole_um;
    if (options.disc_spacing_um) json["disc_spacing_um"] = *options.disc_spacing_um;
    if (options.disc_magnification) json["disc_magnification"] = *options.disc_magnification;
    json["ni"] = lens.ni;
    if (has_layers(options.model)) {
        json["ni0"] = lens.ni0;
        json["ng"] = lens.ng;
        json["ng0"] = lens.ng0;
        json["ns"] = lens.ns;
        json["ti0_um"] = lens.ti0_um;
        json["tg_um"] = lens.tg_um;
        json["tg0_um"] = lens.tg0_um;
        json["depth_um"] = options.depth_um;
    }
    json["voxel_um"] = {options.voxel.z_um, options.voxel.y_um, options.voxel.x_um};
    json["size"] = {options.size.z, options.size.y, options.size.x};
    json["oversampling"] = options.oversampling;
    if (options.center_z_um) json["focus_um"] = *options.center_z_um;
    return json;
}

bool needs(const Json& parameters, std::string_view key) {
    return key != "wavelength_um" || parameters.value("modality", Json()) != "two-photon";
}

PsfOptions psf_options_of(Json parameters, const std::string& source) {
    for (const char* key : needed)
        if (!parameters.contains(key) && needs(parameters, key))
            throw BadData(message(source, " has no \"", key, "\", which every PSF needs; add it"));
    PsfOptions options;
    Objective& lens = options.objective;
    KeyReader read(std::move(parameters), source);
    read.choice("model", parse_psf_model, options.model);
    read.choice("modality", parse_modality, options.modality);
    read.number("na", lens.na);
    read.number("wavelength_um", options.wavelength_um);
    read.number("excitation_um", options.excitation_um);
    read.number("pinhole_au", options.pinhole_au);
    read.number("sheet_fwhm_um", options.sheet_fwhm_um);
    read.number("disc_pinhole_um", options.disc_pinhole_um);
    read.number("disc_spacing_um", options.disc_spacing_um);
    read.number("disc_magnification", options.disc_magnification);
    read.number("ni", lens.ni);
    lens.ni0 = lens.ni;
    read.number("ni0", lens.ni0);
    read.number("ng", lens.ng);
    lens.ng0 = lens.ng;
    read.number("ng0", lens.ng0);
    read.number("ns", lens.ns);
    read.number("ti0_um", lens.ti0_um);
    read.number("tg_um", lens.tg_um);
    lens.tg0_um = lens.tg_um;
    read.number("tg0_um", lens.tg0_um);
    read.number("depth_um", options.depth_um);
    read.lengths("voxel_um", options.voxel);
    read.extents("size", options.size);
    read.whole("oversampling", options.oversampling);
    read.number("focus_um", options.center_z_um);
    read.finish();
    return options;
}

void refuse_idle_layers(const PsfOptions& options, const Json& typed) {
    if (has_layers(options.model)) return;
    for (const auto& [key, option] : {std::pair{"ni0", "--ni0"},
                                      {"ng", "--ng"},
                                      {"ng0", "--ng0"},
                                      {"ns", "--ns"},
                                      {"ti0_um", "--ti0"},
                                      {"tg_um", "--tg"},
                                      {"tg0_um", "--tg0"},
                                      {"depth_um", "--depth"}})
        if (typed.contains(key))
            throw InvalidArgument(message(option,
                                          " does not apply to models without layers; leave "
                                          "it out, or choose --model gibson-lanni or "
                                          "vectorial"));
}

Json read_psf_parameters(const std::string& file) {
    std::ifstream in(file);
    if (!in)
        throw InputNotFound(message("cannot open \"", file, "\" (", std::strerror(errno),
                                    "); name the JSON file written beside a PSF"));
    // Side files have a sixtieth of that. Reading an object takes the square of its length.
    std::string text(1 << 16, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    // Brackets without end would exhaust the stack where values are copied.
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

nlohmann::ordered_json voxel_for(const io::ImageMetadata& image, const std::string& path,
                                 const char* cure) {
    const auto& [z, y, x] = image.voxel_size_um;
    if (!y || !x || (!z && image.shape.z > 1))
        throw InvalidArgument(message("the image \"", path,
                                      "\" does not say its voxel size, which a PSF needs; ", cure));
    // A single plane has no distance to others: a thin one takes the value at its middle.
    return {z.value_or(std::min(*y, *x)), *y, *x};
}

Shape3 size_for(const PsfOptions& options, const Shape3& image, std::optional<double> share,
                const ExecutionContext& context) {
    const double usual = options.modality == Modality::widefield ? 0.5 : 0.95;
    return psf_size_for_image(options, image, share.value_or(usual), context);
}

}  // namespace convolume::cli
