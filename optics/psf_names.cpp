// SPDX-License-Identifier: Apache-2.0
#include "core/option_names.hpp"

namespace convolume {

bool has_layers(PsfModel model) {
    return model == PsfModel::gibson_lanni || model == PsfModel::vectorial;
}

const char* to_string(PsfModel model) {
    return name_of(model);
}

const char* to_string(Modality modality) {
    return name_of(modality);
}

const char* to_string(PsfParameter parameter) {
    return name_of(parameter);
}

PsfModel parse_psf_model(std::string_view text) {
    return parse_name<PsfModel>(text, "PSF models are ", " and ");
}

Modality parse_modality(std::string_view text) {
    return parse_name<Modality>(text, "modalities are ", " and ");
}

PsfParameter parse_psf_parameter(std::string_view text) {
    if (const auto parameter = value_named<PsfParameter>(text)) return *parameter;
    throw InvalidArgument(message("parameters to refine are na, index and depth, not \"", text,
                                  "\"; choose among these"));
}

}  // namespace convolume
