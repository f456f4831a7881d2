// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses the words of `convolume process` for the program that carries it out.

#include <map>
#include <string>
#include <vector>

namespace convolume::cli {

/// Words that were given for each option, by its first long name without dashes, and for the
/// arguments SOURCE and TARGET. A flag has the word "true".
using ProcessWords = std::map<std::string, std::vector<std::string>>;

/// Parses the words after `convolume process`. If there is one argument alone, it is in SOURCE.
/// Throws InvalidArgument.
ProcessWords parse_process(const std::vector<std::string>& words);

}  // namespace convolume::cli
