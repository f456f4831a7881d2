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
    /// `needed` are the planes that each task of a volume needs, in the order in which tasks begin;
    /// neither their begins nor their ends decrease. The tasks of all volumes follow each other.
    /// `planes` planes are in memory, at least those of one task. Keeps `source` by reference.
    SharedPlanes(ImageSource& source, std::vector<IndexRange> needed, index_t planes, int threads);

    StackFormat format() const override { return source_.format(); }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override;
    /// Says that task number `task` of all volumes has ended.
    void end_task(index_t task);

  private:
    enum class SlotState { empty, loading, loaded };
    /// A place for one plane. Planes are numbered through all volumes.
    struct Slot {
        index_t plane = -1;
        SlotState state = SlotState::empty;
    };
    Slot& slot(index_t plane) { return slots_[static_cast<std::size_t>(plane % capacity_)]; }
    index_t first_needed(index_t task) const;
    /// Returns whether a plane may be loaded now. Planes [low_, low_ + capacity_) have slots of
    /// their own, so that the oldest task never waits for others.
    bool may_load(index_t plane) { return plane < low_ + capacity_ && slot(plane).plane < low_; }
    void load(index_t first, index_t end, std::unique_lock<std::mutex>& lock);
    ImageView planes_at(index_t plane, index_t count);

    ImageSource& source_;
    StackFormat format_;
    std::vector<IndexRange> needed_;
    int threads_;
    index_t capacity_;
    Volume ring_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Slot> slots_;
    std::vector<bool> ended_;    ///< tasks, of all volumes, that have ended
    index_t first_running_ = 0;  ///< first task that has not ended
    index_t low_ = 0;            ///< no running or later task needs planes below
};

}  // namespace convolume
