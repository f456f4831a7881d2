// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a PSF under the names they have in side files, units included. What is typed,
// what a file holds and what is written are objects of the same keys.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "convolume/image_file.hpp"
#include "convolume/psf.hpp"
#include "core/option_tables.hpp"

namespace convolume::cli {

/// A value of an option.
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

/// All of PsfOptions but threads. Parameters that the model and modality do not use are left out.
nlohmann::ordered_json psf_parameters(const PsfOptions& options);

/// Whether the PSF depends on `key`: a two-photon PSF does not on the wavelength of emission.
bool needs(const nlohmann::ordered_json& parameters, std::string_view key);

/// The options in `parameters`. Missing ones have the defaults of PsfOptions; design values that
/// are missing equal the actual ones. Throws BadData that names `source` and the key for unknown
/// keys, missing ones and wrong types.
PsfOptions psf_options_of(nlohmann::ordered_json parameters, const std::string& source);

/// The "psf" object of a side file. Throws InputNotFound or BadData.
nlohmann::ordered_json read_psf_parameters(const std::string& file);

/// Layers in a file are ignored by models without layers; layers that are typed are a mistake.
/// Throws InvalidArgument that names the option.
void refuse_idle_layers(const PsfOptions& options, const nlohmann::ordered_json& typed);

nlohmann::ordered_json to_json(const PsfFacts& facts);

/// The "voxel_um" of a PSF for `image`. Of an image with one plane z may be unknown. `cure` ends
/// the message where others are. Throws InvalidArgument that names `path`.
nlohmann::ordered_json voxel_for(const io::ImageMetadata& image, const std::string& path,
                                 const char* cure);

/// psf_size_for_image() with the share that was typed. Else it is 0.5 for widefield PSFs, whose far
/// planes are wide, and 0.95 for others.
Shape3 size_for(const PsfOptions& options, const Shape3& image, std::optional<double> share,
                const ExecutionContext& context);

}  // namespace convolume::cli
