// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HDF5 file of an input, the files that its external links lead to, and their datasets. HDF5
// itself may not follow external links: it would not check sizes, or notice a changed file.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/library.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

/// Location of an object after all links were followed: a file and a name in it.
struct Hdf5Location {
    hid_t file;
    const RawFile& raw;
    std::string name;  ///< "/" for the root group
};

/// An HDF5 file and its linked files. All members but the constructor and main() need Hdf5Lock.
class Hdf5Files {
  public:
    /// Opens the file without HDF5. Throws what RawFile throws.
    explicit Hdf5Files(const std::string& path);
    ~Hdf5Files();
    Hdf5Files(const Hdf5Files&) = delete;
    Hdf5Files& operator=(const Hdf5Files&) = delete;

    /// Opens the file by HDF5 and calls `look`, which may open objects in it; `forget` closes them.
    /// A helper process does this first if damage is to be contained (open_after_trial()). Throws
    /// BadData and what `look` throws; then nothing is open.
    void open(const std::function<void()>& look, const std::function<void()>& forget);
    /// Closes the file and all linked files.
    void close();

    const RawFile& main() const { return main_.raw; }
    hid_t id() const { return main_.id.get(); }

    /// Returns the location of the object `name` after following soft and external links. Returns
    /// nothing if there is none. Throws InputNotFound or BadData if a link leads to a missing or
    /// unusable file, or if links form a circle.
    std::optional<Hdf5Location> find(const std::string& name);
    /// Opens the object. The result is invalid if there is none. Throws what find() throws.
    Hdf5Id open_object(const std::string& name);

    /// Returns the names of the external links below `location`, relative to it.
    std::vector<std::string> external_links(const Hdf5Location& location) const;

    /// Throws IoError if one of the files was changed since it was opened.
    void check_unchanged() const;

  private:
    struct InputFile {
        explicit InputFile(const std::string& path) : raw(path) {}
        RawFile raw;
        Hdf5Id id;
    };

    InputFile& linked(const InputFile& from, const std::string& link, const std::string& name);
    std::unique_ptr<InputFile> open_linked(const InputFile& from, const std::string& link,
                                           const std::string& name) const;

    InputFile main_;
    std::vector<std::unique_ptr<InputFile>> linked_;
    /// Linked files, by the file that has the link and the name in the link.
    std::map<std::pair<const InputFile*, std::string>, InputFile*> linked_by_name_;
};

/// The input in which functions search for datasets.
struct Hdf5Source {
    Hdf5Files& files;
    std::string bdv_xml;  ///< path of BigDataViewer's XML; the file may not exist
};

/// Returns the names of all datasets, sorted, without the first slash. They include the datasets in
/// groups that external links lead to, and external links that lead to datasets or nowhere.
std::vector<std::string> list_datasets(const Hdf5Source& source);

/// Returns the name "a/b" of a dataset that the user calls "/a/b". Throws BadData with a list of
/// datasets if there is none, and what Hdf5Files::find() throws.
std::string named_dataset(const Hdf5Source& source, const std::string& name);

/// Tells whether the dataset is an array of pixels with at least `least_dimensions` dimensions.
/// Coordinates of other arrays (dimension scales) are not.
bool is_pixel_array(const Hdf5Source& source, const std::string& name, int least_dimensions);

/// The dataset that is read by default.
struct ChosenDataset {
    std::string name;
    std::size_t others = 0;  ///< number of other arrays of pixels
};

/// Returns the dataset that is read by default: /data, /t0/channel0, /Data or /exported_data, else
/// the only array of pixels with enough dimensions, or the only dataset. Throws BadData.
ChosenDataset default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets,
                              int least_dimensions);

}  // namespace convolume::io
