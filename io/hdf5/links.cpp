// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/links.hpp"

#include <filesystem>

#include "convolume/error.hpp"
#include "io/hdf5/driver.hpp"
#include "io/helper_process.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 16;  // HDF5's own limit for one name
constexpr std::size_t most_link_bytes = std::size_t{1} << 16;
constexpr index_t bytes_of_linked_file = index_t{64} << 20;  // HDF5's caches for it

struct LinkTarget {
    std::string file;  // empty for a soft link
    std::string object;
};

/// The target of a soft or external link; nothing if it cannot be read.
std::optional<LinkTarget> target_of(hid_t file, const std::string& name, const H5L_info_t& link) {
    const std::size_t bytes = link.u.val_size;
    if (bytes < 1 || bytes > most_link_bytes) return std::nullopt;
    std::string value(bytes, '\0');
    if (H5Lget_val(file, name.c_str(), value.data(), bytes, H5P_DEFAULT) < 0) return std::nullopt;
    if (link.type == H5L_TYPE_SOFT) return LinkTarget{"", value.c_str()};
    unsigned flags = 0;
    const char* target_file = nullptr;
    const char* object = nullptr;
    if (H5Lunpack_elink_val(value.data(), bytes, &flags, &target_file, &object) < 0 ||
        target_file == nullptr || object == nullptr)
        return std::nullopt;
    return LinkTarget{target_file, object};
}

/// The places where HDF5 looks for a linked file, except those of environment variables.
std::vector<fs::path> candidates(const fs::path& from, const fs::path& name) {
    std::vector<fs::path> paths;
    if (name.is_absolute()) paths.push_back(name);
    const fs::path tail = name.is_absolute() ? name.filename() : name;
    paths.push_back(from.parent_path() / tail);
    std::error_code failed;
    const fs::path real = fs::canonical(from, failed);
    if (!failed) paths.push_back(real.parent_path() / tail);
    if (!name.is_absolute()) paths.push_back(name);
    return paths;
}

}  // namespace

Hdf5Files::Hdf5Files(const std::string& path) : main_(path) {}

Hdf5Files::~Hdf5Files() {
    const Hdf5Lock lock;
    close();
}

void Hdf5Files::open() {
    main_.id = open_hdf5_input(main_.raw);
    if (!main_.id)
        throw BadData(
            message(main_.raw.path(), " cannot be read as HDF5: ",
                    hdf5_failure("it is truncated, damaged or open for writing, copy it again")));
}

void Hdf5Files::close() {
    known_.clear();
    linked_.clear();
    main_.id.close();
}

std::optional<Hdf5Place> Hdf5Files::find(const std::string& name) {
    File* file = &main_;
    std::string reached;
    std::string rest = name;
    int links = 0;
    while (!rest.empty()) {
        const auto slash = rest.find('/');
        const std::string part = rest.substr(0, slash);
        rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
        if (part.empty() || part == ".") continue;
        const std::string next = reached.empty() ? part : reached + "/" + part;
        H5L_info_t link{};
        if (H5Lexists(file->id.get(), next.c_str(), H5P_DEFAULT) <= 0 ||
            H5Lget_info(file->id.get(), next.c_str(), &link, H5P_DEFAULT) < 0)
            return std::nullopt;
        if (link.type == H5L_TYPE_HARD) {
            reached = next;
            continue;
        }
        if (link.type != H5L_TYPE_SOFT && link.type != H5L_TYPE_EXTERNAL) return std::nullopt;
        const auto target = target_of(file->id.get(), next, link);
        if (!target) return std::nullopt;
        if (++links > most_links)
            throw BadData(message(main_.raw.path(), ":/", name, " leads through more than ",
                                  most_links,
                                  " links; they may form a circle, name the dataset itself"));
        if (link.type == H5L_TYPE_EXTERNAL) file = &linked(*file, next, target->file);
        if (link.type == H5L_TYPE_EXTERNAL || target->object.starts_with('/')) reached.clear();
        rest = target->object + "/" + rest;
    }
    return Hdf5Place{file->id.get(), file->raw, reached.empty() ? "/" : reached};
}

Hdf5Id Hdf5Files::open_object(const std::string& name) {
    const auto place = find(name);
    if (!place) return {};
    return {H5Oopen(place->file, place->name.c_str(), H5P_DEFAULT), H5Oclose};
}

std::vector<std::string> Hdf5Files::external_links(const Hdf5Place& place) const {
    std::vector<std::string> names;
    const auto keep = [](hid_t, const char* name, const H5L_info_t* info, void* list) -> herr_t {
        try {
            if (info->type == H5L_TYPE_EXTERNAL)
                static_cast<std::vector<std::string>*>(list)->emplace_back(name);
            return 0;
        } catch (...) {
            return -1;
        }
    };
    if (H5Lvisit_by_name(place.file, place.name.c_str(), H5_INDEX_NAME, H5_ITER_INC, keep, &names,
                         H5P_DEFAULT) < 0)
        throw BadData(message("the links of ", place.raw.path(),
                              " cannot be listed: ", hdf5_failure("it is damaged, copy it again")));
    return names;
}

void Hdf5Files::check_unchanged() const {
    main_.raw.check_unchanged();
    for (const auto& file : linked_) file->raw.check_unchanged();
}

Hdf5Files::File& Hdf5Files::linked(const File& from, const std::string& link,
                                   const std::string& name) {
    File*& known = known_[{&from, name}];
    if (known != nullptr) return *known;
    std::unique_ptr<File> opened = open_linked(from, link, name);
    if (opened->raw.identity() == main_.raw.identity()) return *(known = &main_);
    for (const auto& file : linked_)
        if (opened->raw.identity() == file->raw.identity()) return *(known = file.get());
    extend_helper_limits({limits_of_opening(opened->raw).processor_s, bytes_of_linked_file});
    opened->id = open_hdf5_input(opened->raw);
    if (!opened->id)
        throw BadData(message(opened->raw.path(), ", to which /", link, " of ", from.raw.path(),
                              " is a link, cannot be read as HDF5: ",
                              hdf5_failure("it is truncated or damaged, copy it again")));
    linked_.push_back(std::move(opened));
    return *(known = linked_.back().get());
}

std::unique_ptr<Hdf5Files::File> Hdf5Files::open_linked(const File& from, const std::string& link,
                                                        const std::string& name) const {
    for (const fs::path& path : candidates(from.raw.path(), name)) {
        std::error_code failed;
        if (!fs::exists(path, failed)) continue;
        return std::make_unique<File>(path.string());
    }
    const std::string folder = fs::path(from.raw.path()).parent_path().string();
    throw InputNotFound(message("/", link, " of ", from.raw.path(), " is a link to the file ", name,
                                ", which does not exist; put it into the folder ",
                                folder.empty() ? "." : folder));
}

}  // namespace convolume::io
