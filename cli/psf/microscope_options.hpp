// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options that describe a microscope. Each sets a key of `typed`, as parameters.hpp names them.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace convolume::cli {

/// An option that sets `key` of the typed parameters to what `parse(option, text)` returns.
template <class Parser>
void add_parameter(CLI::App& app, const char* group, nlohmann::ordered_json& typed,
                   const char* option, const char* key, Parser parse, const char* choices,
                   const char* help) {
    app.add_option_function<std::string>(
           option,
           [&typed, option, key, parse](const std::string& text) {
               typed[key] = parse(option, text);
           },
           help)
        ->type_name(choices)
        ->group(group);
}

/// Model, modality, NA, and what the modality needs beside the wavelength of emission.
void add_microscope_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed);

/// Indices and thicknesses from the immersion medium to the source.
void add_layer_options(CLI::App& app, const char* group, nlohmann::ordered_json& typed);

}  // namespace convolume::cli
