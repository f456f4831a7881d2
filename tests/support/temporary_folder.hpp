// SPDX-License-Identifier: Apache-2.0
#pragma once
// A temporary folder for the files of a test.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace convolume::testing {

/// A new folder that is removed with its content.
class TemporaryFolder {
  public:
    enum class Place { memory, disk };

    /// Creates the folder. `memory` applies only if the system has such a place: on a disk, syncing
    /// hundreds of small files takes long.
    explicit TemporaryFolder(Place place = Place::disk) {
        const std::filesystem::path shared("/dev/shm");
        const bool in_memory = place == Place::memory && ::access(shared.c_str(), W_OK) == 0;
        const std::filesystem::path parent =
            in_memory ? shared : std::filesystem::temp_directory_path();
        std::string name = (parent / "convolume-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("mkdtemp failed for " + name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string path() const { return path_.string(); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    /// Returns the names in the folder, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace convolume::testing
