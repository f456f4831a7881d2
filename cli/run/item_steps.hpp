// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items that are read, computed and written one after the other, with reading and writing beside
// the computation.

#include <functional>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// Each is called for item 0, 1, 2, … in this order; an empty one is not called.
struct ItemSteps {
    std::function<void(index_t item)> read;
    std::function<void(index_t item)> compute;
    std::function<void(index_t item)> write;
};

/// Takes `count` items through their steps. compute is called by the calling thread.
/// With `overlapped`, item i + 1 is read and item i - 1 is written by other threads while item i is
/// computed. At most two items then are read and not computed, and two computed and not written:
/// item i may use the input and output i % 2. Otherwise there is one item at a time.
///
/// What a step throws reaches the caller. It is the same with and without `overlapped`: steps that
/// come earlier in the order of one item at a time are finished first, no later ones are begun.
void take_through(index_t count, bool overlapped, const ItemSteps& steps);

}  // namespace convolume::cli
