// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run over many files was asked to do, beside what it does with each.

#include <string>
#include <vector>

#include "cli/run/error_hint.hpp"

namespace convolume::cli {

struct ManyFilesRequest {
    std::vector<std::string> images;  ///< paths and patterns
    std::string list;                 ///< a file of paths, "-" for standard input; empty: none
    std::string output_folder;        ///< may be empty in a dry run
    std::string output_name = "{stem}";
    bool resume = false;
    std::string image_name, kernel_name;  ///< of the arguments in --help
    HasOption has_option;                 ///< of the subcommand
    bool asked = false;                   ///< else there is one image and one output
};

}  // namespace convolume::cli
