// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much memory a way takes, measured.

#include <optional>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// Measures from its construction on. Only one may live at a time.
class MemoryProbe {
  public:
    /// `gpus`: of which memory is watched.
    explicit MemoryProbe(std::vector<int> gpus);

    /// Most bytes of buffers (convolume::Buffer) since then, beyond those there were.
    index_t counted_bytes() const;
    /// The same of resident memory; nothing where the system cannot count anew (VmHWM and
    /// /proc/self/clear_refs of Linux).
    std::optional<index_t> resident_bytes() const;
    /// What is gone of the free memory of a GPU, now; of several the most. Nothing without GPUs.
    /// Programs of others count too.
    std::optional<index_t> held_gpu_bytes() const;

  private:
    std::vector<int> gpus_;
    std::vector<index_t> gpu_free_;
    index_t counted_before_;
    std::optional<index_t> resident_before_;
};

}  // namespace convolume::cli
