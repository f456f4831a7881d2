// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opening a file in a helper process first, which hands over what HDF5 could crash on.

#include <functional>
#include <string>
#include <vector>

#include "io/raw_file.hpp"

namespace convolume::io {

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
