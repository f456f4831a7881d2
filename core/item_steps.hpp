// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over items that are read and written in other threads while one is computed.

#include <functional>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume {

/// The steps of items: each is called for item 0, 1, 2, … in this order. Empty ones are left out.
struct ItemSteps {
    std::function<void(index_t item)> read;
    std::function<void(index_t item)> compute;
    std::function<void(index_t item)> write;
    /// Called after an item was read. Returns true if no other follows, although the count is
    /// larger.
    std::function<bool(index_t item)> is_last{};
    /// Ends the waits of all steps, after one has failed.
    std::function<void()> cancel{};
};

/// Runs the steps of `count` items. The calling thread calls `compute`. With `overlapped`, other
/// threads read item i + 1 and write item i - 1 while item i is computed. At most two items are
/// then read and not computed, and two computed and not written, so that item i may use input and
/// output i % 2. Without it, one item is read, computed and written after the other.
///
/// Rethrows the exception of a step, the same one with and without `overlapped`. Steps that come
/// earlier without overlap are completed before, and later ones are not begun. With `cancel` it is
/// the first exception, and no step is begun after it.
CONVOLUME_API void run_item_steps(index_t count, bool overlapped, const ItemSteps& steps);

}  // namespace convolume
