// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that describe a microscope. Each sets a key of `typed`, as parameters.hpp names them.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace convolume::cli {

/// Options of these names in the table of PsfOptions. Each sets the key of its name.
void add_parameters(CLI::App& app, const char* group, nlohmann::ordered_json& typed,
                    std::initializer_list<std::string_view> names);

/// Model, modality, NA, and what the modality needs beside the wavelength of emission.
void add_microscope_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed);

/// Indices and thicknesses from the immersion medium to the source.
void add_layer_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed);

}  // namespace convolume::cli
