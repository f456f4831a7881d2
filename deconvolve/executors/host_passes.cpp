// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/host_passes.hpp"

#include <algorithm>
#include <utility>

#include "core/threads.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/executors/row_loops.hpp"
#include "deconvolve/registry.hpp"

namespace convolume::deconvolve {

namespace {

PairAxes axes_of(const DeconvolutionProblem& problem, Index3& first_tap) {
    const Shape3 taps = problem.psf.shape();
    Index3 shift = problem.options.center.index;
    if (!problem.options.boundary)
        for (int a = 0; a < 3; ++a) shift[a] = taps[a] - 1;
    const PairAxes axes = cpu::pair_axes(problem.object, problem.image, taps, shift);
    for (int a = 0; a < 3; ++a) first_tap[a] = shift[a] - axes[static_cast<std::size_t>(a)].shift;
    return axes;
}

// Returns the taps of the PSF that are used.
ConstImageView used_taps(const HostPassLayout& layout, const ConstImageView& psf) {
    const auto& [z, y, x] = layout.axes;
    const Index3& first = layout.first_tap;
    return {psf.at(first.z, first.y, first.x), psf.type, {z.taps, y.taps, x.taps}, psf.strides};
}

Buffer array_of(index_t samples, const HostPassLayout& layout, bool wanted = true) {
    if (!wanted) return {};
    Buffer array(samples * static_cast<index_t>(sizeof(float)), "the arrays of a deconvolution");
    array.touch(layout.threads);
    return array;
}

}  // namespace

HostPassLayout::HostPassLayout(const DeconvolutionProblem& problem, int thread_count, bool keep)
    : method(problem.options.method),
      axes(axes_of(problem, first_tap)),
      object(problem.object),
      image(problem.image),
      psf_weights(deconvolve::psf_weights(problem)),
      threads(thread_count),
      keep_spectrum(keep) {
    has_previous = problem.traits.keeps_previous;
    has_changes = problem.traits.keeps_change;
    has_held_out = problem.options.hold_out;
    tap_bytes = problem.psf_count() * element_count(problem.psf.shape()) *
                static_cast<index_t>(sizeof(float));
    compares_all = problem.compares_all();
    equal_planes = alike_planes(problem, axes[0], axes[0].whole_object());
}

index_t HostPassLayout::array_bytes() const {
    const auto bytes = [](index_t arrays, index_t samples) {
        return checked_multiply(arrays, Buffer::rounded_bytes(checked_multiply(
                                            samples, static_cast<index_t>(sizeof(float)))));
    };
    return checked_add(checked_add(bytes(1 + has_previous + has_changes, element_count(object)),
                                   bytes(1 + has_held_out, element_count(image))),
                       bytes(1, weight_samples()));
}

index_t HostPassLayout::bytes() const {
    const cpu::HostPlanePasses::Bytes passes = pass_bytes();
    const index_t sums =
        std::max(object.z * object.y, image.z * image.y) * static_cast<index_t>(sizeof(SumPair));
    return std::max(checked_add(passes.while_made, tap_bytes),
                    checked_add(passes.afterwards, checked_add(array_bytes(), sums)));
}

cpu::HostPlanePasses make_plane_passes(const HostPassLayout& layout,
                                       const std::vector<ConstImageView>& psfs) {
    std::vector<ConstImageView> views;
    for (const ConstImageView& psf : psfs) views.push_back(used_taps(layout, psf));
    return {layout.axes, views, layout.psf_weights, layout.threads, layout.keep_spectrum};
}

HostPassExecutor::HostPassExecutor(const HostPassLayout& layout,
                                   const std::vector<ConstImageView>& psfs)
    : layout_(layout),
      passes_(make_plane_passes(layout, psfs)),
      newest_(array_of(element_count(layout.object), layout)),
      previous_(array_of(element_count(layout.object), layout, layout.has_previous)),
      change_(array_of(element_count(layout.object), layout, layout.has_changes)),
      data_(array_of(element_count(layout.image), layout)),
      held_out_(array_of(element_count(layout.image), layout, layout.has_held_out)),
      weights_(array_of(layout.weight_samples(), layout)),
      sums_(static_cast<std::size_t>(
          std::max(layout.object.z * layout.object.y, layout.image.z * layout.image.y))) {}

void HostPassExecutor::write_image(const float* values, index_t first, index_t count) {
    std::copy_n(values, count, data_.as<float>() + first);
}
void HostPassExecutor::write_estimate(const float* values, index_t first, index_t count) {
    std::copy_n(values, count, newest_.as<float>() + first);
}
void HostPassExecutor::read_estimate(float* values, index_t first, index_t count) const {
    std::copy_n(newest_.as<float>() + first, count, values);
}

template <class Functor>
void HostPassExecutor::for_each(index_t count, const Functor& functor) const {
    parallel_ranges(count, layout_.threads, [&](index_t first, index_t last, int) {
        const Functor own = functor;
        for (index_t i = first; i < last; ++i) own(i);
    });
}

void HostPassExecutor::hold_out(const PhotonScale& photons, int halvings) {
    for_each(element_count(layout_.image),
             hold_out_functor(data_.as<float>(), held_out_.as<float>(), photons, halvings));
}

void HostPassExecutor::put_back() {
    for_each(element_count(layout_.image),
             ScaledAddition{data_.as<float>(), held_out_.as<float>(), 1});
}

// Projects back an image that is 1 for pixels that are compared, and 0 for others. Planes with
// equal weights are stored once.
void HostPassExecutor::find_weights() {
    const Shape3 object = layout_.object;
    const Shape3 image = layout_.image;
    const float* const data = data_.as<float>();
    passes_.forward(
        Side::image,
        [=](const Rows& rows) {
            for (index_t i = 0; i < rows.count; ++i) {
                const ComparedMask compared{data + (rows.z * image.y + rows.first + i) * image.x,
                                            rows.row(i)};
                for (index_t x = 0; x < image.x; ++x) compared(x);
            }
        },
        context_);
    passes_.along_z(true, context_);
    const auto equal_planes = layout_.equal_planes;
    float* const weights = weights_.as<float>();
    const auto store = [=](const Rows& rows) {
        float* const target =
            weights + (equal_planes.stored(rows.z) * object.y + rows.first) * object.x;
        for (index_t i = 0; i < rows.count; ++i)
            std::copy_n(rows.row(i), object.x, target + i * object.x);
    };
    passes_.inverse(Side::object, {0, equal_planes.first + 1}, store, context_);
    passes_.inverse(Side::object, {equal_planes.last + 1, object.z}, store, context_);
}

void HostPassExecutor::begin(const LoadedImage& image, float held_out_share) {
    step_settings_.model = model_of(image);
    step_settings_.held_out_share = held_out_share;
    has_point_ = false;
    if (!has_weights_) find_weights();
    has_weights_ = layout_.compares_all;
    float* const newest = newest_.as<float>();
    const Weights weights{weights_.as<float>(), layout_.object.y * layout_.object.x,
                          layout_.equal_planes};
    if (write_start(image))
        for_each(element_count(layout_.object), begin_functor(image, newest, weights));
    else
        for_each(element_count(layout_.object), ConstantFill{newest, mean_at_start(image)});
}

SumPair HostPassExecutor::sum_of_rows(index_t rows) const {
    SumPair total;
    for (index_t i = 0; i < rows; ++i) total += sums_[static_cast<std::size_t>(i)];
    return total;
}

// Transforms the points of all rows to spectra, unless the last step has done so.
void HostPassExecutor::load_point(const StepStart& start) {
    if (std::exchange(has_point_, false)) return;
    const Shape3 object = layout_.object;
    const float* const newest = newest_.as<float>();
    const float* const before = previous_.as<float>();
    passes_.forward(
        Side::object,
        [&](const Rows& rows) {
            const index_t at = (rows.z * object.y + rows.first) * object.x;
            for (index_t i = 0; i < rows.count; ++i) {
                const index_t row = at + i * object.x;
                fill_point({newest + row, before != nullptr ? before + row : nullptr, start.restart,
                            start.extrapolation},
                           rows.row(i), object.x);
            }
        },
        context_);
}

// Divides the image by the blurred points.
SumPair HostPassExecutor::compare(const StepStart& start) {
    const Shape3 image = layout_.image;
    const float held_out_share = step_settings_.held_out_share;
    const float* const data = data_.as<float>();
    const float* const held_out = held_out_share > 0 ? held_out_.as<float>() : nullptr;
    passes_.change(
        Side::image,
        [&](const Rows& rows) {
            for (index_t i = 0; i < rows.count; ++i) {
                const index_t row = rows.z * image.y + rows.first + i;
                const index_t at = row * image.x;
                sums_[static_cast<std::size_t>(row)] =
                    fill_ratio({data + at, held_out != nullptr ? held_out + at : nullptr,
                                held_out_share, step_settings_.model, !start.skips_misfit},
                               rows.row(i), image.x);
            }
        },
        context_);
    return sum_of_rows(image.z * image.y);
}

// Stores the step's result in place of the previous estimate, or of the newest if there is no
// previous one.
SumPair HostPassExecutor::step(const StepStart& start, const richardson_lucy::MatchedRule& rule) {
    const Shape3 object = layout_.object;
    const float* const newest = newest_.as<float>();
    float* const before = previous_.as<float>();
    float* const change = change_.as<float>();
    float* const next = before != nullptr ? before : newest_.as<float>();
    const float* const weights = weights_.as<float>();
    const auto step_rows = [&](const Rows& rows) {
        const index_t weight_row = layout_.equal_planes.stored(rows.z) * object.y + rows.first;
        for (index_t i = 0; i < rows.count; ++i) {
            const index_t row = rows.z * object.y + rows.first + i;
            const index_t at = row * object.x;
            sums_[static_cast<std::size_t>(row)] =
                fill_step({{newest + at, before != nullptr ? before + at : nullptr, start.restart,
                            start.extrapolation},
                           rows.row(i),
                           weights + (weight_row + i) * object.x,
                           rule,
                           change != nullptr ? change + at : nullptr},
                          next + at, object.x);
        }
    };
    if (layout_.has_previous) {
        passes_.inverse(Side::object, {0, object.z}, step_rows, context_);
    } else {
        // The next point is the new estimate, so it becomes spectra while it is in the cache.
        passes_.change(
            Side::object,
            [&](const Rows& rows) {
                step_rows(rows);
                for (index_t i = 0; i < rows.count; ++i)
                    std::copy_n(next + ((rows.z * object.y + rows.first + i) * object.x), object.x,
                                rows.row(i));
            },
            context_);
        has_point_ = true;
    }
    if (layout_.has_previous) std::swap(newest_, previous_);
    return sum_of_rows(object.z * object.y);
}

struct HostPassExecutor::PassOperations : FusedOperations {
    HostPassExecutor& executor;
    const StepStart& at_start;
    const IterationProgress& progress;
    StepResult result{};

    const StepSettings& settings() const { return executor.step_settings_; }
    const StepStart& start() const { return at_start; }
    void load_point() { executor.load_point(at_start); }
    void blur(ArrayRole, ArrayRole) { executor.passes_.along_z(false, executor.context_); }
    void compare(float) {
        result.sums[pixel_sums] = executor.compare(at_start);
        result.refused = result.objective() > at_start.objective_limit;
        if (!result.refused) progress.report_fraction(0.5);
    }
    void blur_back(ArrayRole, ArrayRole) {
        if (!result.refused) executor.passes_.along_z(true, executor.context_);
    }
    template <ArrayRole divisors = ArrayRole::weights>
    void update(const richardson_lucy::MatchedRule& rule) {
        if (!result.refused) result.sums[step_sums] = executor.step(at_start, rule);
    }
    // place() lets these passes have no other back projector.
    void back_project_unmatched(ArrayRole, ArrayRole) {
        throw InternalError("an unmatched back projector of passes in host memory");
    }
    void update(const richardson_lucy::UnmatchedRule&) {}
};

StepResult HostPassExecutor::iterate(const StepStart& start, const IterationProgress& progress) {
    PassOperations operations{{}, *this, start, progress};
    run_iteration(layout_.method, operations);
    return operations.result;
}

}  // namespace convolume::deconvolve
