// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "convolume/error.hpp"
#include "core/thread_team.hpp"
#include "deconvolve/packed_rows.cuh"
#include "deconvolve/walker.cuh"

namespace convolume::deconvolve {

namespace {

// Calls work(first plane, how many) for runs of planes that lie one after another in all rings.
template <class Work>
void for_runs(const gpu::Range& planes, std::initializer_list<const PlaneRing*> rings,
              const Work& work) {
    for (index_t z = planes.begin; z < planes.end;) {
        index_t count = planes.end - z;
        for (const PlaneRing* ring : rings)
            if (ring->places > 0) count = std::min(count, ring->places - z % ring->places);
        work(z, count);
        z += count;
    }
}

void copy(void* to, const void* from, index_t bytes, cudaStream_t stream) {
    gpu::check(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "copying between host and GPU");
}

// Launches of a step with sums: rings wrap, and what is counted and what is alike begins and ends.
constexpr index_t most_launches_a_step = 12;

}  // namespace

// A ring holds the planes of a step, those of the next, which are on their way, and, where
// planes go back, those of the last. Points stay until their update.
WalkerRings::WalkerRings(const Problem& problem, const gpu::PairAxis& z, index_t depth,
                         bool narrow) {
    const PlaneBytes bytes(problem, narrow);
    const auto ring = [](index_t places, index_t plane_bytes) {
        PlaneRing made;
        if (plane_bytes == 0) return made;
        made.places = places;
        made.plane_bytes = plane_bytes;
        return made;
    };
    newest = ring(2 * depth, bytes.object);
    before = ring(2 * depth, bytes.before);
    points = ring(2 * depth + z.taps - 1, bytes.object);
    changes = ring(depth, bytes.change > 0 ? bytes.object : 0);
    packed_changes = ring(3 * depth, bytes.change);
    data = ring(2 * depth, bytes.data);
    held = ring(2 * depth, bytes.held);
    const auto planes_alike = alike_planes(problem, z, z.whole_object());
    const bool differ = planes_alike.first > 0 || planes_alike.last + 1 < z.object;
    weights = ring(2 * depth, differ ? bytes.object : 0);
    alike = ring(1, bytes.object);
    const bool smooth = tv_weight_of(problem) > 0;
    divisors = ring(depth, smooth ? bytes.object : 0);
    neighborhood = ring(depth + 2, smooth ? bytes.object : 0);
}

index_t WalkerRings::bytes() const {
    index_t sum = 0;
    for (const PlaneRing* ring : all()) sum = checked_add(sum, ring->bytes());
    return sum;
}

Walker::Walker(const Place& place, const Problem& problem, const gpu::PairAxes& axes,
               const std::vector<ConstImageView>& kernels, WalkArrays& arrays)
    : place_(place),
      walk_(axes[0], place.object, place.depth),
      z_(axes[0]),
      arrays_(arrays),
      rings_(problem, axes[0], place.depth, arrays.narrow_data) {
    if (rings_.bytes() >= place.limit_bytes)
        throw OutOfMemory(message("planes of the arrays take ", format_bytes(rings_.bytes()),
                                  " of the ", format_bytes(place.limit_bytes),
                                  " that a GPU may hold"));
    passes_.emplace(place.device, axes, walk_.ring(), kernels, place.limit_bytes - rings_.bytes());
    for (PlaneRing* ring : rings_.all()) ring->allocate(place.device);
    most_blocks_ = walk_.steps() * most_launches_a_step *
                   std::max(passes_->most_sums() / 2, index_t{most_blocks});
    sums_ = gpu::DeviceMemory(
        place.device,
        static_cast<index_t>(blocks_.size()) * most_blocks_ * index_t{sizeof(SumPair)},
        "sums of a deconvolution");
    const gpu::Range loaded = walk_.loaded();
    lower_ = {loaded.begin, place.object.begin};
    upper_ = {place.object.end, loaded.end};
    if (lower_.count() + upper_.count() > 0)
        borders_ = PlaneArray(lower_.count() + upper_.count(), arrays.newest.plane_bytes(), 1);
}

void Walker::keep_borders(int threads) {
    const auto keep = [&](const gpu::Range& planes, index_t at) {
        parallel_for(planes.count(), threads, [&](index_t i, int) {
            std::copy_n(arrays_.target().plane(planes.begin + i), arrays_.object_plane,
                        borders_.plane(at + i));
        });
    };
    keep(lower_, 0);
    keep(upper_, lower_.count());
}

const char* Walker::source(const PlaneArray& array, index_t z) const {
    if (&array != &arrays_.target()) return array.bytes_of(z);
    if (z < lower_.end) return borders_.bytes_of(z - lower_.begin);
    if (z >= upper_.begin) return borders_.bytes_of(lower_.count() + z - upper_.begin);
    return array.bytes_of(z);
}

void Walker::copy_in(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes) {
    // Runs end where borders do.
    for (const gpu::Range& part :
         {planes.within({0, lower_.end}), planes.within({lower_.end, upper_.begin}),
          planes.within({upper_.begin, planes.end})})
        for_runs(part, {&ring}, [&](index_t z, index_t count) {
            copy(ring.bytes_of(z), source(array, z), count * ring.plane_bytes, uploads_);
        });
}

void Walker::copy_out(const PlaneRing& ring, const PlaneArray& array, const gpu::Range& planes) {
    for_runs(planes, {&ring}, [&](index_t z, index_t count) {
        copy(array.bytes_of(z), ring.bytes_of(z), count * ring.plane_bytes, downloads_);
    });
}

void Walker::enqueue(index_t k, const WalkTask& task) {
    const WalkStep step = walk_.step(k);
    const auto event = [&](const std::array<gpu::Event, 4>& events, index_t of) -> const auto& {
        return events[static_cast<std::size_t>(of) % events.size()];
    };
    if (k == 0) blocks_ = {};
    // What this step's planes take the places of is done with.
    if (k >= 4) event(downloaded_, k - 4).wait();
    if (k >= 2) event(worked_, k - 2).hold_back(uploads_);
    if (k >= 3) event(downloaded_, k - 3).hold_back(uploads_);
    upload(k, step, task);
    event(uploaded_, k).record(uploads_);

    event(uploaded_, k).hold_back(work_);
    if (k >= 2) event(downloaded_, k - 2).hold_back(work_);
    if (task.kind == WalkTask::Kind::iteration) load_points(step, task.origin);
    if (step.image.count() > 0) compare(step, task);
    if (step.update.count() > 0) update(step, task);
    event(worked_, k).record(work_);

    event(worked_, k).hold_back(downloads_);
    download(step, task);
    event(downloaded_, k).record(downloads_);
}

void Walker::upload(index_t k, const WalkStep& step, const WalkTask& task) {
    if (task.kind == WalkTask::Kind::weights) {
        if (!task.compares_all) copy_in(rings_.data, arrays_.data, step.image);
        return;
    }
    copy_in(rings_.newest, arrays_.newest, step.load);
    if (arrays_.before && !task.origin.restart) copy_in(rings_.before, arrays_.before, step.load);
    copy_in(rings_.data, arrays_.data, step.image);
    if (task.held_share > 0) copy_in(rings_.held, arrays_.held, step.image);
    if (arrays_.change && !task.origin.restart)
        copy_in(rings_.packed_changes, arrays_.change, step.update);
    const auto [first, last] = arrays_.alike;
    const auto weights = [&](float* to, index_t z) {
        copy(to, arrays_.weights.plane(arrays_.alike.stored(z)), rings_.alike.plane_bytes,
             uploads_);
    };
    if (k == 0) weights(rings_.alike.at(0), first);
    for (index_t z = step.update.begin; z < step.update.end; ++z)
        if (z < first || z > last) weights(rings_.weights.at(z), z);
}

void Walker::load_points(const WalkStep& step, const Origin& origin) {
    for_runs(step.load, {&rings_.newest, &rings_.points}, [&](index_t z, index_t count) {
        gpu::RowStage stage;
        stage.kind = Kind::point;
        stage.newest = rings_.newest.at(z);
        if (arrays_.before) stage.before = rings_.before.at(z);
        stage.restart = origin.restart;
        stage.ahead = origin.ahead;
        stage.kept = rings_.points.at(z);
        passes_->forward(Side::object, stage, {walk_.of_object(z), count}, work_);
    });
}

SumPair* Walker::place_for_sums(std::size_t which) const {
    return sums_.as<SumPair>() + static_cast<index_t>(which) * most_blocks_ + blocks_[which];
}

void Walker::compare(const WalkStep& step, const WalkTask& task) {
    if (task.kind == WalkTask::Kind::weights) {
        for_runs(step.image, {&rings_.data}, [&](index_t z, index_t count) {
            gpu::RowStage ones;
            ones.kind = Kind::ones;
            if (!task.compares_all) ones.data = rings_.data.at(z);
            passes_->forward(Side::image, ones, {walk_.of_image(z), count}, work_);
        });
        return;
    }
    passes_->along_z(z_.object_map(step.seen, walk_.of_object(step.seen.begin), walk_.ring()),
                     z_.image_map(step.image, walk_.of_image(step.image.begin), walk_.ring()),
                     false, work_);
    // Planes that another walk counts, too, are compared for their ratios alone.
    for (const gpu::Range& part :
         {step.image.within({0, place_.image.begin}), step.image.within(place_.image),
          step.image.within({place_.image.end, step.image.end})}) {
        const bool counted = part.begin >= place_.image.begin && part.end <= place_.image.end;
        for_runs(part, {&rings_.data}, [&](index_t z, index_t count) {
            gpu::RowStage stage;
            stage.kind = Kind::ratio;
            stage.data = rings_.data.bytes_of(z);
            stage.narrow_data = arrays_.narrow_data;
            if (task.held_share > 0) stage.held = rings_.held.at(z);
            stage.held_share = task.held_share;
            stage.model = task.model;
            stage.less = task.unmatched ? 1 : 0;
            double* const sums = counted ? &place_for_sums(0)->first : nullptr;
            const index_t blocks =
                passes_->inverse(Side::image, stage, {walk_.of_image(z), count}, sums, work_);
            if (counted) blocks_[0] += blocks;
        });
    }
}

void Walker::update(const WalkStep& step, const WalkTask& task) {
    passes_->along_z(z_.image_map(step.light, walk_.of_image(step.light.begin), walk_.ring()),
                     z_.object_map(step.update, walk_.of_update(step.update.begin), walk_.ring()),
                     true, work_, task.unmatched ? 1 : 0);
    if (task.kind == WalkTask::Kind::weights) {
        for_runs(step.update, {&rings_.points}, [&](index_t z, index_t count) {
            passes_->inverse(Side::object, {walk_.of_update(z), count}, rings_.points.at(z), work_);
        });
        return;
    }
    if (task.tv_weight > 0) find_divisors(step.update, task);
    if (arrays_.change && !task.origin.restart)
        for_changes(step.update, [&](index_t rows, float* changes, char* packed) {
            unpack_rows(arrays_.packed, rows, packed, changes, work_);
        });
    for_updates(step.update, [&](index_t z, index_t count, bool alike) {
        gpu::RowStage stage;
        stage.kind = Kind::step;
        stage.newest = rings_.points.at(z);
        stage.restart = task.origin.restart;
        if (arrays_.change) stage.change = rings_.changes.at(z);
        if (task.tv_weight > 0) {
            stage.weight = rings_.divisors.at(z);
        } else {
            stage.weight = alike ? rings_.alike.at(0) : rings_.weights.at(z);
            if (alike) stage.alike = {0, count};
            stage.least_weight = least_weight;
        }
        stage.unmatched = task.unmatched;
        double* const sums = arrays_.change ? &place_for_sums(1)->first : nullptr;
        const index_t blocks =
            passes_->inverse(Side::object, stage, {walk_.of_update(z), count}, sums, work_);
        if (sums != nullptr) blocks_[1] += blocks;
    });
    if (arrays_.change)
        for_changes(step.update, [&](index_t rows, float* changes, char* packed) {
            pack_rows(arrays_.packed, rows, changes, packed, work_);
        });
}

template <class Work>
void Walker::for_changes(const gpu::Range& planes, const Work& work) const {
    const index_t rows = arrays_.object_plane / arrays_.packed.count;
    for_runs(planes, {&rings_.changes, &rings_.packed_changes}, [&](index_t z, index_t count) {
        work(count * rows, rings_.changes.at(z), rings_.packed_changes.bytes_of(z));
    });
}

template <class Work>
void Walker::for_updates(const gpu::Range& planes, const Work& work) {
    const auto [first, last] = arrays_.alike;
    const auto for_part = [&](const gpu::Range& part, bool alike) {
        for_runs(part,
                 {&rings_.points, &rings_.changes, &rings_.divisors,
                  alike ? &rings_.points : &rings_.weights},
                 [&](index_t z, index_t count) { work(z, count, alike); });
    };
    for_part(planes.within({0, first}), false);
    for_part(planes.within({first, last + 1}), true);
    for_part(planes.within({last + 1, planes.end}), false);
}

// Updates overwrite points: the last one of a step stays for the next step, as its first neighbor.
void Walker::find_divisors(const gpu::Range& planes, const WalkTask& task) {
    const index_t plane_bytes = rings_.points.plane_bytes;
    const auto place_of = [&](index_t z) { return rings_.neighborhood.at(z - planes.begin + 1); };
    const auto keep = [&](float* place, const float* from) {
        copy(place, from, plane_bytes, work_);
    };
    const index_t below = planes.begin - 1;
    // Nobody has updated what is not this walk's own.
    if (below >= 0 && below < walk_.own().begin) keep(place_of(below), rings_.points.at(below));
    const index_t end = std::min(planes.end + 1, z_.object);
    for (index_t z = planes.begin; z < end; ++z) keep(place_of(z), rings_.points.at(z));

    const index_t plane = arrays_.object_plane;
    const Grid grid{task.variation};
    for_updates(planes, [&](index_t z, index_t count, bool alike) {
        const SmoothDivisor stage{place_of(z),
                                  alike ? rings_.alike.at(0) : rings_.weights.at(z),
                                  alike ? plane : count * plane,
                                  rings_.divisors.at(z),
                                  z * plane,
                                  least_weight,
                                  task.variation,
                                  task.tv_weight};
        const GridRows rows{grid, {z * grid.extent[1], (z + count) * grid.extent[1]}};
        blocks_[2] += start_sums(rows, stage, place_for_sums(2), work_);
    });
    keep(place_of(below), place_of(planes.end - 1));
}

void Walker::download(const WalkStep& step, const WalkTask& task) {
    if (task.kind == WalkTask::Kind::iteration) {
        copy_out(rings_.points, arrays_.target(), step.update);
        if (arrays_.change) copy_out(rings_.packed_changes, arrays_.change, step.update);
        return;
    }
    for (index_t z = step.update.begin; z < step.update.end; ++z) {
        if (z > arrays_.alike.first && z <= arrays_.alike.last) continue;
        copy(arrays_.weights.plane(arrays_.alike.stored(z)), rings_.points.at(z),
             rings_.points.plane_bytes, downloads_);
    }
}

WalkSums Walker::finish() {
    work_.wait();
    downloads_.wait();
    WalkSums totals;
    for (std::size_t which = 0; which < totals.size(); ++which) {
        std::vector<SumPair> sums(static_cast<std::size_t>(blocks_[which]));
        gpu::check(cudaMemcpyAsync(sums.data(), place_for_sums(which) - blocks_[which],
                                   sums.size() * sizeof(SumPair), cudaMemcpyDeviceToHost, work_),
                   "fetching a sum");
        work_.wait();
        for (const SumPair& of_block : sums) totals[which] += of_block;
    }
    return totals;
}

void Walker::drain() noexcept {
    for (const gpu::Stream* stream : {&uploads_, &work_, &downloads_})
        static_cast<void>(cudaStreamSynchronize(*stream));
}

}  // namespace convolume::deconvolve
