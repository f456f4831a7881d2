// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes that may be missing, or of any type: what cannot be understood counts as missing.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/handle.hpp"

namespace convolume::io {

/// A text, of fixed or variable length; arrays of single characters (Imaris) are joined.
std::optional<std::string> text_attribute(hid_t object, const std::string& name);
/// The same without carried_answer(), for use within one.
std::optional<std::string> direct_text_attribute(hid_t object, const std::string& name);
/// An array of texts of variable length, at most 64Ki; empty when missing.
std::vector<std::string> text_list_attribute(hid_t object, const std::string& name);
/// Up to 64 numbers; empty when missing.
std::vector<double> number_attribute(hid_t object, const std::string& name);
/// All attributes of `object` that are texts.
std::map<std::string, std::string> text_attributes(hid_t object);

/// The decimal of up to 9 digits that differs from `value` by that part at most, else `value`: 0.1
/// for 0.09999999999999999.
double near_decimal(double value, double relative_difference);

/// Throw IoError.
void write_text_attribute(hid_t object, const std::string& name, const std::string& value);
void write_text_list_attribute(hid_t object, const std::string& name,
                               const std::vector<std::string>& values);
void write_number_attribute(hid_t object, const std::string& name, hid_t type,
                            const std::vector<double>& values);

}  // namespace convolume::io
