// SPDX-License-Identifier: Apache-2.0
#include "volumes/shared_planes.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/stop_scope.hpp"

namespace convolume {

namespace {

// Bytes that are read at a time.
constexpr index_t load_bytes = index_t{32} << 20;

}  // namespace

SharedPlanes::SharedPlanes(ImageSource& source, std::vector<IndexRange> needed, index_t in_flight,
                           int threads)
    : source_(source),
      format_(source.format()),
      needed_(std::move(needed)),
      in_flight_(in_flight),
      threads_(threads),
      ended_(static_cast<std::size_t>(checked_multiply(std::ssize(needed_), format_.volumes()))) {
    // Planes stay from the first task that needs them to the last one.
    for (std::size_t i = 1; i < needed_.size(); ++i)
        needed_[i].end = std::max(needed_[i].end, needed_[i - 1].end);
    for (std::size_t i = needed_.size(); i-- > 1;)
        needed_[i - 1].begin = std::min(needed_[i - 1].begin, needed_[i].begin);
    const index_t tasks = std::ssize(needed_), all = std::ssize(ended_);
    for (index_t i = 0; i < tasks; ++i) {
        const index_t newest = std::min(i + in_flight - 1, all - 1);
        const index_t end = newest / tasks * format_.shape.z +
                            needed_[static_cast<std::size_t>(newest % tasks)].end;
        capacity_ = std::max(capacity_, end - needed_[static_cast<std::size_t>(i)].begin);
    }
}

void SharedPlanes::allocate() {
    ring_ = Volume({capacity_, format_.shape.y, format_.shape.x}, format_.type);
    slots_.resize(static_cast<std::size_t>(capacity_));
}

ImageView SharedPlanes::planes_at(index_t plane, index_t count) {
    const index_t at = plane % capacity_;
    return subview(ring_.view(), {{at, 0, 0}, {at + count, format_.shape.y, format_.shape.x}});
}

void SharedPlanes::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    const index_t volume = (t * format_.channels + c) * format_.shape.z;
    const index_t begin = volume + box.begin.z, end = volume + box.end.z;
    {
        std::unique_lock lock(mutex_);
        for (index_t plane = begin; plane < end;) {
            if (slot(plane).plane == plane && slot(plane).state == SlotState::loaded) {
                ++plane;
            } else if (slot(plane).plane != plane) {
                load(plane, end, lock);
            } else {  // another thread loads it
                changed_.wait(lock);
                throw_if_stopped();
            }
        }
    }
    // Loaded planes stay as they are until the task that reads them has ended.
    for (index_t plane = begin; plane < end;) {
        const index_t count = std::min(end - plane, capacity_ - plane % capacity_);
        const ImageView planes = planes_at(plane, count);
        convert_pixels(
            subview(planes, {{0, box.begin.y, box.begin.x}, {count, box.end.y, box.end.x}}),
            subview(target, {{plane - begin, 0, 0},
                             {plane - begin + count, target.shape.y, target.shape.x}}),
            threads_);
        plane += count;
    }
}

// Loads consecutive planes from `first` on that are not loaded yet.
void SharedPlanes::load(index_t first, index_t end, std::unique_lock<std::mutex>& lock) {
    const index_t plane_bytes = ring_.bytes() / capacity_;
    const index_t at_once = std::max<index_t>(1, load_bytes / plane_bytes);
    index_t count = 0;
    const index_t most = std::min({at_once, end - first, capacity_ - first % capacity_});
    while (count < most && slot(first + count).plane != first + count) {
        slot(first + count) = {first + count, SlotState::loading};
        ++count;
    }
    const auto set_all = [&](const Slot& value) {
        for (index_t i = 0; i < count; ++i)
            slot(first + i) = {value.plane < 0 ? -1 : first + i, value.state};
        changed_.notify_all();
    };
    const index_t volume = first / format_.shape.z, z = first % format_.shape.z;
    lock.unlock();
    try {
        source_.read_box(volume / format_.channels, volume % format_.channels,
                         {{z, 0, 0}, {z + count, format_.shape.y, format_.shape.x}},
                         planes_at(first, count));
    } catch (...) {
        lock.lock();
        set_all({-1, SlotState::empty});
        throw;
    }
    lock.lock();
    set_all({first, SlotState::loaded});
}

void SharedPlanes::begin_task(index_t task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return task < first_running_ + in_flight_; });
}

void SharedPlanes::end_task(index_t task) {
    const std::lock_guard lock(mutex_);
    ended_[static_cast<std::size_t>(task)] = true;
    while (first_running_ < std::ssize(ended_) && ended_[static_cast<std::size_t>(first_running_)])
        ++first_running_;
    changed_.notify_all();
}

}  // namespace convolume
