// SPDX-License-Identifier: Apache-2.0
#include "io/ome/companion.hpp"

#include <filesystem>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

/// Documents of whole plates have some tens of MB.
constexpr index_t largest_document_bytes = index_t{1} << 30;

}  // namespace

std::unique_ptr<OmeDocument> read_ome_file(const RawFile& file) {
    if (file.size() > largest_document_bytes)
        throw BadData(message(file.path(), " has ", file.size(),
                              " bytes, too many for a document of OME-XML; give the TIFF itself"));
    auto document = std::make_unique<OmeDocument>(file.head(file.size()), file.path());
    if (!document->companion().empty())
        throw BadData(message(file.path(), " refers to another document, ", document->companion(),
                              "; give that one"));
    return document;
}

std::unique_ptr<OmeDocument> read_ome_companion(const std::string& path, const std::string& name) {
    const std::string base = name.substr(name.find_last_of("/\\") + 1);
    const std::filesystem::path companion = std::filesystem::path(path).parent_path() / base;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(companion, ignored))
        throw BadData(message(path, " is one part of a set whose OME-XML is in ", base,
                              ", which is not in its folder; copy the whole set to one folder"));
    return read_ome_file(RawFile(companion.string()));
}

std::string first_file_of(const OmeDocument& document, const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    std::string missing;
    for (const OmeImage& image : document.images())
        for (const OmePlanes& planes : image.planes) {
            const auto file = folder / planes.file.substr(planes.file.find_last_of("/\\") + 1);
            if (!planes.file.empty() && std::filesystem::is_regular_file(file, ignored))
                return file.string();
            missing = planes.file;
        }
    throw BadData(message(path, " describes files, and none of them is in its folder",
                          missing.empty() ? "" : ", such as " + missing,
                          "; copy the whole set to one folder"));
}

}  // namespace convolume::io
