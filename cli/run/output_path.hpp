// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks output files before anything is computed, and writes to standard output.

#include <string>
#include <vector>

#include "operations/files/outputs.hpp"

namespace convolume::cli {

/// Throws OutputExists if an output at `path` would replace a file or a dataset, unless `overwrite`
/// is set, and CannotCreate if its folder is missing or not writable.
void check_output_path(const std::string& path, bool overwrite);

/// Returns the folder that `path` is in: "." for a name alone, "" for an empty path.
std::string folder_of(const std::string& path);

/// The files that a run writes and reads.
struct RunFiles {
    std::vector<std::string> outputs;  ///< empty names are ignored
    std::vector<std::string> inputs;
    bool overwrite = false;
};

/// Checks the files. Throws InvalidArgument if an output is an input or another output
/// ("file.h5:/dataset" is file.h5), and the errors of check_output_path(). A dataset may be added
/// to an input's file, or replaced in it, if every input names another dataset of that file.
void check_outputs(const RunFiles& files);

/// Writes `text` to standard output. Throws PipeClosed or IoError if it does not arrive.
void write_stdout(const std::string& text);

}  // namespace convolume::cli
