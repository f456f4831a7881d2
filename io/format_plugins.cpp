// SPDX-License-Identifier: Apache-2.0
// Formats in shared libraries.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "convolume/error.hpp"
#include "core/system/system.hpp"
#include "io/image_format.hpp"

namespace convolume::io {
namespace {

/// The list of this program, which a plug-in with code of its own for the library does not have.
class OwnList final : public FormatList {
    void add(ImageFormat format) override { register_format(std::move(format)); }
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw InvalidArgument(message("the plug-in \"", path, "\" ", why));
}

}  // namespace

void load_format_plugin(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        throw InputNotFound(
            message("there is no plug-in \"", path, "\"; give the path of a shared library"));
    // A path without a folder would be looked for among the libraries of the system.
    const system::LoadedLibrary library =
        system::load_library(std::filesystem::absolute(path).string());
    if (library.handle == nullptr) refuse(path, "cannot be loaded: " + library.why_not);
    const auto version = reinterpret_cast<const char* (*)()>(
        system::function_of(library, "convolume_format_plugin_version"));
    const auto add = reinterpret_cast<void (*)(FormatList&)>(
        system::function_of(library, "convolume_format_plugin"));
    if (version == nullptr || add == nullptr)
        refuse(path, "has no formats of images; build it with CONVOLUME_FORMAT_PLUGIN");
    if (version() != std::string_view(format_plugin_version))
        refuse(path, message("has the interface \"", version(), "\" in place of \"",
                             format_plugin_version, "\"; build it again"));
    OwnList all;
    add(all);
}

std::exception_ptr load_named_plugins() {
    static const std::exception_ptr failure = []() -> std::exception_ptr {
        const char* const named = std::getenv("CONVOLUME_FORMATS");
        const std::string paths = named != nullptr ? named : "";
        try {
            for (std::size_t begin = 0; begin < paths.size();) {
                const std::size_t end =
                    std::min(paths.find(system::path_separator(), begin), paths.size());
                if (end > begin) load_format_plugin(paths.substr(begin, end - begin));
                begin = end + 1;
            }
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }();
    return failure;
}

}  // namespace convolume::io
