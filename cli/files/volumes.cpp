// SPDX-License-Identifier: Apache-2.0
#include "cli/files/volumes.hpp"

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace convolume::cli {

namespace {

constexpr index_t in_flight = 2;  // items that wait between two steps, at most

enum Step { read_step, compute_step, write_step };

/// Runs the steps of items in three threads.
class OverlappedSteps {
  public:
    OverlappedSteps(index_t count, const ItemSteps& steps) : count_(count), steps_(steps) {}

    void run() {
        {
            const std::jthread reader([this] { run_step(read_step, steps_.read); });
            try {
                const std::jthread writer([this] { run_step(write_step, steps_.write); });
                run_step(compute_step, steps_.compute);
            } catch (const std::system_error&) {  // the system refused the thread of the writer
                fail(-1, std::current_exception());
            }
        }
        if (error_) std::rethrow_exception(error_);
    }

  private:
    /// Returns the number of a step when one item is processed after the other.
    static index_t sequence_number(index_t item, Step step) { return 3 * item + step; }

    /// Returns true if the input of the step is ready and the place of its result is free.
    bool is_ready(index_t item, Step step) const {
        switch (step) {
            case read_step:
                return item < done_[compute_step] + in_flight;
            case compute_step:
                return item < done_[read_step] && item < done_[write_step] + in_flight;
            case write_step:
                break;
        }
        return item < done_[compute_step];
    }

    /// Calls `work`, which is one of the steps, for every item.
    void run_step(Step step, const std::function<void(index_t)>& work) {
        for (index_t item = 0; item < count_; ++item) {
            {
                // A step waits only for earlier ones, which end or fail.
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] {
                    return sequence_number(item, step) > failed_ || is_ready(item, step);
                });
                if (sequence_number(item, step) > failed_) return;
            }
            try {
                if (work) work(item);
            } catch (...) {
                fail(sequence_number(item, step), std::current_exception());
                return;
            }
            {
                const std::lock_guard lock(mutex_);
                ++done_[step];
            }
            changed_.notify_all();
        }
    }

    void fail(index_t at, std::exception_ptr error) {
        {
            const std::lock_guard lock(mutex_);
            if (at < failed_) {
                failed_ = at;
                error_ = std::move(error);
            }
        }
        changed_.notify_all();
    }

    index_t count_;
    const ItemSteps& steps_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    index_t done_[3] = {0, 0, 0};  // number of items that each step has done
    index_t failed_ = std::numeric_limits<index_t>::max();  // number of the first step that failed
    std::exception_ptr error_;
};

}  // namespace

void run_item_steps(index_t count, bool overlapped, const ItemSteps& steps) {
    if (overlapped && count > 1) {
        OverlappedSteps(count, steps).run();
        return;
    }
    for (index_t item = 0; item < count; ++item)
        for (const auto* step : {&steps.read, &steps.compute, &steps.write})
            if (*step) (*step)(item);
}

ImageBoxes::ImageBoxes(const StackFormat& image, index_t sample_bytes, index_t bytes)
    : image_(image) {
    const index_t row = checked_multiply(image.shape.x, sample_bytes);
    const auto fitting = [](index_t most, index_t piece, index_t extent) {
        return std::min(std::max<index_t>(most / piece, 1) * piece, extent);
    };
    const bool whole = checked_multiply(row, image.piece.z * image.piece.y) <= bytes;
    const Shape3 piece = whole ? image.piece : Shape3{1, 1, 1};
    shape_ = {piece.z, 0, image.shape.x};
    shape_.y = fitting(bytes / checked_multiply(row, shape_.z), piece.y, image.shape.y);
    if (shape_.y == image.shape.y)
        shape_.z = fitting(bytes / checked_multiply(row, shape_.y), piece.z, image.shape.z);
    along_y_ = ceil_div(image.shape.y, shape_.y);
    per_volume_ = along_y_ * ceil_div(image.shape.z, shape_.z);
}

Box3 ImageBoxes::at(index_t box) const {
    const index_t z = box % per_volume_ / along_y_ * shape_.z, y = box % along_y_ * shape_.y;
    return {
        {z, y, 0},
        {std::min(z + shape_.z, image_.shape.z), std::min(y + shape_.y, image_.shape.y), shape_.x}};
}

void for_each_box(ImageSource& source, ImageSink& sink, index_t bytes,
                  const ExecutionContext& context,
                  const std::function<void(const ConstImageView&, const ImageView&)>& compute) {
    const StackFormat read = source.format();
    StackFormat written = sink.format();
    const auto bytes_of = [](const StackFormat& image) {
        return static_cast<index_t>(size_of(image.type));
    };
    for (int axis = 0; axis < 3; ++axis)
        written.piece[axis] = std::max(written.piece[axis], read.piece[axis]);
    const ImageBoxes boxes(written, std::max(bytes_of(read), bytes_of(written)), bytes);
    std::vector<Volume> inputs, outputs;
    for (int slot = 0; slot < 2; ++slot) {
        inputs.emplace_back(boxes.shape(), read.type);
        outputs.emplace_back(boxes.shape(), written.type);
    }
    const auto view_of_box = [&](std::vector<Volume>& volumes, index_t item) {
        Volume& volume = volumes[static_cast<std::size_t>(item % 2)];
        const Shape3 shape = boxes.at(item).shape();
        return ImageView{volume.view().data, volume.type(), shape, contiguous_strides(shape)};
    };
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        const ImageView view = view_of_box(inputs, item);
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1,
                               element_count(view.shape) * bytes_of(read));
        source.read_box(boxes.t(item), boxes.c(item), boxes.at(item), view);
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        compute(view_of_box(inputs, item), view_of_box(outputs, item));
    };
    steps.write = [&](index_t item) {
        const ImageView view = view_of_box(outputs, item);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1,
                               element_count(view.shape) * bytes_of(written));
        sink.write_box(boxes.t(item), boxes.c(item), boxes.at(item), view);
        if (context.progress)
            context.progress(static_cast<double>(item + 1) / static_cast<double>(boxes.count()));
    };
    run_item_steps(boxes.count(), true, steps);
}

}  // namespace convolume::cli
