// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error messages as strings, which Catch2 2 and 3 compare alike.

#include <string>

#include "convolume/error.hpp"

namespace convolume::testing {

/// Returns the message of the E that `act` throws; other exceptions pass through.
template <class E, class Act>
std::string message_of(Act&& act) {
    try {
        act();
    } catch (const E& error) {
        return error.what();
    }
    return "(nothing was thrown)";
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace convolume::testing
