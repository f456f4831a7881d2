// SPDX-License-Identifier: Apache-2.0
#pragma once
// Outputs are checked before anything is computed, and appear under their name only when complete.

#include <string>
#include <vector>

namespace convolume::cli {

/// Throws OutputExists unless `overwrite`, and CannotCreate where the folder of `file` is missing
/// or not writable.
void check_output_path(const std::string& file, bool overwrite);

/// The folder that `path` is in; "." for a name alone, "" for none.
std::string folder_of(const std::string& path);

/// The same text for the same file, whether it exists or not.
std::string canonical_path(const std::string& file);

/// What a run writes and reads.
struct RunFiles {
    std::vector<std::string> outputs;  ///< "" is none
    std::vector<std::string> inputs;
    bool overwrite = false;
};

/// Throws InvalidArgument where an output is an input or another output ("file.h5:/dataset" is
/// file.h5), and what check_output_path() does. A dataset may be added to an input's file, or
/// replaced in it, if every input names another dataset of that file.
void check_outputs(const RunFiles& files);

/// Writes `text` to stdout and makes sure it arrived. Throws IoError.
void write_stdout(const std::string& text);

}  // namespace convolume::cli
