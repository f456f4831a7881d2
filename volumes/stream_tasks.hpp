// SPDX-License-Identifier: Apache-2.0
#pragma once
// How tasks come by their samples when image and output are not in memory.

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <semaphore>
#include <vector>

#include "convolume/image_stream.hpp"
#include "convolume/image_view.hpp"
#include "core/buffer_pool.hpp"
#include "core/engine.hpp"

namespace convolume {

/// An image and an output that are not in memory.
struct StreamedImage {
    ImageSource* source;
    ImageSink* sink;
    std::atomic<bool> written{false};  ///< the sink has been given something
};

/// The data of one execution, and what comes with them.
struct RunArguments {
    ConstImageView input;
    ImageView output;
    StreamedImage* stream = nullptr;  ///< in place of `input` and `output`: all its volumes
    double subtract = 0;
    std::complex<double> add = 0;
    bool nonfinite_to_zero = false;
    bool find_nonfinite = false;         ///< by GPU engines, and in streams
    std::string scratch_directory = {};  ///< of the file of a split volume
};

/// A stream holds NaN or infinities that are not to be read as 0: where is still to be found.
struct FoundNonfinite {};

/// Number of planes that are read or folded at a time: a multiple of `piece` that takes some 64
/// MiB.
index_t planes_in_group(const Shape3& shape, PixelType type, index_t piece = 1);

/// A task that computes `box` of the output of channel c at time t; `number` is its place in the
/// plan.
struct StreamTask {
    index_t t, c;
    Box3 box;
    int number;
};

/// Makes `input` and `output` those of the task. They refer to `stream` and `timeline`.
void connect(StreamedImage& stream, const StreamTask& task, Timeline* timeline, BlockInput& input,
             BlockOutput& output);

/// Tasks of a stream on an engine that convolves in memory: their samples are read before and
/// written after. Of the tasks that call run() at once, one is convolved, while the next is read
/// and the last one written.
class HeldTasks {
  public:
    static constexpr int in_flight = 3;  ///< tasks that keep reading, engine and writing busy
    static constexpr int boxes = 2;  ///< of samples read, and of results, that are there at once

    /// Recorder of a task's times.
    struct Record {
        Timeline* timeline;
        int task;
    };
    /// Convolves a task in memory.
    using Convolve = std::function<ExecutionReport(const BlockInput&, const BlockOutput&)>;

    /// Bytes of the boxes of `tasks` tasks (0: many) of that block.
    static index_t bytes(const Block& block, const Shape3& image, index_t tasks);

    /// Connected input and output. Where NaN or infinities are found that are not to be read as 0,
    /// returns their report at once. Thread-safe.
    ExecutionReport run(const BlockInput& input, const BlockOutput& output, int threads,
                        const Record& record, const Convolve& convolve);

  private:
    std::mutex engine_;
    std::counting_semaphore<> free_inputs_{boxes}, free_outputs_{boxes};
    BufferPool inputs_, outputs_;
};

class PackedBox {
  public:
    /// `gathers`: as in BlockInput.
    explicit PackedBox(const std::array<std::vector<index_t>, 3>& gathers);

    Shape3 shape() const { return {axes_[0].extent, axes_[1].extent, axes_[2].extent}; }
    /// The gathers, as indices of the packed box.
    std::array<std::vector<index_t>, 3> gathers() const;

    /// Fills `target`, of shape(), by calls of `read_box(box of the image, view)`.
    void read(const std::function<void(const Box3&, const ImageView&)>& read_box,
              const ImageView& target) const;

  private:
    /// Samples [begin, end) of the image lie from `at` on.
    struct Run {
        index_t begin, end, at;
    };
    struct Axis {
        std::vector<Run> runs;
        index_t extent = 0;
        std::vector<index_t> gather;
    };
    static Axis pack(const std::vector<index_t>& gather);

    std::array<Axis, 3> axes_;
};

}  // namespace convolume
