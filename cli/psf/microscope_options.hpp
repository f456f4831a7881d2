// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command-line options that describe a microscope. Each sets a key of `typed`, see parameters.hpp.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

namespace convolume::cli {

/// Adds the options of these names in the table of PsfOptions. Each sets the key of its name.
void add_parameters(CLI::App& app, nlohmann::ordered_json& typed,
                    std::initializer_list<std::string_view> names);

/// Adds model, modality, NA, and the parameters of all modalities but the wavelength of emission.
void add_microscope_options(CLI::App& app, nlohmann::ordered_json& typed);

/// Adds indices and thicknesses of the layers from the immersion medium to the source.
void add_layer_options(CLI::App& app, nlohmann::ordered_json& typed);

}  // namespace convolume::cli
