// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop's arrays in the memory of one GPU, with the iteration as passes over its memory: image,
// estimates and their weights exist, but neither the model nor the correction, which are a spectrum
// from beginning to end (gpu/volumes/adjoint_pair.hpp).

#include <algorithm>
#include <optional>
#include <vector>

#include "deconvolve/device_stages.cuh"
#include "deconvolve/problem.hpp"
#include "deconvolve/stages.hpp"
#include "gpu/volumes/adjoint_pair.hpp"

namespace convolume::deconvolve {

/// Where an iteration starts from, see RowStage.
struct Point {
    float* newest;
    float* before;
    bool restart;
    richardson_lucy::Ahead ahead;
};

class PassArrays : public DeviceStages {
  public:
    static constexpr bool has_passes = true;

    PassArrays(int device, const Problem& problem, const gpu::PairAxes& axes,
               const ConstImageView& taps, int threads, index_t limit_bytes)
        : DeviceStages(device, threads), layout_(problem, axes) {
        if (layout_.bytes() >= limit_bytes)
            throw OutOfMemory(message("the arrays take ", format_bytes(layout_.bytes()), " of the ",
                                      format_bytes(limit_bytes), " that a GPU may hold"));
        pair_.emplace(device, axes, taps, limit_bytes - layout_.bytes());
        const auto add = [&](std::vector<gpu::DeviceMemory>& arrays, index_t count,
                             index_t samples) {
            for (index_t i = 0; i < count; ++i)
                arrays.emplace_back(device, samples * float_bytes, "the arrays of a deconvolution");
        };
        add(objects_, layout_.objects, layout_.voxels);
        add(images_, layout_.images, layout_.pixels);
        weights_ = gpu::DeviceMemory(device, layout_.weight_samples() * float_bytes,
                                     "the weights of a deconvolution");
        sums_ = gpu::DeviceMemory(device, pair_->most_sums() * index_t{sizeof(double)},
                                  "sums of a deconvolution");
    }

    /// Of the arrays, and of all.
    index_t array_bytes() const { return layout_.bytes(); }
    index_t bytes() const { return layout_.bytes() + pair_->bytes(); }

    // Numbers as of arrays without passes, which have two more objects and a second image.
    float* object(int i) const {
        return objects_[static_cast<std::size_t>(i == 0 ? 0 : i - 2)].as<float>();
    }
    float* image(int i) const {
        return i == 1 ? nullptr : images_[static_cast<std::size_t>(i == 0 ? 0 : i - 1)].as<float>();
    }

    /// Projects an image of ones back.
    Weights find_weights() {
        gpu::RowStage ones;
        ones.kind = gpu::RowStage::Kind::ones;
        pair_->load_image(ones, stream());
        float* const values = weights_.as<float>();
        const auto [first, last] = layout_.alike;
        pair_->project_back(
            {{{0, first + 1, values},
              {last + 1, layout_.object.z, values + (first + 1) * layout_.plane()}}},
            stream());
        return {values, layout_.plane(), layout_.alike};
    }

    /// Blurs the point and makes the ratio of the image; sums of the misfit and, where data are
    /// held out, of their squared errors.
    SumPair compare(const Point& point, const richardson_lucy::Model& model, const float* held,
                    float held_share) {
        gpu::RowStage load = stage_of(gpu::RowStage::Kind::point, point);
        pair_->load_object(load, stream());
        gpu::RowStage stage;
        stage.kind = gpu::RowStage::Kind::ratio;
        stage.data = image(0);
        stage.held = held;
        stage.held_share = held_share;
        stage.model = model;
        return fetch(pair_->convolve(stage, sums_.as<double>(), stream()));
    }

    /// Projects the ratio back and takes the step, in the place of the estimate before, or of the
    /// newest where that is all there is; sums of products of changes.
    SumPair step(const Point& point, float* change, float least_weight) {
        gpu::RowStage stage = stage_of(gpu::RowStage::Kind::step, point);
        stage.change = change;
        stage.weight = weights_.as<float>();
        stage.alike = layout_.alike;
        stage.least_weight = least_weight;
        const index_t blocks = pair_->project_back(stage, sums_.as<double>(), stream());
        return change == nullptr ? SumPair{} : fetch(blocks);
    }

  private:
    static constexpr index_t float_bytes = sizeof(float);

    struct Layout {
        Layout(const Problem& problem, const gpu::PairAxes& axes) : object(problem.object) {
            const ArrayCounts counts = array_counts(problem.options);
            objects = counts.object - 2;
            images = counts.image - 1;
            voxels = element_count(problem.object);
            pixels = element_count(problem.image);
            // Planes whose light meets the image with all planes of the PSF are alike.
            const gpu::PairAxis& z = axes[0];
            alike.first = std::min(z.shift, object.z - 1);
            alike.last = std::max(z.image + z.shift - z.taps, alike.first);
        }
        index_t plane() const { return object.y * object.x; }
        index_t weight_samples() const { return (object.z - (alike.last - alike.first)) * plane(); }
        index_t bytes() const {
            return checked_multiply(objects * voxels + images * pixels + weight_samples(),
                                    float_bytes);
        }

        Shape3 object;
        index_t objects = 0, images = 0, voxels = 0, pixels = 0;
        richardson_lucy::AlikePlanes alike;  ///< of the weights
    };

    static gpu::RowStage stage_of(gpu::RowStage::Kind kind, const Point& point) {
        gpu::RowStage stage;
        stage.kind = kind;
        stage.newest = point.newest;
        stage.before = point.before;
        stage.restart = point.restart;
        stage.ahead = point.ahead;
        return stage;
    }

    SumPair fetch(index_t blocks) {
        std::vector<SumPair> of_blocks(static_cast<std::size_t>(blocks));
        gpu::check(
            cudaMemcpyAsync(of_blocks.data(), sums_.data(), of_blocks.size() * sizeof(SumPair),
                            cudaMemcpyDeviceToHost, stream()),
            "fetching a sum");
        gpu::check(cudaStreamSynchronize(stream()), "working on the GPU");
        SumPair total;
        for (const SumPair& of_block : of_blocks) total += of_block;
        return total;
    }

    Layout layout_;
    std::optional<gpu::AdjointPair> pair_;
    std::vector<gpu::DeviceMemory> objects_;
    std::vector<gpu::DeviceMemory> images_;
    gpu::DeviceMemory weights_, sums_;
};

}  // namespace convolume::deconvolve
