// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HDF5 file of an input, the files that its external links lead to, and their datasets by name.
// HDF5 itself follows no external link here: it would not check sizes, and would not notice a file
// that changes.

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

/// Location of an object, with no link to another file on the way.
struct Hdf5Place {
    hid_t file;
    const RawFile& raw;
    std::string name;  ///< "/" for the root group
};

/// All members need Hdf5Lock, except the constructor and main().
class Hdf5Files {
  public:
    /// Throws what RawFile throws.
    explicit Hdf5Files(const std::string& path);
    ~Hdf5Files();
    Hdf5Files(const Hdf5Files&) = delete;
    Hdf5Files& operator=(const Hdf5Files&) = delete;

    /// Opens the file by HDF5, and calls `look`, which may open more of it; `forget` closes that.
    /// All is done in a helper process first, if damage is to be contained (open_after_trial()).
    /// Throws BadData and what `look` throws; then nothing is open.
    void open(const std::function<void()>& look, const std::function<void()>& forget);
    /// Closes it and all linked files.
    void close();

    const RawFile& main() const { return main_.raw; }
    hid_t id() const { return main_.id.get(); }

    /// Follows soft and external links to the object `name`; nothing if there is none. Throws
    /// InputNotFound or BadData if a link leads to a file that is missing or unusable, or if
    /// links lead in a circle.
    std::optional<Hdf5Place> find(const std::string& name);
    /// Opens the object; not open if there is none. Throws as find().
    Hdf5Id open_object(const std::string& name);

    /// Names of the external links below `place`, relative to it.
    std::vector<std::string> external_links(const Hdf5Place& place) const;

    /// Throws IoError if one of the files was changed since it was opened.
    void check_unchanged() const;

  private:
    struct File {
        explicit File(const std::string& path) : raw(path) {}
        RawFile raw;
        Hdf5Id id;
    };

    File& linked(const File& from, const std::string& link, const std::string& name);
    std::unique_ptr<File> open_linked(const File& from, const std::string& link,
                                      const std::string& name) const;

    File main_;
    std::vector<std::unique_ptr<File>> linked_;
    /// Files by the file with the link and the name in it.
    std::map<std::pair<const File*, std::string>, File*> known_;
};

/// The input as the functions that look for datasets see it.
struct Hdf5Source {
    Hdf5Files& files;
    std::string bdv_xml;  ///< path of BigDataViewer's XML; there may be no such file
};

/// Names of all datasets, without the first slash, in the order of the names: those of the file, of
/// groups that it has external links to, and external links that lead to datasets or nowhere.
std::vector<std::string> list_datasets(const Hdf5Source& source);

/// The dataset that a user calls `name` ("/a/b"), as it is listed ("a/b"). Throws BadData that
/// lists what there is, or as Hdf5Files::find().
std::string named_dataset(const Hdf5Source& source, const std::string& name);

/// Whether the dataset is an array of pixels with at least that many dimensions. Coordinates of
/// other arrays (dimension scales) are not.
bool is_pixel_array(const Hdf5Source& source, const std::string& name, int least_dimensions);

struct Hdf5Choice {
    std::string name;
    std::size_t others = 0;  ///< arrays of pixels that could be meant, too
};

/// The dataset that is read if none is named: /data, /t0/channel0, /Data or /exported_data, else
/// the only array of pixels with at least that many dimensions, or the only one of `datasets`.
/// Throws BadData.
Hdf5Choice default_dataset(const Hdf5Source& source, const std::vector<std::string>& datasets,
                           int least_dimensions);

}  // namespace convolume::io
