// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "convolume/beads.hpp"
#include "convolume/error.hpp"
#include "convolume/psf.hpp"

namespace convolume {

namespace {

constexpr std::array<std::pair<PsfModel, const char*>, 4> models{
    {{PsfModel::gaussian, "gaussian"},
     {PsfModel::born_wolf, "born-wolf"},
     {PsfModel::gibson_lanni, "gibson-lanni"},
     {PsfModel::vectorial, "vectorial"}}};

constexpr std::array<std::pair<Modality, const char*>, 5> modalities{
    {{Modality::widefield, "widefield"},
     {Modality::confocal, "confocal"},
     {Modality::light_sheet, "light-sheet"},
     {Modality::two_photon, "two-photon"},
     {Modality::spinning_disc, "spinning-disc"}}};

constexpr std::array<std::pair<PsfParameter, const char*>, 3> parameters{
    {{PsfParameter::na, "na"}, {PsfParameter::index, "index"}, {PsfParameter::depth, "depth"}}};

}  // namespace

bool has_layers(PsfModel model) {
    return model == PsfModel::gibson_lanni || model == PsfModel::vectorial;
}

const char* to_string(PsfModel model) {
    for (const auto& [value, name] : models)
        if (value == model) return name;
    throw InternalError("a PSF model outside its enumeration");
}

const char* to_string(Modality modality) {
    for (const auto& [value, name] : modalities)
        if (value == modality) return name;
    throw InternalError("a modality outside its enumeration");
}

const char* to_string(PsfParameter parameter) {
    for (const auto& [value, name] : parameters)
        if (value == parameter) return name;
    throw InternalError("a PSF parameter outside its enumeration");
}

PsfModel parse_psf_model(std::string_view text) {
    for (const auto& [value, name] : models)
        if (text == name) return value;
    throw InvalidArgument(
        message("PSF models are gaussian, born-wolf, gibson-lanni and vectorial, "
                "not \"",
                text, "\"; choose one of these"));
}

Modality parse_modality(std::string_view text) {
    for (const auto& [value, name] : modalities)
        if (text == name) return value;
    throw InvalidArgument(
        message("modalities are widefield, confocal, light-sheet, two-photon and spinning-disc, "
                "not \"",
                text, "\"; choose one of these"));
}

PsfParameter parse_psf_parameter(std::string_view text) {
    for (const auto& [value, name] : parameters)
        if (text == name) return value;
    throw InvalidArgument(message("parameters to refine are na, index and depth, not \"", text,
                                  "\"; choose among these"));
}

}  // namespace convolume
