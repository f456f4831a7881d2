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

template <class Names, class Value>
const char* name_in(const Names& names, Value value) {
    for (const auto& [known, name] : names)
        if (known == value) return name;
    throw InternalError("an option of a PSF outside its enumeration");
}

template <class Names>
auto value_in(const Names& names, std::string_view text, const char* choices, const char* cure) {
    for (const auto& [value, name] : names)
        if (text == name) return value;
    throw InvalidArgument(message(choices, ", not \"", text, "\"; ", cure));
}

}  // namespace

bool has_layers(PsfModel model) {
    return model == PsfModel::gibson_lanni || model == PsfModel::vectorial;
}

const char* to_string(PsfModel model) {
    return name_in(models, model);
}

const char* to_string(Modality modality) {
    return name_in(modalities, modality);
}

const char* to_string(PsfParameter parameter) {
    return name_in(parameters, parameter);
}

PsfModel parse_psf_model(std::string_view text) {
    return value_in(models, text, "PSF models are gaussian, born-wolf, gibson-lanni and vectorial",
                    "choose one of these");
}

Modality parse_modality(std::string_view text) {
    return value_in(modalities, text,
                    "modalities are widefield, confocal, light-sheet, two-photon and spinning-disc",
                    "choose one of these");
}

PsfParameter parse_psf_parameter(std::string_view text) {
    return value_in(parameters, text, "parameters to refine are na, index and depth",
                    "choose among these");
}

}  // namespace convolume
