// SPDX-License-Identifier: Apache-2.0
#pragma once
// The machine that a comparison runs on, as the report shows it, and the memory that a way takes
// there.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

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

/// Measures the memory that is taken from its construction on. Only one may live at a time.
class MemoryProbe {
  public:
    /// `gpus`: of which memory is watched.
    explicit MemoryProbe(std::vector<int> gpus);

    /// Most bytes of buffers (convolume::Buffer) since then, beyond those there were.
    index_t counted_bytes() const;
    /// The same of resident memory; nothing where the system cannot count anew (VmHWM and
    /// /proc/self/clear_refs of Linux).
    std::optional<index_t> resident_bytes() const;
    /// Drop in free GPU memory since construction, maximum over GPUs; nothing without GPUs. Other
    /// programs count too.
    std::optional<index_t> held_gpu_bytes() const;

  private:
    std::vector<int> gpus_;
    std::vector<index_t> gpu_free_;
    index_t counted_before_;
    std::optional<index_t> resident_before_;
};

}  // namespace convolume::cli
