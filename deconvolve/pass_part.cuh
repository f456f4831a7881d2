// SPDX-License-Identifier: Apache-2.0
#pragma once
// A slab of planes in the memory of one GPU, for iterations as passes over that memory: image,
// estimates and their weights exist, but neither the model nor the correction, which are spectra
// from beginning to end (gpu/volumes/plane_passes.hpp).

#include <optional>
#include <utility>
#include <vector>

#include "deconvolve/device_stages.cuh"
#include "deconvolve/slab_passes.hpp"
#include "deconvolve/steps.hpp"
#include "deconvolve/thinning.hpp"
#include "gpu/runtime/device.hpp"

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
        alike = alike_planes(problem, z, part.object);
    }
    index_t plane() const { return object.y * object.x; }
    index_t image_plane() const { return image.y * image.x; }
    index_t voxels() const { return element_count(object); }
    index_t pixels() const { return element_count(image); }
    index_t weight_samples() const { return (object.z - (alike.last - alike.first)) * plane(); }
    index_t bytes() const {
        return checked_add((1 + has_before + has_change) * array_bytes(voxels()),
                           (1 + has_held) * array_bytes(pixels()) + array_bytes(weight_samples()));
    }
    static index_t array_bytes(index_t samples) {
        return round_up(checked_multiply(samples, index_t{sizeof(float)}),
                        gpu::DeviceMemory::alignment);
    }

    Shape3 object, image;
    bool has_before = false, has_change = false, has_held = false;
    richardson_lucy::AlikePlanes alike;  ///< of the weights
};

class PassPart : public DeviceStages {
  public:
    using Side = gpu::PlanePasses::Side;

    /// On `device`, which is current, within `limit_bytes`.
    PassPart(int device, const Problem& problem, const gpu::PairAxes& axes, const PlanePart& part,
             const std::vector<ConstImageView>& kernels, int threads, index_t limit_bytes)
        : DeviceStages(device, threads), device_(device), layout_(problem, axes[0], part) {
        if (layout_.bytes() >= limit_bytes)
            throw OutOfMemory(message("the arrays take ", format_bytes(layout_.bytes()), " of the ",
                                      format_bytes(limit_bytes), " that a GPU may hold"));
        passes_.emplace(device, axes, part, kernels, limit_bytes - layout_.bytes());
        arrays_ = gpu::DeviceMemory(device, layout_.bytes(), "the arrays of a deconvolution");
        index_t at = 0;
        const auto place = [&](bool wanted, index_t samples) -> float* {
            if (!wanted) return nullptr;
            float* const array = reinterpret_cast<float*>(arrays_.data() + at);
            at += PartLayout::array_bytes(samples);
            return array;
        };
        newest_ = place(true, layout_.voxels());
        before_ = place(layout_.has_before, layout_.voxels());
        change_ = place(layout_.has_change, layout_.voxels());
        data_ = place(true, layout_.pixels());
        held_ = place(layout_.has_held, layout_.pixels());
        weights_ = place(true, layout_.weight_samples());
        most_sums_ = passes_->most_sums();
        sums_ = gpu::DeviceMemory(device, 2 * most_sums_ * index_t{sizeof(double)},
                                  "sums of a deconvolution");
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
    float* data() const { return data_; }
    float* held() const { return held_; }
    Weights weights() const { return {weights_, layout_.plane(), layout_.alike}; }

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
    void compare(const richardson_lucy::Model& model, float held_share, float less) {
        compared_ = 0;
        if (planes().image.count() == 0) return;
        passes_->blur(stream());
        gpu::RowStage stage;
        stage.kind = gpu::RowStage::Kind::ratio;
        stage.data = data();
        stage.held = held_share > 0 ? held() : nullptr;
        stage.held_share = held_share;
        stage.model = model;
        stage.less = less;
        compared_ = passes_->inverse(Side::image, stage, passes_->image_slots(), sums_.as<double>(),
                                     stream());
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
        stage.weight = weights_;
        stage.alike = layout_.alike;
        stage.least_weight = least_weight;
        stage.unmatched = unmatched;
        stepped_ = passes_->inverse(Side::object, stage, passes_->back_slots(),
                                    sums_.as<double>() + most_sums_, stream());
        if (layout_.has_before) std::swap(newest_, before_);
    }

    /// Sums of the last comparison (misfit, squared errors of what is held out), and of the last
    /// step (products of changes). They wait for the GPU.
    SumPair compared() const { return fetch(sums_.as<SumPair>(), compared_); }
    SumPair stepped() const { return fetch(sums_.as<SumPair>() + most_sums_ / 2, stepped_); }

  private:
    gpu::RowStage stage_of(gpu::RowStage::Kind kind, const Origin& origin) const {
        gpu::RowStage stage;
        stage.kind = kind;
        stage.newest = newest_;
        stage.before = before_;
        stage.restart = origin.restart;
        stage.ahead = origin.ahead;
        return stage;
    }

    SumPair fetch(const SumPair* sums, index_t blocks) const {
        std::vector<SumPair> of_blocks(static_cast<std::size_t>(blocks));
        gpu::check(cudaMemcpyAsync(of_blocks.data(), sums, of_blocks.size() * sizeof(SumPair),
                                   cudaMemcpyDeviceToHost, stream()),
                   "fetching a sum");
        gpu::check(cudaStreamSynchronize(stream()), "working on the GPU");
        SumPair total;
        for (const SumPair& of_block : of_blocks) total += of_block;
        return total;
    }

    int device_;
    PartLayout layout_;
    std::optional<SlabPasses> passes_;
    gpu::DeviceMemory arrays_, sums_;
    float *newest_, *before_, *change_, *data_, *held_, *weights_;  ///< null: there is none
    index_t most_sums_ = 0;
    index_t compared_ = 0, stepped_ = 0;  ///< blocks with sums
    bool has_point_ = false;              ///< the spectrum of the next point is there
};

}  // namespace convolume::deconvolve
