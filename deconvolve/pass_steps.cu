// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "deconvolve/pass_steps.cuh"

namespace convolume::deconvolve {

namespace {

// Copies between two GPUs then take the shortest way. Where they do not reach one another, copies
// go through the host all the same.
void reach(int from, int to) {
    int possible = 0;
    gpu::check(cudaDeviceCanAccessPeer(&possible, from, to), "asking whether GPUs reach another");
    if (possible == 0) return;
    const gpu::DeviceScope scope(from);
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
        static_cast<void>(cudaGetLastError());
    else
        gpu::check(status, "letting GPUs reach another");
}

// The part of `count` samples from `first` on that lies in planes of `plane` samples: calls
// work(first sample of those, first of the planes' own, how many).
template <class Work>
void within(const gpu::Range& planes, index_t plane, index_t first, index_t count,
            const Work& work) {
    const gpu::Range there =
        gpu::Range{first, first + count}.within({planes.begin * plane, planes.end * plane});
    if (there.count() > 0)
        work(there.begin - first, there.begin - planes.begin * plane, there.count());
}

}  // namespace

struct PassSteps::Part : PassPart {
    using PassPart::PassPart;
    gpu::Event ready, fetched;  ///< its spectra; those of its neighbors
};

PassSteps::PassSteps(const Problem& problem, const gpu::PairAxes& axes,
                     const std::vector<PlanePart>& parts, const ConstImageView& taps,
                     const std::vector<int>& devices, const std::vector<index_t>& limits,
                     int threads)
    : compares_all_(!problem.options.saturation), threads_(threads) {
    for (std::size_t g = 0; g < parts.size(); ++g) {
        const gpu::DeviceScope scope(devices[g]);
        parts_.push_back(
            std::make_unique<Part>(devices[g], problem, axes, parts[g], taps, threads, limits[g]));
    }
    for (const int from : devices)
        for (const int to : devices)
            if (from != to) reach(from, to);
}

PassSteps::~PassSteps() = default;

index_t PassSteps::array_bytes() const {
    index_t bytes = 0;
    for (const auto& part : parts_) bytes += part->layout().bytes();
    return bytes;
}

index_t PassSteps::most_bytes() const {
    index_t most = 0;
    for (const auto& part : parts_) most = std::max(most, part->bytes());
    return most;
}

void PassSteps::on_each(const std::function<void(Part&)>& work) const {
    for (const auto& part : parts_) {
        const gpu::DeviceScope scope(part->device());
        work(*part);
    }
}

void PassSteps::write_image(const float* values, index_t first, index_t count) {
    on_each([&](Part& part) {
        within(part.planes().image, part.layout().image_plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   part.write(values + from, part.data(), to, samples);
               });
    });
}

void PassSteps::write_estimate(const float* values, index_t first, index_t count) {
    on_each([&](Part& part) {
        within(part.planes().object, part.layout().plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   part.write(values + from, part.newest(), to, samples);
               });
    });
}

void PassSteps::read_estimate(float* values, index_t first, index_t count) const {
    on_each([&](Part& part) {
        within(part.planes().object, part.layout().plane(), first, count,
               [&](index_t to, index_t from, index_t samples) {
                   part.read(values + to, part.newest(), from, samples);
               });
    });
}

void PassSteps::hold_out(const PhotonScale& photons, int halvings) {
    on_each([&](Part& part) {
        part.for_each(part.layout().pixels(),
                      SetApart{part.data(), part.held(), halvings, static_cast<float>(photons.gain),
                               static_cast<float>(photons.offset), 1, Thinning::hold_out,
                               part.planes().image.begin * part.layout().image_plane()});
    });
}

void PassSteps::put_back() {
    on_each([&](Part& part) {
        part.for_each(part.layout().pixels(), AddScaled{part.data(), part.held(), 1});
    });
}

void PassSteps::begin(const LoadedImage& image, float held_share) {
    model_ = model_of(image);
    held_share_ = held_share;
    if (!has_weights_) {
        on_each([&](Part& part) { part.load_ones(compares_all_); });
        exchange(&PlanePart::image, &PlanePart::light);
        on_each([](Part& part) { part.find_weights(); });
    }
    has_weights_ = compares_all_;
    const bool given = write_start(image);
    on_each([&](Part& part) {
        if (given)
            part.for_each(part.layout().voxels(),
                          begin_stage(image, part.newest(), part.weights()));
        else
            part.for_each(part.layout().voxels(), Fill{part.newest(), start_of(image)});
    });
}

void PassSteps::exchange(gpu::Range PlanePart::*own, gpu::Range PlanePart::*needed) const {
    if (parts_.size() == 1) return;
    on_each([](Part& part) { part.ready.record(part.stream()); });
    on_each([&](Part& part) {
        const gpu::Range mine = part.planes().*needed;
        for (const auto& other : parts_) {
            const gpu::Range theirs = mine.within(other->planes().*own);
            if (other.get() == &part || theirs.count() == 0) continue;
            other->ready.hold_back(part.stream());
            gpu::check(cudaMemcpyPeerAsync(
                           part.passes().slot(theirs.begin - mine.begin), part.device(),
                           other->passes().slot(theirs.begin - (other->planes().*needed).begin),
                           other->device(),
                           static_cast<std::size_t>(theirs.count() * part.passes().slot_bytes()),
                           part.stream()),
                       "copying from GPU to GPU");
        }
        part.fetched.record(part.stream());
    });
    // Nobody overwrites what another still fetches.
    on_each([&](Part& part) {
        for (const auto& other : parts_)
            if (other.get() != &part) other->fetched.hold_back(part.stream());
    });
}

Taken PassSteps::take(const Origin& origin, const IterationProgress& progress) {
    on_each([&](Part& part) { part.load_point(origin); });
    exchange(&PlanePart::object, &PlanePart::seen);
    on_each([&](Part& part) { part.compare(model_, held_share_); });
    SumPair compared;
    on_each([&](Part& part) { compared += part.compared(); });
    Taken taken;
    taken.misfit = compared.first;
    taken.held_out = compared.second;
    taken.refused = taken.objective() > origin.most;
    if (taken.refused) return taken;
    progress.at(0.5);

    exchange(&PlanePart::image, &PlanePart::light);
    on_each([&](Part& part) { part.step(origin); });
    on_each([&](Part& part) {
        if (part.layout().has_change) taken.products += part.stepped();
    });
    return taken;
}

}  // namespace convolume::deconvolve
