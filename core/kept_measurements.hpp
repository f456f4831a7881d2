// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measurements that are made once on a machine and kept in a file of the cache folder, so that the
// first plan of a later process does not measure.

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace convolume {

class KeptMeasurements {
  public:
    using Values = std::vector<double>;

    /// Uses `file`, whose measurements are valid for the machine `key` alone. Without a file
    /// (an empty path), measurements are kept for the process.
    KeptMeasurements(std::filesystem::path file, std::string key);

    /// Returns the `count` kept values of `name`, or those of measure(), which are then kept. Only
    /// one thread measures at a time. Values that are not positive are not kept in the file.
    template <class Measure>
    Values find_or_measure(const std::string& name, std::size_t count, const Measure& measure) {
        const std::lock_guard lock(mutex_);
        const auto found = values_.find(name);
        if (found != values_.end() && found->second.size() == count) return found->second;
        Values& values = values_[name] = measure();
        save();
        return values;
    }

    /// Returns the kept values of `name`; none if they were never measured.
    std::optional<Values> find(const std::string& name) const;
    /// Keeps measured values, unless each is within a quarter of the kept one: most processes write
    /// no file.
    void keep(const std::string& name, const Values& measured);

  private:
    void load();
    /// Writes the file, with the measurements that other processes have added. Does nothing if
    /// the folder cannot be written.
    void save();

    std::filesystem::path file_;
    std::string key_;
    mutable std::mutex mutex_;
    std::map<std::string, Values> values_;
};

/// Returns the path of a file of measurements; empty if there is no cache folder.
std::filesystem::path measurements_file(const char* name);

}  // namespace convolume
