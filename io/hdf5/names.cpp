// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/names.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

constexpr std::size_t most_listed = 20;

std::string list_text(const std::vector<std::string>& datasets) {
    std::string text;
    for (std::size_t i = 0; i < std::min(datasets.size(), most_listed); ++i)
        text += (i > 0 ? ", /" : "/") + datasets[i];
    if (datasets.size() > most_listed)
        text += message(" and ", datasets.size() - most_listed, " more");
    return text.empty() ? "none" : text;
}

/// "/a/b/" as HDF5 lists it: "a/b".
std::string plain_name(std::string name) {
    while (!name.empty() && name.front() == '/') name.erase(0, 1);
    while (!name.empty() && name.back() == '/') name.pop_back();
    return name;
}

/// Whether a dataset of that name can be reached; H5Lexists wants every step of the way to exist.
bool is_dataset(hid_t file, const std::string& name) {
    for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
        if (H5Lexists(file, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (name.empty() || H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return false;
    const Hdf5Id object(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
    return object && H5Iget_type(object.get()) == H5I_DATASET;
}

}  // namespace

std::vector<std::string> list_datasets(const Hdf5Source& source) {
    std::vector<std::string> names;
    const auto keep = [](hid_t, const char* name, const H5O_info_t* info, void* list) -> herr_t {
        try {
            if (info->type == H5O_TYPE_DATASET)
                static_cast<std::vector<std::string>*>(list)->emplace_back(name);
            return 0;
        } catch (...) {
            return -1;
        }
    };
    if (H5Ovisit(source.id, H5_INDEX_NAME, H5_ITER_INC, keep, &names) < 0)
        throw BadData(message("the datasets of ", source.file.path(), " cannot be listed: ",
                              hdf5_reason(), "; it is damaged, copy it again"));
    return names;
}

std::string named_dataset(const Hdf5Source& source, const std::string& name) {
    const std::string plain = plain_name(name);
    if (!is_dataset(source.id, plain))
        throw BadData(message(source.file.path(), " has no dataset ", name,
                              "; it holds: ", list_text(list_datasets(source))));
    return plain;
}

std::string default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets) {
    if (datasets.size() == 1) return datasets[0];
    for (const char* usual : {"data", "t0/channel0", "Data", "exported_data"})
        if (is_dataset(source.id, usual)) return usual;
    throw BadData(message(source.file.path(), " does not say which dataset is meant; give one as ",
                          source.file.path(), ":/NAME; it holds: ", list_text(datasets)));
}

}  // namespace convolume::io
