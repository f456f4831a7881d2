// SPDX-License-Identifier: Apache-2.0
#pragma once
// A slab of planes in the memory of one GPU, for iterations as passes over that memory: image,
// estimates and their weights exist, but neither the model nor the correction, which are spectra
// from beginning to end (gpu/volumes/plane_passes.hpp).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "convolume/volume.hpp"
#include "deconvolve/device_stages.cuh"
#include "deconvolve/slab_passes.hpp"
#include "deconvolve/steps.hpp"
#include "deconvolve/thinning.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::deconvolve {

/// The arrays of a slab.
struct PartLayout {
    PartLayout(const Problem& problem, const gpu::PairAxis& z, const PlanePart& part)
        : object(problem.object), image(problem.image) {
        object.z = part.object.count();
        image.z = part.image.count();
        const Momentum momentum = momentum_of(problem.options);
        has_before = momentum != Momentum::none;
        has_change = momentum == Momentum::biggs_andrews;
        has_held = problem.options.hold_out;
        narrow = problem.keeps_uint16();
        alike = alike_planes(problem, z, part.object);
    }
    index_t plane() const { return object.y * object.x; }
    index_t image_plane() const { return image.y * image.x; }
    index_t voxels() const { return element_count(object); }
    index_t pixels() const { return element_count(image); }
    index_t weight_samples() const { return (object.z - (alike.last - alike.first)) * plane(); }
    index_t bytes() const {
        return checked_add(
            (1 + has_before) * array_bytes(voxels()) + has_change * change_bytes(),
            image_bytes() + has_held * array_bytes(pixels()) + array_bytes(weight_samples()));
    }
    index_t image_bytes() const {
        return array_bytes(pixels(), narrow ? sizeof(std::uint16_t) : sizeof(float));
    }
    index_t change_bytes() const { return array_bytes(voxels(), sizeof(ShortFloat)); }
    static index_t array_bytes(index_t samples, index_t sample_bytes = sizeof(float)) {
        return round_up(checked_multiply(samples, sample_bytes), gpu::DeviceMemory::alignment);
    }

    Shape3 object, image;
    bool has_before = false, has_change = false, has_held = false;
    bool narrow = false;                 ///< the image is uint16
    richardson_lucy::AlikePlanes alike;  ///< of the weights
};

class PassPart : public DeviceStages {
  public:
    using Side = gpu::PlanePasses::Side;

    /// On `device`, which is current, within `limit_bytes`. Planes of spectra are in `shared`, or
    /// in a workspace of their own where that is null.
    PassPart(int device, const Problem& problem, const gpu::PairAxes& axes, const PlanePart& part,
             const std::vector<ConstImageView>& kernels, int threads, index_t limit_bytes,
             const std::shared_ptr<gpu::Workspace>& shared)
        : DeviceStages(device, threads), device_(device), layout_(problem, axes[0], part) {
        if (layout_.bytes() >= limit_bytes)
            throw OutOfMemory(message("the arrays take ", format_bytes(layout_.bytes()), " of the ",
                                      format_bytes(limit_bytes), " that a GPU may hold"),
                              MemoryKind::gpu);
        passes_.emplace(device, axes, part, kernels, limit_bytes - layout_.bytes(), shared);
        arrays_ = gpu::DeviceMemory(device, layout_.bytes(), "the arrays of a deconvolution");
        index_t at = 0;
        const auto place_bytes = [&](bool wanted, index_t bytes) -> char* {
            if (!wanted) return nullptr;
            char* const array = arrays_.data() + at;
            at += bytes;
            return array;
        };
        const auto place = [&](bool wanted, index_t samples) {
            return reinterpret_cast<float*>(place_bytes(wanted, PartLayout::array_bytes(samples)));
        };
        newest_ = place(true, layout_.voxels());
        before_ = place(layout_.has_before, layout_.voxels());
        change_ =
            reinterpret_cast<ShortFloat*>(place_bytes(layout_.has_change, layout_.change_bytes()));
        data_ = place_bytes(true, layout_.image_bytes());
        held_ = place(layout_.has_held, layout_.pixels());
        weights_ = place(true, layout_.weight_samples());
        most_sums_ = passes_->most_sums();
        const index_t bytes = 2 * most_sums_ * index_t{sizeof(double)};
        sums_ = gpu::DeviceMemory(device, bytes, "sums of a deconvolution");
        if (layout_.narrow)
            narrowing_ = gpu::DeviceMemory(device, narrowed_at_once * index_t{sizeof(float)},
                                           "an image on its way");
        fetched_sums_ = Buffer(bytes, "sums of a deconvolution");
        fetched_sums_.touch(1);
        fetched_sums_.lock_pages();
    }

    int device() const { return device_; }
    const PlanePart& planes() const { return passes_->planes(); }
    const PartLayout& layout() const { return layout_; }
    index_t bytes() const { return layout_.bytes() + passes_->bytes(); }
    const SlabPasses& passes() const { return *passes_; }
    using DeviceStages::stream;

    /// To change what it holds, forget_point() too.
    float* newest() const { return newest_; }
    void forget_point() { has_point_ = false; }
    /// Not of an image that is kept narrow.
    float* data() const { return reinterpret_cast<float*>(data_); }
    float* held() const { return held_; }
    Weights weights() const { return {weights_, layout_.plane(), layout_.alike}; }

    void write_image(const float* values, index_t first, index_t count) const {
        if (!layout_.narrow) {
            write(values, data(), first, count);
            return;
        }
        auto* const target = reinterpret_cast<std::uint16_t*>(data_) + first;
        for (index_t done = 0; done < count; done += narrowed_at_once) {
            const index_t some = std::min(narrowed_at_once, count - done);
            write(values + done, narrowing_.as<float>(), 0, some);
            for_each(some, Narrow{target + done, narrowing_.as<float>()});
        }
    }

    /// Spectra of ones in its own image planes, of 0 where pixels are not to be compared if some
    /// are not.
    void load_ones(bool all) {
        gpu::RowStage ones;
        ones.kind = gpu::RowStage::Kind::ones;
        if (!all) ones.data = data();
        if (planes().image.count() == 0) return;
        passes_->forward(Side::image, ones, passes_->image_slots(), stream());
    }
    /// Projects them and their neighbors' back.
    void find_weights() {
        passes_->back(stream());
        const auto [first, last] = layout_.alike;
        passes_->inverse(Side::object, {0, first + 1}, weights_, stream());
        if (last + 1 < layout_.object.z)
            passes_->inverse(Side::object, {last + 1, layout_.object.z - last - 1},
                             weights_ + (first + 1) * layout_.plane(), stream());
    }

    /// Spectra of the points of its own object planes, in the slots of what its image planes see.
    void load_point(const Origin& origin) {
        if (std::exchange(has_point_, false)) return;
        passes_->forward(Side::object, stage_of(gpu::RowStage::Kind::point, origin),
                         passes_->object_slots(), stream());
    }
    /// Blurs them with their neighbors, makes the ratio of the image, `less` something, and spectra
    /// of that.
    void compare(const richardson_lucy::Model& model, float held_share, float less, bool misfit) {
        compared_ = 0;
        if (planes().image.count() == 0) return;
        passes_->blur(stream());
        gpu::RowStage stage;
        stage.kind = gpu::RowStage::Kind::ratio;
        stage.data = data_;
        stage.narrow_data = layout_.narrow;
        stage.held = held_share > 0 ? held() : nullptr;
        stage.held_share = held_share;
        stage.model = model;
        stage.less = less;
        stage.misfit = misfit;
        compared_ = passes_->inverse(Side::image, stage, passes_->image_slots(), sums_.as<double>(),
                                     stream());
        fetch(0, compared_, has_compared_);
    }
    /// Projects the ratio back and takes the step.
    void step(const Origin& origin, bool unmatched) {
        passes_->back(stream(), unmatched ? 1 : 0);
        // Without a memory of earlier steps, the next point is what this one makes. Its spectrum
        // comes with it where it lies where the next iteration looks for it.
        has_point_ = !layout_.has_before && passes_->object_slots().first == 0;
        gpu::RowStage stage =
            stage_of(has_point_ ? gpu::RowStage::Kind::advance : gpu::RowStage::Kind::step, origin);
        stage.change = change_;
        stage.last_format = origin.last_format;
        stage.format = origin.format;
        stage.weight = weights_;
        stage.alike = layout_.alike;
        stage.least_weight = least_weight;
        stage.unmatched = unmatched;
        stepped_ = passes_->inverse(Side::object, stage, passes_->back_slots(),
                                    sums_.as<double>() + most_sums_, stream());
        if (layout_.has_change) fetch(most_sums_, stepped_, has_stepped_);
        if (layout_.has_before) std::swap(newest_, before_);
    }

    /// Sums of the last comparison (misfit, squared errors of what is held out), and of the last
    /// step (products of changes). They wait for the GPU to come to them, no further.
    SumPair compared() const { return total(0, compared_, has_compared_); }
    SumPair stepped() const { return total(most_sums_, stepped_, has_stepped_); }

  private:
    static constexpr index_t narrowed_at_once = index_t{1} << 20;

    gpu::RowStage stage_of(gpu::RowStage::Kind kind, const Origin& origin) const {
        gpu::RowStage stage;
        stage.kind = kind;
        stage.newest = newest_;
        stage.before = before_;
        stage.restart = origin.restart;
        stage.ahead = origin.ahead;
        return stage;
    }

    // Two sums of each block, from sum `first` on.
    void fetch(index_t first, index_t blocks, const gpu::Event& done) const {
        gpu::check(cudaMemcpyAsync(fetched_sums_.as<double>() + first, sums_.as<double>() + first,
                                   static_cast<std::size_t>(blocks) * sizeof(SumPair),
                                   cudaMemcpyDeviceToHost, stream()),
                   "fetching a sum");
        done.record(stream());
    }
    SumPair total(index_t first, index_t blocks, const gpu::Event& done) const {
        SumPair sum;
        if (blocks == 0) return sum;
        done.wait();
        const auto* const of_blocks =
            reinterpret_cast<const SumPair*>(fetched_sums_.as<double>() + first);
        for (index_t i = 0; i < blocks; ++i) sum += of_blocks[i];
        return sum;
    }

    int device_;
    PartLayout layout_;
    std::optional<SlabPasses> passes_;
    gpu::DeviceMemory arrays_, sums_, narrowing_;
    Buffer fetched_sums_;
    gpu::Event has_compared_, has_stepped_;
    float *newest_, *before_, *held_, *weights_;  ///< null: there is none
    ShortFloat* change_;
    char* data_;
    index_t most_sums_ = 0;
    index_t compared_ = 0, stepped_ = 0;  ///< blocks with sums
    bool has_point_ = false;              ///< the spectrum of the next point is there
};

}  // namespace convolume::deconvolve
