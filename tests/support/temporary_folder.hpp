// SPDX-License-Identifier: Apache-2.0
#pragma once
// A temporary folder for the files of a test.

#include <algorithm>
#include <filesystem>
#include <random>
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
        if (place == Place::memory && make_in("/dev/shm")) return;
        const std::filesystem::path parent = std::filesystem::temp_directory_path();
        if (!make_in(parent))
            throw std::runtime_error("no folder could be made in " + parent.string());
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
    /// Returns false if `parent` does not exist or must not be written.
    bool make_in(const std::filesystem::path& parent) {
        std::random_device random;
        std::error_code failure;
        for (int attempt = 0; attempt < 100; ++attempt) {
            path_ = parent / ("convolume-test-" + std::to_string(random()));
            if (!std::filesystem::create_directory(path_, failure)) continue;
            std::filesystem::permissions(path_, std::filesystem::perms::owner_all, failure);
            return true;
        }
        return false;
    }

    std::filesystem::path path_;
};

}  // namespace convolume::testing
