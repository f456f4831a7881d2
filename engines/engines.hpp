// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engines that a caller's EngineChoice asks for.

#include "convolume/engines.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

/// Returns gpu_start_seconds() for the GPUs of a choice, which start one after the other.
double gpu_start_seconds(const EngineChoice& choice);

/// Makes engines for images. Throws Unavailable if only GPUs are allowed and none can be used. With
/// Device::automatic, GPUs that cannot be used are left out, and gpu_unavailable() says why.
EngineList make_engines(const EngineChoice& choice = {});

/// Adds an engine that spreads each block over all GPUs of the list, if there are several. For
/// lists with which one convolver plans: such an engine may need all memory of the GPUs.
EngineList with_joined_gpus(EngineList engines);

/// Keeps the FFT plans of engines as they are, however long they are used: the results of an object
/// that is used for long are then those of a new one.
void keep_ffts(const EngineList& engines);

/// Makes engines for filter banks by the rules of make_engines(). Ignores choice.transfer_gate and
/// choice.cpu_engines.
FilterEngineList make_filter_engines(const EngineChoice& choice = {});

}  // namespace convolume
