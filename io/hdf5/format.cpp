// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/format.hpp"

#include "io/image_file.hpp"
#include "io/image_format.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

bool is_hdf5(const std::string& path, std::string_view head) {
    constexpr std::string_view mark("\211HDF\r\n\032\n", 8);
    if (head.size() < mark.size()) return false;
    if (head.starts_with(mark)) return true;
    // After a user block, the signature stands at 512, 1024, 2048, …
    const RawFile file(path);
    std::string found(mark.size(), '\0');
    for (index_t at = 512; at <= file.size() - static_cast<index_t>(mark.size()); at *= 2) {
        file.read(at, found.data(), static_cast<index_t>(mark.size()));
        if (found == mark) return true;
    }
    return false;
}

bool names_hdf5(const std::string& path) {
    return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

std::vector<ImageFormat> hdf5_formats() {
    return {
        {.name = "HDF5",
         .endings = {".h5", ".hdf5"},
         .read_endings = {".hdf", ".ims"},
         .recognizes = is_hdf5,
         .open = [](const PathSpec& spec,
                    const OpenOptions& options) { return open_hdf5(spec, options); },
         .create = create_hdf5,
         .has_dataset = [](const PathSpec& spec) { return !is_free_in_hdf5(spec); }},
        {.name = "BigDataViewer XML",
         .recognizes = [](const std::string&,
                          std::string_view head) { return is_xml(head) && !has_ome_element(head); },
         .open = open_bdv_xml,
         .has_dataset = [](const PathSpec&) { return true; }}};
}

}  // namespace convolume::io
