// SPDX-License-Identifier: Apache-2.0
#pragma once
// The machine that a comparison runs on, as the report shows it.

#include <map>
#include <nlohmann/json.hpp>

#include "cli/compare/comparison.hpp"
#include "convolume/engines.hpp"

namespace convolume::cli {

/// Measured bandwidths of the GPUs by number.
using GpuLinks = std::map<int, GpuBandwidth>;

struct MachineContext {
    nlohmann::ordered_json json;
    GpuLinks links;
};

/// Processor, memory and versions; with `use_gpus` the GPUs, whose links are measured.
MachineContext machine_context(bool use_gpus);

/// Numbers of the GPUs that `engines` can compute on.
std::vector<int> gpus_of(const EngineChoice& engines);

/// The least time in which each of `gpus` can transfer its share; nothing where a link is unknown.
std::optional<double> least_transfer_s(const Traffic& traffic, const std::vector<int>& gpus,
                                       const GpuLinks& links);

/// "2026-01-31T12:00:00Z"
std::string utc_now();

}  // namespace convolume::cli
