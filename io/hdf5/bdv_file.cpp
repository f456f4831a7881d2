// SPDX-License-Identifier: Apache-2.0
// BigDataViewer's XML file as an input: it names the HDF5 file.

#include <filesystem>
#include <pugixml.hpp>

#include "convolume/error.hpp"
#include "io/formats.hpp"
#include "io/hdf5/bdv_xml.hpp"
#include "io/hdf5/reader.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {
namespace {

std::filesystem::path resolved(const std::filesystem::path& folder, const BdvPath& path) {
    return path.absolute ? std::filesystem::path(path.path) : folder / path.path;
}

}  // namespace

std::unique_ptr<ImageReader> open_bdv_xml(const PathSpec& spec, const OpenOptions& options) {
    const RawFile file(spec.file);
    const std::string text = file.head(file.size());
    file.check_unchanged();
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed)
        throw BadData(message(spec.file,
                              " is an XML file that cannot be read: ", parsed.description(),
                              " at byte ", parsed.offset, "; it is damaged, copy it again"));
    const auto xml = read_bdv_xml(document);
    if (!xml)
        throw BadData(message(spec.file, " is an XML file of the kind <",
                              document.document_element().name(),
                              ">, which describes no image that can be read; give the path of the "
                              "image file, or of BigDataViewer's XML (<SpimData>)"));
    if (xml->hdf5.path.empty() || xml->loader != "bdv.hdf5")
        throw BadData(message(spec.file, " describes images of the format \"", xml->loader,
                              "\", which cannot be read; in Fiji, resave them as HDF5 (BigStitcher "
                              "or Multiview Reconstruction, Resave as HDF5)"));
    const std::filesystem::path folder = std::filesystem::path(spec.file).parent_path();
    const std::string hdf5 =
        (resolved(resolved(folder, xml->base), xml->hdf5)).lexically_normal().string();
    if (!std::filesystem::exists(hdf5))
        throw InputNotFound(message(spec.file, " says that its pixels are in ", hdf5,
                                    ", which does not exist; copy both files"));
    return open_hdf5_file({hdf5, spec.dataset}, options, spec.file);
}

}  // namespace convolume::io
