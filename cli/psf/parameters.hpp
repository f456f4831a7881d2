// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a PSF under their names in side files, units included. Typed options, files and
// results are objects with the same keys. The microscope that an image records gives them as well.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"
#include "operations/optics/image_optics.hpp"
#include "optics/option_table.hpp"

namespace convolume::cli {

/// The microscope of an image.
struct ImageOptics {
    /// Parameters of the microscope, with the keys of this file.
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    std::string text;     ///< RecordedOptics::text
    std::string assumed;  ///< RecordedOptics::assumed
    std::vector<std::string> warnings;
    /// Returns "NA 1.4, from SOURCE; ni 1.515 assumed (…)"; empty without parameters.
    std::string line(const std::string& source) const;
};

/// Returns recorded_optics() for parameters with the keys of this file.
ImageOptics optics_of(const io::ImageMetadata& image, index_t channel,
                      const nlohmann::ordered_json& typed,
                      const nlohmann::ordered_json& others = nlohmann::ordered_json::object());

/// Returns the value of an option as JSON.
template <class Value>
nlohmann::ordered_json option_json(const Value& value) {
    if constexpr (Named<Value>)
        return name_of(value);
    else if constexpr (detail::is_optional<Value>)
        return option_json(*value);
    else if constexpr (std::is_same_v<Value, VoxelSize>)
        return {value.z_um, value.y_um, value.x_um};
    else if constexpr (std::is_same_v<Value, Shape3>)
        return {value.z, value.y, value.x};
    else
        return value;
}

/// Returns all of PsfOptions but threads and parameters that model and modality do not use.
nlohmann::ordered_json psf_parameters(const PsfOptions& options);

/// Returns true if the PSF depends on `key`. Two-photon PSFs need no wavelength of emission.
bool needs_parameter(const nlohmann::ordered_json& parameters, std::string_view key);

/// Returns the options in `parameters`. Missing options have the defaults of PsfOptions; missing
/// design values equal the actual ones. Throws BadData that names `source` and the key, for unknown
/// or missing keys and wrong types.
PsfOptions psf_options_of(nlohmann::ordered_json parameters, const std::string& source);

/// Returns the "psf" object of a side file. Throws InputNotFound or BadData.
nlohmann::ordered_json read_psf_parameters(const std::string& file);

/// Throws InvalidArgument that names the option if parameters of layers are typed for a model
/// without layers. Such parameters in a file are ignored.
void refuse_unused_layers(const PsfOptions& options, const nlohmann::ordered_json& typed);

nlohmann::ordered_json to_json(const PsfFacts& facts);

/// Returns the "voxel_um" of a PSF for `image`. If it is not known, throws InvalidArgument that
/// names `path`; its message ends with `cure`.
nlohmann::ordered_json psf_voxel_for(const io::ImageMetadata& image, const std::string& path,
                                     const char* cure);

}  // namespace convolume::cli
