// SPDX-License-Identifier: Apache-2.0
#include "convolume/volume_ring.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"

namespace convolume {

// Planes are numbered through all volumes. Those from the volume that was taken to the last one
// that came are in the ring.
struct VolumeRing::Impl : ImageSource {
    Impl(const Shape3& volume, PixelType type, index_t volumes) : shape(volume) {
        if (volumes < 1)
            throw InvalidArgument(
                message("a ring of ", volumes, " volumes holds nothing: give it one at least"));
        for (index_t i = 0; i < volumes; ++i) ring.emplace_back(shape, type);
    }

    Volume& volume_of(index_t plane) {
        return ring[static_cast<std::size_t>(plane / shape.z) % ring.size()];
    }
    index_t room() const {
        if (is_ended) return 0;
        return (std::max<index_t>(0, taken) + std::ssize(ring)) * shape.z - pushed;
    }
    /// Waits until plane `plane` has come. Returns false if it never will.
    bool wait_for(index_t plane) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_ended || pushed > plane; });
        return pushed > plane;
    }

    StackFormat format() const override { return {shape, ring.front().type()}; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        if (element_count(box.shape()) == 0) return;
        const index_t first = taken * shape.z;
        if (!wait_for(first + box.end.z - 1))
            throw BadData(message("the recording ended in volume ", taken, " before plane ",
                                  box.end.z - 1, " of ", shape.z, " planes"));
        convert_pixels(subview(std::as_const(volume_of(first)).view(), box), target);
    }

    const Shape3 shape;
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::vector<Volume> ring;
    index_t pushed = 0;  ///< number of planes that have come
    index_t taken = -1;  ///< number of the volume that was taken; -1: none
    bool is_ended = false;
};

VolumeRing::VolumeRing(const Shape3& shape, PixelType type, index_t volumes)
    : impl_(std::unique_ptr<Impl>(new Impl(shape, type, volumes))) {}

bool VolumeRing::push(const ConstImageView& planes) {
    Impl& impl = *impl_;
    const Shape3& shape = impl.shape;
    const PixelType type = impl.ring.front().type();
    if (planes.shape.y != shape.y || planes.shape.x != shape.x || planes.type != type)
        throw InvalidArgument(message("planes of ", to_string(planes.shape), " and ",
                                      to_string(planes.type), " do not fit a ring of ",
                                      to_string(shape), " and ", to_string(type)));
    for (index_t z = 0; z < planes.shape.z;) {
        std::unique_lock lock(impl.mutex);
        impl.changed.wait(lock, [&] { return impl.is_ended || impl.room() > 0; });
        if (impl.is_ended) return false;
        const index_t first = impl.pushed % shape.z;
        const index_t count = std::min(planes.shape.z - z, shape.z - first);
        // Nobody reads planes that have not come, so that they are copied without a lock.
        lock.unlock();
        convert_pixels(subview(planes, {{z, 0, 0}, {z + count, shape.y, shape.x}}),
                       subview(impl.volume_of(impl.pushed).view(),
                               {{first, 0, 0}, {first + count, shape.y, shape.x}}));
        lock.lock();
        impl.pushed += count;
        z += count;
        lock.unlock();
        impl.changed.notify_all();
    }
    return true;
}

index_t VolumeRing::room() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->room();
}

void VolumeRing::end() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->is_ended = true;
    }
    impl_->changed.notify_all();
}

ImageSource* VolumeRing::next() {
    Impl& impl = *impl_;
    {
        const std::lock_guard lock(impl.mutex);
        ++impl.taken;
    }
    impl.changed.notify_all();
    return impl.wait_for(impl.taken * impl.shape.z) ? &impl : nullptr;
}

}  // namespace convolume
