// SPDX-License-Identifier: Apache-2.0
#include "core/kept_measurements.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "convolume/error.hpp"
#include "core/cache_folder.hpp"

namespace convolume {

namespace fs = std::filesystem;

namespace {

// Largest size of a file that this program can have written.
constexpr std::uintmax_t largest_measurements_bytes = 1 << 18;

bool are_plausible(const KeptMeasurements::Values& values) {
    return !values.empty() && std::all_of(values.begin(), values.end(), [](double value) {
        return std::isfinite(value) && value > 0;
    });
}

}  // namespace

KeptMeasurements::KeptMeasurements(fs::path file, std::string key)
    : file_(std::move(file)), key_(std::move(key)) {
    load();
}

std::optional<KeptMeasurements::Values> KeptMeasurements::find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(name);
    return found != values_.end() ? std::optional(found->second) : std::nullopt;
}

void KeptMeasurements::keep(const std::string& name, const Values& measured) {
    const std::lock_guard lock(mutex_);
    Values& kept = values_[name];
    const bool is_known = std::equal(
        kept.begin(), kept.end(), measured.begin(), measured.end(),
        [](double before, double now) { return std::abs(now - before) <= 0.25 * before; });
    if (is_known) return;
    kept = measured;
    save();
}

void KeptMeasurements::load() {
    std::error_code failed;
    const auto bytes = fs::file_size(file_, failed);
    if (failed || bytes > largest_measurements_bytes) return;
    std::ifstream stream(file_);
    const auto json = nlohmann::json::parse(stream, nullptr, false);
    if (!json.is_object() || !json.contains("machine") || json["machine"] != key_ ||
        !json.contains("measured") || !json["measured"].is_object())
        return;
    for (const auto& [name, list] : json["measured"].items()) {
        Values values;
        if (list.is_array())
            for (const auto& value : list)
                values.push_back(value.is_number() ? value.get<double>() : 0);
        if (are_plausible(values)) values_.try_emplace(name, std::move(values));
    }
}

void KeptMeasurements::save() {
    if (file_.empty()) return;
    load();
    nlohmann::ordered_json measured = nlohmann::ordered_json::object();
    for (const auto& [name, values] : values_)
        if (are_plausible(values)) measured[name] = values;
    const nlohmann::ordered_json json{{"machine", key_}, {"measured", std::move(measured)}};
    try {
        replace_cache_file(file_,
                           json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    } catch (const IoError&) {
        return;  // the next process measures again
    }
}

fs::path measurements_file(const char* name) {
    const auto folder = cache_folder();
    return folder ? *folder / name : fs::path();
}

}  // namespace convolume
