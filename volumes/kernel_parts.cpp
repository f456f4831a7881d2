// SPDX-License-Identifier: Apache-2.0
#include "volumes/kernel_parts.hpp"

#include <algorithm>

#include "core/report.hpp"
#include "volumes/split_volume.hpp"

namespace convolume {

using decompose::SplitLayout;

SplitLayout kernel_layout(const ConvolutionProblem& problem, int parts, index_t z_grid) {
    constexpr index_t aligned_samples = 16;
    Shape3 taps;
    for (int a = 0; a < 3; ++a) taps[a] = trim_kernel(problem.axis(a)).kernel();
    SplitLayout layout{problem.complex_data, parts, z_grid, taps.y,
                       round_up(taps.x, aligned_samples)};
    // Steps beyond the kernel's planes make nothing but zeros.
    layout.stored.end = std::min(taps.z, decompose::split_steps(layout));
    return layout;
}

index_t kernel_parts_bytes(const ConvolutionProblem& problem, int parts, index_t z_grid) {
    return Buffer::rounded_bytes(
        checked_multiply(kernel_layout(problem, parts, z_grid).samples(),
                         sample_bytes(problem.precision, problem.complex_data)));
}

namespace {

// Returns the bands in which a kernel is split into files.
Bands kernel_bands(const SplitLayout& layout, Precision precision) {
    return {layout, precision,
            checked_multiply(layout.columns, sample_bytes(precision, layout.complex_data))};
}

}  // namespace

index_t kernel_bands_bytes(const ConvolutionProblem& problem, int parts, index_t z_grid) {
    SplitLayout layout = kernel_layout(problem, parts, z_grid);
    layout.stored = {};
    return kernel_bands(layout, problem.precision).bytes();
}

KernelParts::KernelParts(const TaskPlan& plan, std::shared_ptr<const Volume> taps, int threads,
                         std::string directory)
    : taps_(std::move(taps)),
      layout_(kernel_layout(plan.problem, plan.chosen.parts, plan.scratch.z)),
      precision_(plan.problem.precision),
      kind_(plan.chosen.on_gpu ? HostMemory::page_locked : HostMemory::ordinary),
      in_files_(plan.chosen.kernel_in_files),
      threads_(threads),
      directory_(std::move(directory)) {
    if (in_files_) layout_.stored = {};
}

std::shared_ptr<const KernelParts::StoredParts> KernelParts::split(
    const ExecutionContext& context) const {
    const auto parts = std::make_shared<StoredParts>();
    const auto planes = identity_indices(taps_->shape().z);
    const ExecutionContext silent = without_progress(context);
    if (in_files_) {
        parts->store = std::make_unique<PartStore>(layout_, precision_, directory_);
        const Shape3& shape = taps_->shape();
        const BandSource source{shape, taps_->type(), planes,
                                [&](const Box3& box, const ImageView& to) {
                                    convert_pixels(subview(taps_->view(), box), to);
                                }};
        BandSplitter splitter(layout_, precision_, *parts->store, threads_);
        const Bands bands = kernel_bands(layout_, precision_);
        for (index_t i = 0; i < bands.count(); ++i) splitter.split(source, bands[i], silent);
        taps_->release_pages();
        return parts;
    }
    const index_t bytes =
        checked_multiply(layout_.samples(), sample_bytes(precision_, layout_.complex_data));
    parts->memory = Buffer(bytes, "the parts of the kernel");
    parts->memory.touch(threads_);
    if (kind_ == HostMemory::page_locked) parts->memory.lock_pages();
    auto columns = identity_indices(taps_->shape().x);
    columns.resize(static_cast<std::size_t>(layout_.columns), -1);
    const BlockInput input{taps_->view(),
                           {planes, identity_indices(taps_->shape().y), std::move(columns)}};
    visit_reals(precision_, parts->memory.data(), [&](auto* reals) {
        return decompose::split(input, layout_, reals, threads_, silent);
    });
    parts->store = std::make_unique<PartStore>(layout_, precision_, parts->memory.data());
    taps_->release_pages();
    return parts;
}

std::shared_ptr<const KernelParts::StoredParts> KernelParts::stored_parts(
    const ExecutionContext& context) {
    const std::lock_guard lock(mutex_);
    if (!parts_) {
        const PhaseTimer timer(context.timeline, Phase::prepare);
        parts_ = split(context);
    }
    return parts_;
}

KernelParts::PartTaps KernelParts::part(int index, const ExecutionContext& context) {
    const auto parts = stored_parts(context);
    const decompose::PartShape shape =
        decompose::part_shape(layout_.complex_data, {index, layout_.parts, layout_.z_grid});
    const Box3 box{{0, 0, 0},
                   {std::min(taps_->shape().z, shape.planes), taps_->shape().y, taps_->shape().x}};
    if (parts->store->data())
        return {subview(layout_.part(parts->store->data(), index, precision_), box), parts};
    const auto loaded = std::make_shared<Volume>(
        box.shape(), sample_type(precision_, layout_.complex_data || shape.complex_data));
    parts->store->source(index).read_box(0, 0, box, loaded->view());
    return {loaded->view(), loaded};
}

void KernelParts::release() {
    const std::lock_guard lock(mutex_);
    parts_.reset();
}

}  // namespace convolume
