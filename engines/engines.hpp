// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engines that a caller's EngineChoice asks for.

#include "convolume/engines.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

/// Throws Unavailable when a GPU is demanded and there is none. With Device::automatic a GPU that
/// cannot be used is left out; gpu_unavailable() says why.
EngineList make_engines(const EngineChoice& choice = {});

/// The same for filter banks; `choice.transfer_gate` and `cpu_engines` are not used.
FilterEngineList make_filter_engines(const EngineChoice& choice = {});

}  // namespace convolume
