// SPDX-License-Identifier: Apache-2.0
#pragma once
// How tasks come by their samples when image and output are not in memory.

#include <atomic>
#include <functional>
#include <mutex>
#include <semaphore>

#include "convolume/image_stream.hpp"
#include "core/buffer_pool.hpp"
#include "core/engine.hpp"

namespace convolume {

/// An image and an output that are not in memory.
struct Stream {
    ImageSource* source;
    ImageSink* sink;
    std::atomic<bool> written{false};  ///< the sink has been given something
};

/// Makes `input` and `output` those of a task that computes `box` of the output of channel c at
/// time t. They refer to `stream` and `timeline`.
void connect(Stream& stream, index_t t, index_t c, const Box3& box, int task, Timeline* timeline,
             BlockInput& input, BlockOutput& output);

/// Tasks of a stream on an engine that convolves in memory: their samples are read before and
/// written after. Of the tasks that call run() at once, one is convolved, while the next is read
/// and the last one written.
class HeldTasks {
  public:
    static constexpr int in_flight = 3;  ///< tasks that keep reading, engine and writing busy
    static constexpr int boxes = 2;  ///< of samples read, and of results, that are there at once

    /// Where a task's times are recorded.
    struct Record {
        Timeline* timeline;
        int task;
    };
    /// What convolves a task in memory.
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

}  // namespace convolume
