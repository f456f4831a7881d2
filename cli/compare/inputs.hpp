// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what was asked to what is compared: problems from files or of a sweep, and what identifies
// them.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare/request.hpp"
#include "cli/compare/subject.hpp"

namespace convolume::cli {

struct CompareInputs {
    std::vector<std::unique_ptr<Subject>> subjects;
    nlohmann::ordered_json identity;    ///< of data and of what is computed
    std::vector<std::string> warnings;  ///< of files
};

/// Read files or name the sizes of a sweep. Throw what reading does; OutOfMemory for an input
/// beyond `limit_bytes`; InvalidArgument for files of several images.
CompareInputs inputs_of(const ImageCompareRequest& request, index_t limit_bytes);
CompareInputs inputs_of(const SignalCompareRequest& request, index_t limit_bytes);

/// FNV-1a of 64 bits, in hexadecimal.
std::string checksum(const Volume& volume);

}  // namespace convolume::cli
