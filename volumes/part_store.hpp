// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a split image or kernel, in memory or in scratch files. Engines get parts from here.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/buffer_pool.hpp"
#include "core/scratch_file.hpp"
#include "decompose/split.hpp"

namespace convolume {

/// The boxes of part number `part` that hold samples of the image and, afterwards, its results.
struct PartBoxes {
    int part;
    Box3 image, kept;
};

/// Sets where a task of an engine gets its samples, and where it puts its results.
using ConnectPart = std::function<void(BlockInput&, BlockOutput&)>;

/// The parts of a split volume, each with a source and a sink of its boxes.
class PartStore {
  public:
    /// Keeps the parts in memory, at `data`.
    PartStore(const decompose::SplitLayout& layout, Precision precision, void* data);
    /// Keeps the parts in scratch files in `directory`.
    PartStore(const decompose::SplitLayout& layout, Precision precision,
              const std::string& directory);

    /// Returns the memory of the parts; null if they are in files.
    void* data() const { return data_; }
    ImageSource& source(int part) const;
    ImageSink& sink(int part) const;
    ConnectPart connection(const PartBoxes& boxes) const;

  private:
    struct PartInMemory {
        ImageView view;
        ViewSource source;
        ViewSink sink;
    };
    void* data_ = nullptr;
    // One element for each part; only one of the two lists is filled.
    std::vector<std::unique_ptr<PartInMemory>> memory_;
    std::vector<std::unique_ptr<ScratchVolume>> files_;
};

/// Runs parts in scratch files on an engine that convolves in memory: one part is convolved in
/// place while another is read or written.
class LoadedParts {
  public:
    static constexpr int in_flight = 2;

    /// Reads, convolves and writes a part; `convolve` calls the engine. Thread-safe.
    ExecutionReport run(const PartStore& store, const PartBoxes& boxes,
                        const std::function<ExecutionReport(const ConnectPart&)>& convolve);

  private:
    std::mutex engine_;
    BufferPool parts_;
};

}  // namespace convolume
