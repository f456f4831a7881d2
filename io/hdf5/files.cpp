// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/files.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "convolume/error.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/helper_process.hpp"
#include "io/hdf5/library.hpp"
#include "io/hdf5/storage.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 16;  // links that one name may lead through, HDF5's limit
constexpr std::size_t most_link_bytes = std::size_t{1} << 16;
/// Bytes of HDF5's caches for a linked file.
constexpr index_t linked_file_cache_bytes = index_t{64} << 20;

/// Callback that appends the names of links or objects of one type to the vector `names`.
template <class Info, auto Type>
herr_t keep_names(hid_t, const char* name, const Info* info, void* names) {
    try {
        if (info->type == Type) static_cast<std::vector<std::string>*>(names)->emplace_back(name);
        return 0;
    } catch (...) {  // exceptions must not pass through HDF5
        return -1;
    }
}

struct LinkTarget {
    std::string file;  // empty for a soft link
    std::string object;
};

/// Returns the target of a soft or external link, or nothing if it cannot be read.
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

/// Returns the paths at which HDF5 searches for a linked file, but no environment variables.
std::vector<fs::path> linked_file_paths(const fs::path& from, const fs::path& name) {
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

void Hdf5Files::open(const std::function<void()>& look, const std::function<void()>& forget) {
    const auto close_all = [&] {
        forget();
        close();
    };
    const auto open_all = [&] {
        try {
            main_.id = open_hdf5_input(main_.raw);
            if (!main_.id)
                throw BadData(message(
                    main_.raw.path(), " cannot be read as HDF5: ",
                    hdf5_failure("it is truncated, damaged or open for writing, copy it again")));
            look();
            // errors while checking for optional objects, such as attributes
            throw_failed_hdf5_read();
        } catch (...) {
            close_all();
            throw;
        }
    };
    open_after_trial(main_.raw, open_all, close_all);
}

void Hdf5Files::close() {
    linked_by_name_.clear();
    linked_.clear();
    main_.id.close();
}

std::optional<Hdf5Location> Hdf5Files::find(const std::string& name) {
    InputFile* file = &main_;
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
    return Hdf5Location{file->id.get(), file->raw, reached.empty() ? "/" : reached};
}

Hdf5Id Hdf5Files::open_object(const std::string& name) {
    const auto location = find(name);
    if (!location) return {};
    return {H5Oopen(location->file, location->name.c_str(), H5P_DEFAULT), H5Oclose};
}

std::vector<std::string> Hdf5Files::external_links(const Hdf5Location& location) const {
    std::vector<std::string> names;
    if (H5Lvisit_by_name(location.file, location.name.c_str(), H5_INDEX_NAME, H5_ITER_INC,
                         keep_names<H5L_info_t, H5L_TYPE_EXTERNAL>, &names, H5P_DEFAULT) < 0)
        throw BadData(message("the links of ", location.raw.path(),
                              " cannot be listed: ", hdf5_failure("it is damaged, copy it again")));
    return names;
}

void Hdf5Files::check_unchanged() const {
    main_.raw.check_unchanged();
    for (const auto& file : linked_) file->raw.check_unchanged();
}

Hdf5Files::InputFile& Hdf5Files::linked(const InputFile& from, const std::string& link,
                                        const std::string& name) {
    InputFile*& linked_file = linked_by_name_[{&from, name}];
    if (linked_file != nullptr) return *linked_file;
    std::unique_ptr<InputFile> opened = open_linked(from, link, name);
    if (opened->raw.identity() == main_.raw.identity()) return *(linked_file = &main_);
    for (const auto& file : linked_)
        if (opened->raw.identity() == file->raw.identity()) return *(linked_file = file.get());
    extend_helper_limits({limits_of_opening(opened->raw).processor_s, linked_file_cache_bytes});
    opened->id = open_hdf5_input(opened->raw);
    if (!opened->id)
        throw BadData(message(opened->raw.path(), ", to which /", link, " of ", from.raw.path(),
                              " is a link, cannot be read as HDF5: ",
                              hdf5_failure("it is truncated or damaged, copy it again")));
    linked_.push_back(std::move(opened));
    return *(linked_file = linked_.back().get());
}

std::unique_ptr<Hdf5Files::InputFile> Hdf5Files::open_linked(const InputFile& from,
                                                             const std::string& link,
                                                             const std::string& name) const {
    for (const fs::path& path : linked_file_paths(from.raw.path(), name)) {
        std::error_code failed;
        if (!fs::exists(path, failed)) continue;
        return std::make_unique<InputFile>(path.string());
    }
    const std::string folder = fs::path(from.raw.path()).parent_path().string();
    throw InputNotFound(message("/", link, " of ", from.raw.path(), " is a link to the file ", name,
                                ", which does not exist; put it into the folder ",
                                folder.empty() ? "." : folder));
}

namespace {

constexpr std::size_t most_listed = 20;
constexpr std::size_t most_compared = 1000;
constexpr std::size_t most_linked_datasets = std::size_t{1} << 20;
constexpr std::size_t deepest_links = 16;
constexpr int most_groups = 100'000;

std::string list_text(const std::vector<std::string>& datasets) {
    std::string text;
    for (std::size_t i = 0; i < std::min(datasets.size(), most_listed); ++i)
        text += (i > 0 ? ", /" : "/") + datasets[i];
    if (datasets.size() > most_listed)
        text += message(" and ", datasets.size() - most_listed, " more");
    return text.empty() ? "none" : text;
}

/// Returns the name in HDF5's lists, such as "a/b" for "/a/b/".
std::string plain_name(std::string name) {
    while (!name.empty() && name.front() == '/') name.erase(0, 1);
    while (!name.empty() && name.back() == '/') name.pop_back();
    return name;
}

bool is_dataset(const Hdf5Source& source, const std::string& name) {
    if (name.empty()) return false;
    const Hdf5Id object = source.files.open_object(name);
    return object && H5Iget_type(object.get()) == H5I_DATASET;
}

/// Lists the datasets of a file and of the files that it links to.
class DatasetLister {
  public:
    explicit DatasetLister(const Hdf5Source& source) : files_(source.files) {}

    std::vector<std::string> all() {
        add_group({files_.id(), files_.main(), "/"}, "");
        if (linked_) std::sort(names_.begin(), names_.end());
        return std::move(names_);
    }

  private:
    /// Adds the datasets below the group at `location`. `prefix` is its path in the main file.
    void add_group(const Hdf5Location& location, const std::string& prefix) {
        const auto group = std::make_pair(&location.raw, location.name);
        if (std::find(open_groups_.begin(), open_groups_.end(), group) != open_groups_.end())
            return;
        if (open_groups_.size() >= deepest_links) return;
        if (++groups_ > most_groups) refuse();
        open_groups_.push_back(group);
        for (const std::string& name : datasets_below(location)) add(prefix + name);
        for (const std::string& name : files_.external_links(location)) add_link(prefix + name);
        open_groups_.pop_back();
    }

    /// Adds the dataset that an external link leads to, or the datasets below the group.
    void add_link(const std::string& name) {
        linked_ = true;
        std::optional<Hdf5Location> location;
        try {
            if (const auto found = files_.find(name)) location.emplace(*found);
        } catch (const Error&) {  // the error is thrown when the dataset is opened
            add(name);
            return;
        }
        if (!location) return add(name);
        const Hdf5Id object(H5Oopen(location->file, location->name.c_str(), H5P_DEFAULT), H5Oclose);
        const H5I_type_t type = object ? H5Iget_type(object.get()) : H5I_DATASET;
        if (type == H5I_DATASET) add(name);
        if (type == H5I_GROUP) add_group(*location, name + "/");
    }

    void add(const std::string& name) {
        if (linked_ && names_.size() >= most_linked_datasets) refuse();
        names_.push_back(name);
    }

    [[noreturn]] void refuse() const {
        const std::string& path = files_.main().path();
        throw BadData(message(path, " leads to too many datasets by its links; give one as ", path,
                              ":/NAME"));
    }

    static std::vector<std::string> datasets_below(const Hdf5Location& location) {
        std::vector<std::string> names;
        if (H5Ovisit_by_name(location.file, location.name.c_str(), H5_INDEX_NAME, H5_ITER_INC,
                             keep_names<H5O_info_t, H5O_TYPE_DATASET>, &names, H5P_DEFAULT) < 0)
            throw BadData(message("the datasets of ", location.raw.path(), " cannot be listed: ",
                                  hdf5_failure("it is damaged, copy it again")));
        return names;
    }

    Hdf5Files& files_;
    std::vector<std::string> names_;
    bool linked_ = false;
    int groups_ = 0;
    /// Groups that contain the current one, by file and name.
    std::vector<std::pair<const RawFile*, std::string>> open_groups_;
};

}  // namespace

std::vector<std::string> list_datasets(const Hdf5Source& source) {
    return DatasetLister(source).all();
}

std::string named_dataset(const Hdf5Source& source, const std::string& name) {
    const std::string plain = plain_name(name);
    if (!is_dataset(source, plain))
        throw BadData(message(source.files.main().path(), " has no dataset ", name,
                              "; it holds: ", list_text(list_datasets(source))));
    return plain;
}

bool is_pixel_array(const Hdf5Source& source, const std::string& name, int least_dimensions) {
    Hdf5Id dataset;
    try {
        dataset = source.files.open_object(name);
    } catch (const Error&) {  // the link leads nowhere
        return false;
    }
    if (!dataset || H5Iget_type(dataset.get()) != H5I_DATASET) return false;
    const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
    const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
    return type && space && H5Sget_simple_extent_ndims(space.get()) >= least_dimensions &&
           pixel_type_of_hdf5(type.get()) &&
           text_attribute(dataset.get(), "CLASS") != "DIMENSION_SCALE";
}

ChosenDataset default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets,
                              int least_dimensions) {
    constexpr const char* usual_names[] = {"data", "t0/channel0", "Data", "exported_data"};
    if (datasets.size() == 1) return {datasets[0], 0};
    std::vector<std::string> arrays;
    for (const std::string& name : datasets)
        if (arrays.size() < most_compared && is_pixel_array(source, name, least_dimensions))
            arrays.push_back(name);
    for (const char* usual : usual_names)
        if (is_pixel_array(source, usual, least_dimensions))
            return {usual, std::max<std::size_t>(arrays.size(), 1) - 1};
    if (arrays.size() == 1) return {arrays[0], 0};
    for (const char* usual : usual_names)
        if (is_dataset(source, usual)) return {usual, 0};
    const std::string& path = source.files.main().path();
    throw BadData(message(path, " does not say which dataset is meant; give one as ", path,
                          ":/NAME; it holds: ", list_text(datasets)));
}

}  // namespace convolume::io
