// SPDX-License-Identifier: Apache-2.0
#pragma once
// Description of the machine that a comparison runs on, and measurements of the memory of a way.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/compare/comparison.hpp"
#include "convolume/engines.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

/// Measured bandwidths of the GPUs by GPU number.
using GpuLinks = std::map<int, GpuBandwidth>;

struct MachineContext {
    nlohmann::ordered_json json;
    GpuLinks links;
};

/// Describes processor, memory and versions; with `use_gpus` also GPUs, whose links it measures.
MachineContext machine_context(bool use_gpus);

/// Returns the numbers of the GPUs that `engines` can compute on.
std::vector<int> gpus_of(const EngineChoice& engines);

/// Returns the least time for each of `gpus` to transfer its share; nothing if a link is unknown.
std::optional<double> least_transfer_s(const Traffic& traffic, const std::vector<int>& gpus,
                                       const GpuLinks& links);

/// Returns the time now, such as "2026-01-31T12:00:00Z".
std::string utc_now();

/// Measures the memory that is allocated after its construction. Only one may live at a time.
class MemoryProbe {
  public:
    /// `gpus` are the GPUs whose memory is measured.
    explicit MemoryProbe(std::vector<int> gpus);

    /// Returns the peak of the bytes in buffers (convolume::Buffer) beyond those at construction.
    index_t counted_bytes() const;
    /// Returns the peak of resident bytes beyond those at construction; nothing if the system
    /// cannot reset its counter (VmHWM and /proc/self/clear_refs of Linux).
    std::optional<index_t> resident_bytes() const;
    /// Returns the drop in free GPU memory since construction, maximum over GPUs; nothing without
    /// GPUs. Memory of other programs counts too.
    std::optional<index_t> held_gpu_bytes() const;

  private:
    std::vector<int> gpus_;
    std::vector<index_t> gpu_free_;
    index_t counted_before_;
    std::optional<index_t> resident_before_;
};

}  // namespace convolume::cli
