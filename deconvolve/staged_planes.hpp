// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "convolume/volume.hpp"
#include "core/item_steps.hpp"
#include "core/stop_scope.hpp"

namespace convolume::deconvolve {

/// Staging memory for groups of float32 planes on their way to or from an executor. For executors
/// on devices, another thread converts one group while the calling thread copies the next or the
/// previous one.
class StagedPlanes {
  public:
    /// `memory` is Executor::staging().
    StagedPlanes(HostMemory memory, const Shape3& shape)
        : plane_(shape.y * shape.x), planes_(planes_of_group(memory, shape)) {
        // The host's own executors would share its threads, and few groups do not pay for another
        // thread and for its memory, whose pages are locked.
        is_overlapped_ =
            memory == HostMemory::page_locked && ceil_div(shape.z, planes_) >= least_groups;
        values_ = Volume({(is_overlapped_ ? 2 : 1) * planes_, shape.y, shape.x}, PixelType::float32,
                         memory);
    }

    /// Calls fill(planes, values) for one group of all planes after the other, and then
    /// copy(values, first sample, samples).
    template <class Fill, class Copy>
    void fill_and_copy(index_t planes, const Fill& fill, const Copy& copy) {
        const StopScope* const scope = current_stop_scope();
        ItemSteps steps;
        steps.read = [&](index_t group) {
            const AdoptedStopScope adopted(scope);
            fill(planes_of(group, planes), values(group));
        };
        steps.compute = [&](index_t group) {
            const IndexRange range = planes_of(group, planes);
            copy(values(group), range.begin * plane_, range.count() * plane_);
        };
        run_item_steps(ceil_div(planes, planes_), is_overlapped_, steps);
    }
    /// Calls copy(planes, values), and then use(planes, values).
    template <class Copy, class Use>
    void copy_and_use(index_t planes, const Copy& copy, const Use& use) {
        const StopScope* const scope = current_stop_scope();
        ItemSteps steps;
        steps.compute = [&](index_t group) { copy(planes_of(group, planes), values(group)); };
        steps.write = [&](index_t group) {
            const AdoptedStopScope adopted(scope);
            use(planes_of(group, planes), values(group));
        };
        run_item_steps(ceil_div(planes, planes_), is_overlapped_, steps);
    }

  private:
    static constexpr index_t group_samples = index_t{1} << 20, least_groups = 16;
    /// Each copy from or to a device waits for it. The host's planes stay in caches one by one.
    static index_t planes_of_group(HostMemory memory, const Shape3& shape) {
        if (memory == HostMemory::ordinary) return 1;
        const index_t enough = group_samples / std::max<index_t>(shape.y * shape.x, 1);
        return std::clamp<index_t>(enough, 1, std::max<index_t>(1, shape.z));
    }
    IndexRange planes_of(index_t group, index_t planes) const {
        return {group * planes_, std::min(planes, (group + 1) * planes_)};
    }
    float* values(index_t group) {
        return values_.elements<float>() + (is_overlapped_ ? group % 2 : 0) * planes_ * plane_;
    }

    index_t plane_, planes_;
    bool is_overlapped_ = false;
    Volume values_;
};

}  // namespace convolume::deconvolve
