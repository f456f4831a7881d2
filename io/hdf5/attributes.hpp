// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes that may be missing, or of any type: what cannot be understood counts as missing. A
// helper process reads them where HDF5 could crash on a damaged file.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/library.hpp"
#include "io/raw_file.hpp"

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

/// Calls `open`, which opens `file`, in a helper process first, if damage is to be contained, and
/// `close` there. Then calls `open` in this process. HDF5 may read beyond its memory at the
/// attributes of a damaged file. So carried_answer() reads them in the helper only, and returns the
/// same answers here. The thread holds Hdf5Lock.
void open_after_trial(const RawFile& file, const std::function<void()>& open,
                      const std::function<void()>& close);

/// Any number of texts of any bytes.
using Hdf5Answer = std::vector<std::string>;

/// Returns what `ask` returns. While open_after_trial() calls `open` after a helper process did, it
/// returns the helper's answer. Throws BadData if the order of the questions differs.
Hdf5Answer carried_answer(const std::string& question, const std::function<Hdf5Answer()>& ask);

}  // namespace convolume::io
