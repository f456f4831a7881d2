// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a kernel, for plans that split the image. All parts are made in one pass over the
// taps, when the first one is needed, and kept for later executions: in memory, or in scratch files
// if the plan says so.

#include <memory>
#include <mutex>
#include <string>

#include "convolume/execution.hpp"
#include "convolume/volume.hpp"
#include "volumes/part_store.hpp"
#include "volumes/plan.hpp"

namespace convolume {

/// Returns the layout of a split kernel. Its rows are padded, so that they are aligned.
decompose::SplitLayout kernel_layout(const ConvolutionProblem& problem, int parts, index_t z_grid);

/// Returns the most bytes in memory while a kernel is split into files.
index_t kernel_bands_bytes(const ConvolutionProblem& problem, int parts, index_t z_grid);

/// Returns the bytes of a split kernel.
index_t kernel_parts_bytes(const ConvolutionProblem& problem, int parts, index_t z_grid);

class KernelParts {
  public:
    /// Scratch files, if the plan has them, are in `directory`.
    KernelParts(const TaskPlan& plan, std::shared_ptr<const Volume> taps, int threads,
                std::string directory);

    /// The taps of a part, as engines prepare them, and the memory that holds them.
    struct PartTaps {
        ConstImageView view;
        std::shared_ptr<const void> memory;
    };
    PartTaps part(int index, const ExecutionContext& context);
    /// Splits the kernel, unless that was done.
    void split_once(const ExecutionContext& context) { stored_parts(context); }

    /// Frees the parts. They are made again when they are needed.
    void release();

  private:
    struct StoredParts {
        Buffer memory;
        std::unique_ptr<PartStore> store;
    };
    std::shared_ptr<const StoredParts> stored_parts(const ExecutionContext& context);
    std::shared_ptr<const StoredParts> split(const ExecutionContext& context) const;

    std::shared_ptr<const Volume> taps_;
    decompose::SplitLayout layout_;
    Precision precision_;
    HostMemory kind_;
    bool in_files_;
    int threads_;
    std::string directory_;
    std::mutex mutex_;
    std::shared_ptr<const StoredParts> parts_;
};

}  // namespace convolume
