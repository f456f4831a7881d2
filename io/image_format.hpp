// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choice of a format by the content of a file or by the ending of a name.

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/image_format.hpp"

namespace convolume::io {

/// Returns the formats of all folders that io/CMakeLists.txt registers. CMake generates it.
std::vector<ImageFormat> built_in_formats();

/// Loads the plug-ins that the environment variable CONVOLUME_FORMATS names, at the first call.
/// Returns why one of them cannot be loaded, or null.
std::exception_ptr load_named_plugins();

/// Returns the format that recognizes the file, folder or URL `path`, or nothing.
std::optional<ImageFormat> recognized_format(const std::string& path);

/// Returns the format that writes files whose names end as `path`, or nothing.
std::optional<ImageFormat> written_format(const std::string& path);

/// Throws for a file of no known format. Says what it is instead if its first bytes tell.
[[noreturn]] void refuse_unknown_content(const std::string& path);

/// Throws for an output whose name has the ending of no format.
[[noreturn]] void refuse_unknown_ending(const std::string& path);

/// Throws InvalidArgument if `image`, a file of a format without datasets, names one.
void require_no_dataset(const PathSpec& image);
/// Throws InvalidArgument if `image`, an output of a format without datasets, names one.
void require_no_new_dataset(const PathSpec& image);

/// Tells whether `head` begins an XML document: with a tag, after a byte order mark and blanks.
bool is_xml(std::string_view head);

/// Tells whether a text, such as the beginning of an XML document, has OME-XML's root element.
bool has_ome_element(std::string_view text);

}  // namespace convolume::io
