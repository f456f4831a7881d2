// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes that may be missing, or of any type: what cannot be understood counts as missing.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/handle.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// A text, of fixed or variable length; arrays of single characters (Imaris) are joined.
std::optional<std::string> text_attribute(hid_t object, const std::string& name);
/// Up to 64 numbers; empty when missing.
std::vector<double> number_attribute(hid_t object, const std::string& name);
/// All attributes of `object` that are texts.
std::map<std::string, std::string> text_attributes(hid_t object);

/// Does `open`, which opens `file`, in a helper process first, if damage is to be contained, and
/// `close` there. HDF5 may read beyond its memory at the attributes of a damaged file: then `open`
/// is given here what the helper found, by the same calls of the functions above. The thread holds
/// Hdf5Lock.
void open_after_trial(const RawFile& file, const std::function<void()>& open,
                      const std::function<void()>& close);

/// Throw IoError.
void write_text_attribute(hid_t object, const std::string& name, const std::string& value);
void write_number_attribute(hid_t object, const std::string& name, hid_t type,
                            const std::vector<double>& values);

/// The same of the object at `path`; missing where there is no such object.
std::optional<std::string> text_attribute_at(hid_t file, const std::string& path,
                                             const std::string& name);

}  // namespace convolume::io
