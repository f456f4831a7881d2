// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes of HDF5 objects. Attributes of an unsupported type count as missing. If damage is to
// be contained, a helper process reads them, since HDF5 could crash on a damaged file.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/library.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Returns a text attribute of fixed or variable length, or nothing if it is missing. Arrays of
/// single characters (Imaris) are joined.
std::optional<std::string> text_attribute(hid_t object, const std::string& name);
/// Reads a text attribute without recorded_answer(), for functions that are passed to it.
std::optional<std::string> unrecorded_text_attribute(hid_t object, const std::string& name);
/// Returns an array of texts of variable length, at most 64Ki; empty if it is missing.
std::vector<std::string> text_list_attribute(hid_t object, const std::string& name);
/// Returns an attribute of up to `most` numbers; empty if it is missing.
std::vector<double> number_attribute(hid_t object, const std::string& name, index_t most = 64);
/// Returns all text attributes of `object`, by name.
std::map<std::string, std::string> text_attributes(hid_t object);

/// Returns the decimal of up to 9 digits whose relative difference from `value` is at most
/// `relative_difference`, else `value`. For example, returns 0.1 for 0.09999999999999999.
double near_decimal(double value, double relative_difference);

/// Write an attribute. These functions throw IoError.
void write_text_attribute(hid_t object, const std::string& name, const std::string& value);
void write_text_list_attribute(hid_t object, const std::string& name,
                               const std::vector<std::string>& values);
void write_number_attribute(hid_t object, const std::string& name, hid_t type,
                            const std::vector<double>& values);

/// Calls `open`, which opens `file`. If damage is to be contained, a helper process calls `open`
/// and `close` first. HDF5 may read beyond its memory at the attributes of a damaged file. So
/// recorded_answer() reads attributes only in the helper process, and returns the same answers in
/// this process. The caller holds Hdf5Lock.
void open_after_trial(const RawFile& file, const std::function<void()>& open,
                      const std::function<void()>& close);

/// An answer that was read from a file: texts of any bytes.
using RecordedAnswer = std::vector<std::string>;

/// Returns what `ask` returns. In the `open` of open_after_trial() that follows a helper process,
/// returns the helper's answer instead. Throws BadData if the order of questions differs.
RecordedAnswer recorded_answer(const std::string& question,
                               const std::function<RecordedAnswer()>& ask);

}  // namespace convolume::io
