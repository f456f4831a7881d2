// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a split volume, in memory or in scratch files, and how engines come by them.

#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "core/buffer_pool.hpp"
#include "core/scratch_file.hpp"
#include "decompose/split.hpp"

namespace convolume {

/// A part, the box of it that holds the image's samples, and the one its results take.
struct PartRows {
    int part;
    Box3 image, kept;
};

/// Gives a task of an engine its samples and a place for its results.
using ConnectPart = std::function<void(BlockInput&, BlockOutput&)>;

class PartStore {
  public:
    /// In memory, at `data`.
    PartStore(const decompose::SplitLayout& layout, Precision precision, void* data);
    /// In scratch files in `directory`.
    PartStore(const decompose::SplitLayout& layout, Precision precision,
              const std::string& directory);

    ImageSource& source(int part) const;
    ImageSink& sink(int part) const;
    ConnectPart connection(const PartRows& rows) const;

  private:
    struct InMemory {
        ImageView view;
        ViewSource source;
        ViewSink sink;
    };
    // One for each part.
    std::vector<std::unique_ptr<InMemory>> memory_;
    std::vector<std::unique_ptr<ScratchVolume>> files_;
};

/// Parts from scratch files for an engine that convolves in memory: one is convolved, in place,
/// while another is read or written.
class LoadedParts {
  public:
    static constexpr int in_flight = 2;

    /// `convolve` calls the engine. Thread-safe.
    ExecutionReport run(const PartStore& store, const PartRows& rows,
                        const std::function<ExecutionReport(const ConnectPart&)>& convolve);

  private:
    std::mutex engine_;
    BufferPool parts_;
};

}  // namespace convolume
