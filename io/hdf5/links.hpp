// SPDX-License-Identifier: Apache-2.0
#pragma once
// The HDF5 file of an input, and the files that its external links lead to. HDF5 itself follows no
// external link here: it would not check sizes, and would not notice a file that changes.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/handle.hpp"
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

    /// Opens the file by HDF5; throws BadData.
    void open();
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

}  // namespace convolume::io
