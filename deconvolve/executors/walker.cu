// SPDX-License-Identifier: Apache-2.0

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/walker.cuh"

namespace convolume::deconvolve {

namespace {

void copy(void* to, const void* from, index_t bytes, cudaStream_t stream) {
    gpu::check(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "copying between host and GPU");
}
/// Copies rows. Pitches are the bytes from one row to the next.
void copy_rows(void* to, index_t to_pitch, const void* from, index_t from_pitch, index_t row_bytes,
               index_t rows, cudaStream_t stream) {
    const auto size = [](index_t bytes) { return static_cast<std::size_t>(bytes); };
    gpu::check(cudaMemcpy2DAsync(to, size(to_pitch), from, size(from_pitch), size(row_bytes),
                                 size(rows), cudaMemcpyDefault, stream),
               "copying between host and GPU");
}

std::vector<PlaneTile> tiles_or_whole(const Walker::Setup& setup, const PairAxes& axes) {
    if (!setup.tiles.empty()) return setup.tiles;
    return {whole_planes(axes[1], axes[2])};
}

// Most launches with sums in a step: runs of planes end where rings wrap, where counted planes
// begin or end, and where planes of equal weights do.
constexpr index_t most_launches_a_step = 12;

}  // namespace

Walker::Walker(const Setup& setup, const DeconvolutionProblem& problem, const PairAxes& axes,
               const PlaneKernels& kernels, WalkArrays& arrays, index_t chained)
    : z_(axes[0]),
      arrays_(arrays),
      rings_(problem, axes[0], setup.depth, setup.iterations_a_walk,
             most_samples(tiles_or_whole(setup, axes)), !setup.tiles.empty(), setup.resident),
      setup_(setup),
      axes_(axes),
      tiles_(tiles_or_whole(setup, axes)),
      tile_(tiles_.data()),
      walks_(PlaneWalk::chain(axes[0], setup.object, setup.depth, chained)),
      back_(axes[0], setup.object, setup.depth) {
    check_gpu_arrays("planes of the arrays", rings_.bytes(), setup.limit_bytes);
    passes_.emplace(setup.device, axes, back_.ring(), kernels, setup.limit_bytes - rings_.bytes(),
                    WalkerRings::spectra(problem, setup.iterations_a_walk));
    rings_.allocate(setup.device);
    choose_tile(0);
    most_blocks_ = most_launches_a_step * std::max(passes_->most_sums() / 2, index_t{most_blocks});
    const index_t kinds = index_of(static_cast<std::size_t>(setup.iterations_a_walk), 0);
    const auto sums = [&](index_t count) {
        return gpu::DeviceMemory(setup.device, kinds * count * index_t{sizeof(SumPair)},
                                 "sums of a deconvolution");
    };
    sums_ = sums(most_blocks_);
    step_sums_ = sums(walks_.back().steps());
    // Walks of linear systems load no planes that another walk overwrites.
    const IndexRange loaded = arrays.product ? setup.object : walks_.front().loaded();
    lower_ = {loaded.begin, setup.object.begin};
    upper_ = {setup.object.end, loaded.end};
    if (lower_.count() + upper_.count() > 0)
        borders_ = PlaneArray(lower_.count() + upper_.count(), arrays.object, sizeof(float), 1);
}

void Walker::choose_tile(index_t tile) {
    tile_ = &tiles_[static_cast<std::size_t>(tile)];
    rings_.set_planes(tile_->samples());
    passes_->set_plane(tile_->y.within(axes_[1]), tile_->x.within(axes_[2]));
}

std::unique_ptr<Walker> Walker::make(const Setup& setup, const DeconvolutionProblem& problem,
                                     const PairAxes& axes, const PlaneKernels& kernels,
                                     WalkArrays& arrays) {
    if (problem.traits.fits_passes && setup.tiles.empty())
        return std::make_unique<FusedWalker>(setup, problem, axes, kernels, arrays);
    return std::make_unique<OperationWalker>(setup, problem, axes, kernels, arrays);
}

index_t Walker::steps(const WalkTask& task) const {
    return task.purpose == WalkPurpose::iteration ? walks_[chained(task) - 1].steps()
                                                  : back_.steps();
}

void Walker::keep_borders(int threads) {
    const auto keep = [&](const IndexRange& planes, index_t at) {
        parallel_for(planes.count(), threads, [&](index_t i, int) {
            std::copy_n(arrays_.target().plane(planes.begin + i), arrays_.object.samples(),
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

void Walker::copy_in(const PlaneRing& ring, const PlaneArray& array, const IndexRange& planes) {
    // Runs must not cross the borders, because source() may take border planes from `borders_`.
    for (const IndexRange& part :
         {planes.within({0, lower_.end}), planes.within({lower_.end, upper_.begin}),
          planes.within({upper_.begin, planes.end})})
        for_runs(part, {&ring}, [&](index_t z, index_t count) {
            upload_planes(ring, ring.bytes_of(z), array, source(array, z), count);
        });
}

void Walker::upload_planes(const PlaneRing& ring, char* to, const PlaneArray& array,
                           const char* from, index_t count) const {
    if (tile_->is_whole) {
        copy(to, from, count * ring.plane_bytes(), uploads_);
        return;
    }
    const IndexRange& y = ring.of_image ? tile_->y.image : tile_->y.object;
    const IndexRange& x = ring.of_image ? tile_->x.image : tile_->x.object;
    const index_t row_bytes = x.count() * ring.sample_bytes;
    from += y.begin * array.row_bytes() + x.begin * ring.sample_bytes;
    for (index_t i = 0; i < count; ++i)
        copy_rows(to + i * ring.plane_bytes(), row_bytes, from + i * array.plane_bytes(),
                  array.row_bytes(), row_bytes, y.count(), uploads_);
}

void Walker::download_planes(const PlaneRing& ring, const char* from, const PlaneArray& array,
                             char* to, index_t count) const {
    if (tile_->is_whole) {
        copy(to, from, count * ring.plane_bytes(), downloads_);
        return;
    }
    const IndexRange &y = tile_->y.own, &x = tile_->x.own;
    const PlaneWindow there = tile_->own_window();
    const index_t pitch = there.row * ring.sample_bytes;
    from += there.y.begin * pitch + there.x.begin * ring.sample_bytes;
    to += y.begin * array.row_bytes() + x.begin * ring.sample_bytes;
    for (index_t i = 0; i < count; ++i)
        copy_rows(to + i * array.plane_bytes(), array.row_bytes(), from + i * ring.plane_bytes(),
                  pitch, x.count() * ring.sample_bytes, y.count(), downloads_);
}

void Walker::copy_out(const PlaneRing& ring, const PlaneArray& array, const IndexRange& planes) {
    for_runs(planes, {&ring}, [&](index_t z, index_t count) {
        download_planes(ring, ring.bytes_of(z), array, array.bytes_of(z), count);
    });
}

void Walker::enqueue(index_t k, const WalkTask& task) {
    const auto event = [&](const std::array<gpu::CudaEvent, 4>& events, index_t of) -> const auto& {
        return events[static_cast<std::size_t>(of) % events.size()];
    };
    const bool iterates = task.purpose == WalkPurpose::iteration;
    const WalkStep back = back_.planes_at_step(k);
    blocks_.assign(std::max<std::size_t>(1, task.starts.size()), {});
    // Planes whose slots this step takes are no longer needed.
    if (k >= 4) event(downloaded_, k - 4).wait();
    if (k >= 2) event(worked_, k - 2).make_wait(uploads_);
    if (k >= 3) event(downloaded_, k - 3).make_wait(uploads_);
    iterates ? upload(k, task) : upload_back(back, task);
    event(uploaded_, k).record(uploads_);

    event(uploaded_, k).make_wait(work_);
    if (k >= 2) event(downloaded_, k - 2).make_wait(work_);
    iterates ? work(k, task) : work_back(back, task);
    add_up_sums(k);
    event(worked_, k).record(work_);

    event(worked_, k).make_wait(downloads_);
    iterates ? download(k, task) : download_back(back, task);
    event(downloaded_, k).record(downloads_);
}

void Walker::upload_back(const WalkStep& step, const WalkTask& task) {
    if (setup_.resident.data) return;
    if (task.purpose == WalkPurpose::right_hand_side || !task.compares_all)
        copy_in(rings_.data, arrays_.data, step.image);
}

void Walker::work_back(const WalkStep& step, const WalkTask& task) {
    for_runs(step.image, {&rings_.data}, [&](index_t z, index_t count) {
        const DevicePlanePasses::SlotRange slots{back_.of_image(z), count};
        if (task.purpose == WalkPurpose::right_hand_side) {
            passes_->forward(PlaneKind::image, rings_.data.at(z), slots, work_);
            return;
        }
        ElementWork work;
        work.loads_ones = true;
        if (!task.compares_all) work.data = rings_.data.at(z);
        passes_->forward(PlaneKind::image, work, slots, work_);
    });
    if (step.update.count() == 0) return;
    blur_back(back_, step);
    const PlaneRing& made = rings_.points.front();
    for_runs(step.update, {&made}, [&](index_t z, index_t count) {
        passes_->inverse(PlaneKind::object, {back_.of_update(z), count}, made.at(z), work_);
    });
}

void Walker::download_back(const WalkStep& step, const WalkTask& task) {
    const PlaneRing& made = rings_.points.front();
    if (task.purpose == WalkPurpose::right_hand_side) {
        copy_out(made, arrays_.residual, step.update);
        return;
    }
    for (index_t z = step.update.begin; z < step.update.end; ++z) {
        if (z > arrays_.equal_planes.first && z <= arrays_.equal_planes.last) continue;
        if (setup_.resident.weights) {
            char* const kept = z == arrays_.equal_planes.first ? rings_.equal_weights.bytes_of(0)
                                                               : rings_.weights.bytes_of(z);
            copy(kept, made.bytes_of(z), made.plane_bytes(), downloads_);
            continue;
        }
        download_planes(made, made.bytes_of(z), arrays_.weights,
                        arrays_.weights.bytes_of(arrays_.equal_planes.stored(z)), 1);
    }
}

void Walker::upload_image(const IndexRange& planes, const WalkTask& task) {
    if (!setup_.resident.data) copy_in(rings_.data, arrays_.data, planes);
    if (task.settings.held_out_share > 0) copy_in(rings_.held_out, arrays_.held_out, planes);
}

void Walker::upload_weights(index_t k, const IndexRange& planes) {
    if (setup_.resident.weights) return;
    const auto [first, last] = arrays_.equal_planes;
    const auto load = [&](const PlaneRing& ring, index_t setup, index_t z) {
        upload_planes(ring, ring.bytes_of(setup), arrays_.weights,
                      arrays_.weights.bytes_of(arrays_.equal_planes.stored(z)), 1);
    };
    if (k == 0) load(rings_.equal_weights, 0, first);
    for (index_t z = planes.begin; z < planes.end; ++z)
        if (z < first || z > last) load(rings_.weights, z, z);
}

void Walker::write_data(const void* pixels, index_t first, index_t count) {
    const index_t bytes = rings_.data.sample_bytes;
    copy(rings_.data.memory.data() + first * bytes, pixels, count * bytes, uploads_);
    uploads_.wait();
}

void Walker::read_weights(float* planes) {
    const index_t samples = arrays_.object.samples();
    const auto [first, last] = arrays_.equal_planes;
    for (index_t z = 0; z < z_.object; ++z) {
        if (z > first && z <= last) continue;
        const PlaneRing& ring = z == first ? rings_.equal_weights : rings_.weights;
        copy(planes + arrays_.equal_planes.stored(z) * samples, ring.bytes_of(z == first ? 0 : z),
             ring.plane_bytes(), uploads_);
    }
    uploads_.wait();
}

void Walker::load_points(const IndexRange& planes, const StepStart& start, std::size_t i) {
    const PlaneRing& points = rings_.points[i];
    const PlaneRing& newest = i == 0 ? rings_.newest : rings_.points[i - 1];
    const PlaneRing& before = i == 0   ? rings_.before
                              : i == 1 ? rings_.newest
                                       : rings_.points[i - 2];
    for_runs(planes, {&newest, &before, &points}, [&](index_t z, index_t count) {
        ElementWork work;
        work.newest = newest.at(z);
        if (arrays_.before) work.before = before.at(z);
        work.restart = start.restart;
        work.elements.extrapolation = start.extrapolation;
        work.kept = points.at(z);
        passes_->forward(PlaneKind::object, work,
                         {walk(i).of_object(z), count, static_cast<index_t>(i)}, work_);
    });
}

void Walker::blur(const PlaneWalk& walk, const WalkStep& step, index_t ring) {
    passes_->along_z(z_.object_map(step.seen, walk.of_object(step.seen.begin), walk.ring()),
                     z_.image_map(step.image, walk.of_image(step.image.begin), walk.ring()), false,
                     step.seen.begin, work_, 0, ring);
}

void Walker::blur_back(const PlaneWalk& walk, const WalkStep& step, std::size_t kernel,
                       index_t ring) {
    passes_->along_z(z_.image_map(step.light, walk.of_image(step.light.begin), walk.ring()),
                     z_.object_map(step.update, walk.of_update(step.update.begin), walk.ring()),
                     true, step.update.begin, work_, kernel, ring);
}

// Keeps the last point of this step: the next step needs it as a neighbor, and updates overwrite
// points.
void Walker::find_divisors(const IndexRange& planes, const WalkTask& task) {
    const index_t plane_bytes = rings_.points.front().plane_bytes();
    const auto place_of = [&](index_t z) { return rings_.neighborhood.at(z - planes.begin + 1); };
    const auto keep = [&](float* setup, const float* from) {
        gpu::check(cudaMemcpyAsync(setup, from, static_cast<std::size_t>(plane_bytes),
                                   cudaMemcpyDeviceToDevice, work_),
                   "copying on the GPU");
    };
    const index_t below = planes.begin - 1;
    // Planes of another walker have not been updated here.
    if (below >= 0 && below < own().begin) keep(place_of(below), rings_.points.front().at(below));
    const index_t end = std::min(planes.end + 1, z_.object);
    for (index_t z = planes.begin; z < end; ++z) keep(place_of(z), rings_.points.front().at(z));

    const index_t plane = object_plane();
    TotalVariation variation = task.settings.variation;
    variation.extent[1] = tile().y.object.count();
    variation.extent[2] = tile().x.object.count();
    const VoxelGrid grid{variation};
    for_updates(planes, {&rings_.divisors}, [&](index_t z, index_t count, bool equal_planes) {
        const PenalizedDivisor functor{
            place_of(z),
            equal_planes ? rings_.equal_weights.at(0) : rings_.weights.at(z),
            equal_planes ? plane : count * plane,
            rings_.divisors.at(z),
            z * plane,
            least_weight,
            variation,
            task.settings.tv_weight};
        const VoxelRows rows{grid, {z * grid.extent[1], (z + count) * grid.extent[1]}};
        add_blocks(2, start_sums(rows, WindowedSum{functor, tile().own_window()}, place_for_sums(2),
                                 work_));
    });
    keep(place_of(below), place_of(planes.end - 1));
}

ImagePixels Walker::pixels(index_t z) const {
    if (!arrays_.data_is_uint16) return {rings_.data.at(z), nullptr};
    return {nullptr, reinterpret_cast<const std::uint16_t*>(rings_.data.bytes_of(z))};
}

// Returns the numbers of the pixels from plane z on.
PixelNumbers Walker::pixel_numbers(index_t z) const {
    const PlaneShape& whole = arrays_.image;
    return {z * whole.samples() + tile_->y.image.begin * whole.row + tile_->x.image.begin,
            tile_->y.image.count(),
            tile_->x.image.count(),
            whole.samples(),
            whole.row,
            tile_->is_whole};
}

Weights Walker::weights(index_t z, index_t count, bool equal_planes) const {
    if (!equal_planes) return {rings_.weights.at(z)};
    return {rings_.equal_weights.at(0), object_plane(), {0, count}};
}

void Walker::add_up_sums(index_t k) {
    done_steps_ = k + 1;
    auto* const sums = step_sums_.as<SumPair>() + k * index_of(blocks_.size(), 0);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        for (std::size_t which = 0; which < blocks_[i].size(); ++which) {
            const index_t count = std::exchange(blocks_[i][which], 0);
            add_up(place_for_sums(which, i), count, sums + index_of(i, which), work_);
        }
}

std::vector<StepSums> Walker::finish() {
    const auto steps = static_cast<std::size_t>(done_steps_);
    std::vector<StepSums> of_steps(steps * blocks_.size()), totals(blocks_.size());
    gpu::check(cudaMemcpyAsync(of_steps.data(), step_sums_.data(),
                               of_steps.size() * sizeof(StepSums), cudaMemcpyDeviceToHost, work_),
               "fetching a sum");
    work_.wait();
    downloads_.wait();
    for (std::size_t i = 0; i < of_steps.size(); ++i)
        for (std::size_t which = 0; which < totals.front().size(); ++which)
            totals[i % totals.size()][which] += of_steps[i][which];
    return totals;
}

void Walker::drain() noexcept {
    for (const gpu::CudaStream* stream : {&uploads_, &work_, &downloads_})
        static_cast<void>(cudaStreamSynchronize(*stream));
}

}  // namespace convolume::deconvolve
