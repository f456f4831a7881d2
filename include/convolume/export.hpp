// SPDX-License-Identifier: Apache-2.0
#pragma once
// CONVOLUME_API marks what the shared libraries export; everything else is hidden.

#include <memory>

#define CONVOLUME_API __attribute__((visibility("default")))

namespace convolume {

/// Owner of the members of a class that only its source knows. It can be moved, and not copied. It
/// keeps the function that destroys them, so that the class needs no destructor of its own.
template <class Members>
struct CONVOLUME_API Hidden : std::unique_ptr<Members, void (*)(Members*)> {
    Hidden(std::unique_ptr<Members> members = nullptr)
        : Hidden::unique_ptr(members.release(), [](Members* all) { delete all; }) {}
};

}  // namespace convolume
