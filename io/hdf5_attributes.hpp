// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes that may be missing, or of any type: what cannot be understood counts as missing.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"

namespace convolume::io {

/// A text, of fixed or variable length; arrays of single characters (Imaris) are joined.
std::optional<std::string> text_attribute(hid_t object, const std::string& name);
/// Up to 64 numbers; empty when missing.
std::vector<double> number_attribute(hid_t object, const std::string& name);
/// All attributes of `object` that are texts.
std::map<std::string, std::string> text_attributes(hid_t object);

/// Throw IoError.
void write_text_attribute(hid_t object, const std::string& name, const std::string& value);
void write_number_attribute(hid_t object, const std::string& name, hid_t type,
                            const std::vector<double>& values);

/// The same of the object at `path`; missing where there is no such object.
std::optional<std::string> text_attribute_at(hid_t file, const std::string& path,
                                             const std::string& name);

}  // namespace convolume::io
