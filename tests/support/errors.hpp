// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error messages as values, to compare with either Catch2.

#include <string>

#include "convolume/error.hpp"

namespace convolume::testing {

/// What the E thrown by `act` says; other exceptions pass through.
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
