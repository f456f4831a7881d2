// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents of signals, of which the last may be unknown.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Returns extents such as "2×4096", with "?" for an unknown one.
inline std::string extents_text(const std::vector<index_t>& dims) {
    std::string text;
    for (const index_t extent : dims)
        text += (text.empty() ? "" : "×") + (extent == unknown_samples ? "?" : message(extent));
    return text;
}

/// Returns extents as JSON, with null for an unknown one.
inline nlohmann::ordered_json extents_json(const std::vector<index_t>& dims) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const index_t extent : dims) {
        if (extent == unknown_samples)
            json.push_back(nullptr);
        else
            json.push_back(extent);
    }
    return json;
}

}  // namespace convolume::cli
