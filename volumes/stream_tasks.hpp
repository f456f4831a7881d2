// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks whose samples are read from a stream and whose results are written to it.

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
    std::atomic<bool> written{false};  ///< whether the sink has been written to
};

/// The data of one execution, and how samples are changed before and after the convolution.
struct ExecutionArguments {
    ConstImageView input;
    ImageView output;
    StreamedImage* stream = nullptr;  ///< if set, its volumes are convolved, not `input`
    double subtract = 0;              ///< value to subtract from samples of the input
    std::complex<double> add = 0;     ///< value to add to results
    bool nonfinite_to_zero = false;
    bool find_nonfinite = false;  ///< whether GPU engines and streams look for NaN
};

/// Thrown if a stream holds NaN or infinities that are errors. The caller then finds the first one.
struct NonfiniteInStream {};

/// Returns the number of planes that are read or folded at a time: a multiple of `piece` that takes
/// some 64 MiB.
index_t planes_in_group(const Shape3& shape, PixelType type, index_t piece = 1);

/// Task number `number` of a plan, which computes `box` of the output of channel c at time t.
struct StreamTask {
    index_t t, c;
    Box3 box;
    int number;
};

/// Makes `input` read the samples of the task from `source` and `output` write its results to
/// `stream`. Both keep references to these and to `timeline`.
void connect(StreamedImage& stream, ImageSource& source, const StreamTask& task, Timeline* timeline,
             BlockInput& input, BlockOutput& output);

/// Runs tasks of a stream on an engine that convolves in memory. Samples are read before a task and
/// results written after it. If several threads call run(), one task is convolved while the next
/// is read and the previous one is written.
class BufferedTasks {
  public:
    static constexpr int in_flight = 3;  ///< tasks that keep reading, engine and writing busy
    static constexpr int boxes = 2;  ///< boxes of samples, and boxes of results, in memory at once

    /// The timeline that a task is recorded in, and its number.
    struct TaskRecord {
        Timeline* timeline;
        int task;
    };
    /// Convolves a task in memory.
    using Convolve = std::function<ExecutionReport(const BlockInput&, const BlockOutput&)>;

    /// Returns the bytes of the boxes in memory for `tasks` tasks (0 for many) of a block.
    static index_t bytes(const Block& block, const Shape3& image, index_t tasks);

    /// Reads, convolves and writes a task, with `input` and `output` as connect() makes them. If it
    /// finds NaN or infinities that are not to be read as 0, returns a report of their number
    /// before it convolves. Thread-safe.
    ExecutionReport run(const BlockInput& input, const BlockOutput& output, int threads,
                        const TaskRecord& record, const Convolve& convolve);

  private:
    std::mutex engine_;
    std::counting_semaphore<> free_inputs_{boxes}, free_outputs_{boxes};
    BufferPool inputs_, outputs_;
};

/// The samples of an image that a block gathers, each once, packed into one box.
class PackedBox {
  public:
    /// `gathers` are source indices of each axis, as in BlockInput.
    explicit PackedBox(const std::array<std::vector<index_t>, 3>& gathers);

    Shape3 shape() const { return {axes_[0].extent, axes_[1].extent, axes_[2].extent}; }
    /// Returns the gathers of the block, as indices of the packed box.
    std::array<std::vector<index_t>, 3> gathers() const;

    /// Fills `target`, which has shape(), by calls of read_box(box of the image, its view).
    void read(const std::function<void(const Box3&, const ImageView&)>& read_box,
              const ImageView& target) const;

  private:
    /// Consecutive indices [begin, end) of the image, which are packed from `at` on.
    struct PackedRange {
        index_t begin, end, at;
    };
    struct PackedAxis {
        std::vector<PackedRange> ranges;
        index_t extent = 0;
        std::vector<index_t> gather;  ///< indices of the packed box
    };
    static PackedAxis pack(const std::vector<index_t>& gather);

    std::array<PackedAxis, 3> axes_;
};

}  // namespace convolume
