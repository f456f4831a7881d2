// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which options of the command help against an error. Messages of the library name its own options
// at most, since programs read them too.

#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace convolume::cli {

/// Whether the subcommand has an option, by its name: "--device".
using HasOption = std::function<bool(std::string_view name)>;

/// `sentence`, the text of `error`, with options of the command in parentheses: in place of library
/// options that it names there, or at its end. A sentence that names an option of the
/// command already is left alone, and options that the subcommand lacks are left out.
std::string with_option_hint(std::string sentence, const std::exception& error,
                             const HasOption& has_option);

}  // namespace convolume::cli
