// SPDX-License-Identifier: Apache-2.0
#include "convolume/volume_ring.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"

namespace convolume {

// Planes are numbered through all volumes. Those from the volume that was taken to the last one
// that came are in the ring.
struct VolumeRing::Impl : ImageSource {
    Impl(const Shape3& volume, PixelType type, index_t volumes) : shape(volume), count(volumes) {
        if (volumes < 1 || element_count(volume) < 1)
            throw InvalidArgument(message("a ring of ", volumes, " volumes of ", to_string(volume),
                                          " holds nothing: give it one volume with samples at "
                                          "least"));
        samples = Volume({checked_multiply(volumes, shape.z), shape.y, shape.x}, type);
    }

    /// Returns the place of planes of one volume, from number `first` on.
    Box3 place_of(index_t first, index_t planes) const {
        const index_t z = first % (count * shape.z);
        return {{z, 0, 0}, {z + planes, shape.y, shape.x}};
    }
    index_t room() const {
        if (is_ended) return 0;
        return (std::max<index_t>(0, taken) + count) * shape.z - pushed;
    }
    /// Waits until plane `plane` has come. Returns false if it never will.
    bool wait_for(index_t plane) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_ended || pushed > plane; });
        return pushed > plane;
    }

    StackFormat format() const override { return {shape, samples.type()}; }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        if (element_count(box.shape()) == 0) return;
        const index_t first = taken * shape.z;
        if (!wait_for(first + box.end.z - 1))
            throw BadData(message("the recording ended in volume ", taken, " before plane ",
                                  box.end.z - 1, " of ", shape.z, " planes"));
        const ConstImageView volume =
            subview(std::as_const(samples).view(), place_of(first, shape.z));
        convert_pixels(subview(volume, box), target);
    }

    const Shape3 shape;
    const index_t count;  ///< number of volumes in the ring
    mutable std::mutex mutex;
    std::condition_variable changed;
    Volume samples;      ///< the volumes, one after another
    index_t pushed = 0;  ///< number of planes that have come
    index_t taken = -1;  ///< number of the volume that was taken; -1: none
    bool is_ended = false;
};

VolumeRing::VolumeRing(const Shape3& shape, PixelType type, index_t volumes)
    : impl_(std::unique_ptr<Impl>(new Impl(shape, type, volumes))) {}

bool VolumeRing::push(const ConstImageView& planes) {
    Impl& impl = *impl_;
    const Shape3& shape = impl.shape;
    const PixelType type = impl.samples.type();
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
        // Planes that have not come are not read, and are copied without a lock.
        lock.unlock();
        convert_pixels(subview(planes, {{z, 0, 0}, {z + count, shape.y, shape.x}}),
                       subview(impl.samples.view(), impl.place_of(impl.pushed, count)));
        lock.lock();
        impl.pushed += count;
        z += count;
        lock.unlock();
        impl.changed.notify_all();
    }
    return planes.shape.z > 0 || !is_ended();
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

bool VolumeRing::is_ended() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->is_ended;
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
