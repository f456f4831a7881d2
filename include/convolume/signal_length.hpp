// SPDX-License-Identifier: Apache-2.0
#pragma once
// The length of signals that end when their source does: pipes, recordings in progress.

#include "convolume/shape.hpp"

namespace convolume {

/// Stands for the samples of a signal whose length is known only when it ends. More than any signal
/// has, and small enough to be computed with.
inline constexpr index_t unknown_samples = index_t{1} << 52;

}  // namespace convolume
