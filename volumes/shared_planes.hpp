// SPDX-License-Identifier: Apache-2.0
#pragma once
// A ring of planes between a source and tiles whose halos overlap: every plane is read once, and
// stays in memory until the last task that needs it has ended.

#include <condition_variable>
#include <mutex>
#include <vector>

#include "convolume/image_stream.hpp"
#include "convolume/volume.hpp"
#include "core/pair_axis.hpp"

namespace convolume {

class SharedPlanes : public ImageSource {
  public:
    /// `needed` are the planes that each task of a volume needs, in the order in which tasks begin.
    /// The tasks of all volumes follow each other; at most `in_flight` neighboring ones run at
    /// once. Keeps `source` by reference.
    SharedPlanes(ImageSource& source, std::vector<IndexRange> needed, index_t in_flight,
                 int threads);

    /// Returns the number of planes that will be in memory.
    index_t planes() const { return capacity_; }
    /// Allocates the planes. Nothing is read before.
    void allocate();

    StackFormat format() const override { return source_.format(); }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    /// Waits until the task may run: all tasks have ended that are `in_flight` or more before it.
    /// Tasks are numbered through all volumes.
    void begin_task(index_t task);
    /// Marks a task as ended, so that its planes may be replaced.
    void end_task(index_t task);

  private:
    enum class SlotState { empty, loading, loaded };
    /// A place for one plane. Planes are numbered through all volumes. All planes that the tasks in
    /// flight need have places of their own, since begin_task() keeps these tasks neighbors.
    struct Slot {
        index_t plane = -1;
        SlotState state = SlotState::empty;
    };
    Slot& slot(index_t plane) { return slots_[static_cast<std::size_t>(plane % capacity_)]; }
    void load(index_t first, index_t end, std::unique_lock<std::mutex>& lock);
    ImageView planes_at(index_t plane, index_t count);

    ImageSource& source_;
    StackFormat format_;
    std::vector<IndexRange> needed_;  ///< neither begins nor ends decrease
    index_t in_flight_;
    int threads_;
    index_t capacity_ = 1;
    Volume ring_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Slot> slots_;
    std::vector<bool> ended_;    ///< tasks, of all volumes, that have ended
    index_t first_running_ = 0;  ///< first task that has not ended
};

}  // namespace convolume
