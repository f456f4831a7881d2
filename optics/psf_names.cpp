// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>

#include "optics/option_names.hpp"

namespace convolume {

bool has_layers(PsfModel model) {
    return model == PsfModel::gibson_lanni || model == PsfModel::vectorial;
}

CONVOLUME_NAMES(PsfModel, parse_psf_model, parse_name, "PSF models are ", " and ")
CONVOLUME_NAMES(Modality, parse_modality, parse_name, "modalities are ", " and ")
CONVOLUME_TO_STRING(PsfParameter)

PsfParameter parse_psf_parameter(std::string_view text) {
    if (const auto parameter = value_named<PsfParameter>(text)) return *parameter;
    throw InvalidArgument(message("parameters to refine are na, index and depth, not \"", text,
                                  "\"; choose among these"));
}

namespace {

constexpr std::array<std::pair<std::string_view, double>, 5> mountants{{{"prolong", 1.47},
                                                                        {"prolong-glass", 1.52},
                                                                        {"vectashield", 1.45},
                                                                        {"glycerol", 1.47},
                                                                        {"water", 1.33}}};

}  // namespace

double sample_index_for(double ni) {
    // Living samples are recorded with water and silicone oil (1.40) as immersion.
    constexpr double water = 1.33, densest_of_living = 1.42;
    return ni > densest_of_living ? ni : water;
}

double index_of_mountant(std::string_view name) {
    std::string known;
    for (const auto& [mountant, index] : mountants) {
        if (name == mountant) return index;
        known += message(known.empty() ? "" : ", ", mountant);
    }
    throw InvalidArgument(message("\"", name, "\" is no mounting medium that is known: give ",
                                  known, ", or its refractive index"));
}

}  // namespace convolume
