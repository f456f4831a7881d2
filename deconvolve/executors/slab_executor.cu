// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>

#include "deconvolve/executors/slab_executor.cuh"

namespace convolume::deconvolve {

namespace {

// The part of `count` samples from `first` on that lies in planes of `plane` samples: calls
// work(first sample of those, first of the planes' own, how many).
template <class Work>
void within(const IndexRange& planes, index_t plane, index_t first, index_t count,
            const Work& work) {
    const IndexRange there =
        IndexRange{first, first + count}.within({planes.begin * plane, planes.end * plane});
    if (there.count() > 0)
        work(there.begin - first, there.begin - planes.begin * plane, there.count());
}

}  // namespace

struct SlabExecutor::Part : PassPart {
    using PassPart::PassPart;
    gpu::CudaEvent ready, fetched;  ///< its spectra; those of its neighbors
};

SlabExecutor::SlabExecutor(const Problem& problem, const PairAxes& axes,
                           const std::vector<PlanePart>& parts,
                           const std::vector<ConstImageView>& kernels,
                           const std::vector<SlabPlace>& places, int threads)
    : compares_all_(problem.compares_all()), threads_(threads) {
    for (std::size_t g = 0; g < parts.size(); ++g) {
        const SlabPlace& place = places[g];
        const gpu::DeviceScope scope(place.device);
        parts_.push_back(std::make_unique<Part>(place, problem, axes, parts[g], kernels, threads));
    }
    let_reach(devices_of(places));
}

SlabExecutor::~SlabExecutor() = default;

std::shared_ptr<DeviceWorkspace> SlabExecutor::workspace() const {
    if (parts_.size() > 1) return nullptr;
    return parts_.front()->passes().workspace();
}

// Calls work(as_left), which enqueues passes. The workspace of a single part may be shared: then
// others have their turns between this and the next, and leave other spectra in it.
template <class Work>
void SlabExecutor::in_turn(const Work& work) {
    if (parts_.size() > 1) return work(true);
    Part& part = *parts_.front();
    const gpu::DeviceScope scope(part.device());
    part.passes().in_turn(part.stream(), work);
}

index_t SlabExecutor::array_bytes() const {
    index_t bytes = 0;
    for (const auto& part : parts_) bytes += part->layout().bytes();
    return bytes;
}

index_t SlabExecutor::most_bytes() const {
    GpuBytes bytes;
    for (const auto& part : parts_) bytes.add(part->device(), part->bytes());
    return bytes.most();
}

void SlabExecutor::write_image(const float* values, index_t first, index_t count) {
    on_each(parts_, [&](Part& part) {
        within(part.planes().image, part.layout().image_plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   part.write_image(values + from, to, samples);
               });
    });
}

void SlabExecutor::write_estimate(const float* values, index_t first, index_t count) {
    on_each(parts_, [&](Part& part) {
        within(part.planes().object, part.layout().plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   part.write(values + from, part.newest(), to, samples);
                   part.forget_point();
               });
    });
}

void SlabExecutor::read_estimate(float* values, index_t first, index_t count) const {
    on_each(parts_, [&](Part& part) {
        within(part.planes().object, part.layout().plane(), first, count,
               [&](index_t to, index_t from, index_t samples) {
                   part.read(values + to, part.newest(), from, samples);
               });
    });
}

void SlabExecutor::hold_out(const PhotonScale& photons, int halvings) {
    on_each(parts_, [&](Part& part) {
        part.for_each(part.layout().pixels(),
                      SetApart{part.data(), part.held(), halvings, static_cast<float>(photons.gain),
                               static_cast<float>(photons.offset), 1, Thinning::hold_out,
                               part.planes().image.begin * part.layout().image_plane()});
    });
}

void SlabExecutor::put_back() {
    on_each(parts_, [&](Part& part) {
        part.for_each(part.layout().pixels(), AddScaled{part.data(), part.held(), 1});
    });
}

void SlabExecutor::begin(const LoadedImage& image, float held_share) {
    model_ = model_of(image);
    held_share_ = held_share;
    if (!has_weights_)
        in_turn([&](bool) {
            on_each(parts_, [&](Part& part) { part.load_ones(compares_all_); });
            exchange(parts_, &PlanePart::image, &PlanePart::light);
            on_each(parts_, [](Part& part) { part.find_weights(); });
        });
    has_weights_ = compares_all_;
    const bool given = write_start(image);
    on_each(parts_, [&](Part& part) {
        part.forget_point();
        if (given)
            part.for_each(part.layout().voxels(),
                          begin_functor(image, part.newest(), part.weights()));
        else
            part.for_each(part.layout().voxels(), Fill{part.newest(), mean_at_start(image)});
    });
}

StepResult SlabExecutor::iterate(const StepStart& start, const IterationProgress& progress) {
    const auto compare = [&] {
        on_each(parts_, [&](Part& part) { part.load_point(start); });
        exchange(parts_, &PlanePart::object, &PlanePart::seen);
        on_each(parts_, [&](Part& part) {
            part.compare(model_, held_share_, start.unmatched ? 1 : 0, !start.without_misfit);
        });
    };
    const auto step = [&] {
        exchange(parts_, &PlanePart::image, &PlanePart::light);
        on_each(parts_, [&](Part& part) { part.step(start); });
    };
    // A step that nothing refuses begins before the sums are here: GPUs do not wait for the host.
    const bool certain = start.most == std::numeric_limits<double>::infinity();
    in_turn([&](bool as_left) {
        if (!as_left) on_each(parts_, [](Part& part) { part.forget_point(); });
        compare();
        if (certain) step();
    });
    SumPair compared;
    on_each(parts_, [&](Part& part) { compared += part.compared(); });
    StepResult result;
    result.sums[of_pixels] = compared;
    result.refused = result.objective() > start.most;
    if (result.refused) return result;
    progress.at(0.5);

    if (!certain)
        in_turn([&](bool as_left) {
            if (!as_left) compare();
            step();
        });
    on_each(parts_, [&](Part& part) {
        if (part.layout().has_change) result.sums[of_step] += part.stepped();
    });
    return result;
}

}  // namespace convolume::deconvolve
