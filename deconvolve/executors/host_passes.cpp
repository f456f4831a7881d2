// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/executors/host_passes.hpp"

#include <algorithm>
#include <utility>

#include "core/threads.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/executors/row_loops.hpp"
#include "deconvolve/registry.hpp"
#include "deconvolve/views/view_arrays.hpp"

namespace convolume::deconvolve {

namespace {

// Adds the part of a row of a grid that is in the object, or replaces the object's part by it.
void add_row(const forward::ViewSampling::RowInObject& inside, const float* row, bool replaces,
             float* object) {
    const float* const from = row + inside.first;
    float* const to = object + inside.at;
    if (replaces) {
        std::copy_n(from, inside.count, to);
        return;
    }
#pragma omp simd
    for (index_t x = 0; x < inside.count; ++x) to[x] += from[x];
}

// Brings the model of a row of pixels, or its ratios with a constant of 0, to the scale of a view.
void scale_row(const ViewScale& scale, float* row, index_t count) {
    if (scale.factor == 1 && scale.constant == 0) return;
    const ScaledPixels scaled{row, row, scale};
    for (index_t x = 0; x < count; ++x) scaled(x);
}

Buffer array_of(index_t samples, const HostPassLayout& layout, bool wanted = true) {
    if (!wanted) return {};
    Buffer array(samples * static_cast<index_t>(sizeof(float)), "the arrays of a deconvolution");
    array.touch(layout.threads);
    return array;
}

}  // namespace

HostPassExecutor::HostPassExecutor(const HostPassLayout& layout,
                                   const std::vector<ConstImageView>& psfs)
    : layout_(layout) {
    // Steps are fused with the last back projection if its voxels are those of the object.
    index_t rows = layout.object.z * layout.object.y;
    for (const bool is_shift : {false, true}) {
        index_t pixel = 0, row = 0;
        auto psf = psfs.begin();
        for (std::size_t v = 0; v < layout_.recordings.size(); ++v) {
            const RecordingLayout& one = layout_.recordings[v];
            const auto behind = psf + one.psf_weights.kernels();
            if (one.sampling.is_shift() == is_shift)
                recordings_.push_back({one, make_plane_passes(one, {psf, behind}), v, pixel, row});
            psf = behind;
            pixel += one.pixels();
            row += one.pixel_rows();
        }
        rows = std::max(rows, row);
    }
    const index_t voxels = element_count(layout.object);
    newest_ = array_of(voxels, layout);
    previous_ = array_of(voxels, layout, layout.has_previous);
    change_ = array_of(voxels, layout, layout.has_changes);
    data_ = array_of(layout.pixels, layout);
    held_out_ = array_of(layout.pixels, layout, layout.has_held_out);
    pixel_weights_ = array_of(layout.pixels, layout, layout.has_pixel_weights);
    weights_ = array_of(layout.weight_samples(), layout);
    correction_ = array_of(voxels, layout, layout.adds_corrections());
    grid_ = array_of(layout.grid_samples(), layout, layout.grid_samples() > 0);
    sums_.resize(static_cast<std::size_t>(rows));
}

void HostPassExecutor::write_image(const float* values, index_t first, index_t count) {
    std::copy_n(values, count, data_.as<float>() + first);
}
void HostPassExecutor::write_pixel_weights(const float* values, index_t first, index_t count) {
    std::copy_n(values, count, pixel_weights_.as<float>() + first);
}
void HostPassExecutor::fill_pixel_weights(float value, index_t first, index_t count) {
    for_each(count, ConstantFill{pixel_weights_.as<float>() + first, value});
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
    for_each(layout_.pixels,
             hold_out_functor(data_.as<float>(), held_out_.as<float>(), photons, halvings));
}

void HostPassExecutor::put_back() {
    for_each(layout_.pixels, ScaledAddition{data_.as<float>(), held_out_.as<float>(), 1});
}

void HostPassExecutor::divide_pixel_weights(float divisor) {
    for_each(layout_.pixels, InPlaceDivision{pixel_weights_.as<float>(), divisor});
}

void HostPassExecutor::scale_image(index_t first, index_t count, float factor, float offset) {
    for_each(count, LightAboveOffset{data_.as<float>() + first, factor, offset});
}

ViewScale HostPassExecutor::scale_of(const Recording& recording) const {
    return layout_.scales == nullptr ? ViewScale{} : layout_.scales->scale(recording.number);
}

// Projects back images that are 1, or the weight of the pixel, for pixels that are compared, and 0
// for others. Planes with equal weights are stored once.
void HostPassExecutor::update_weights() {
    std::vector<float> factors;
    for (const Recording& one : recordings_) factors.push_back(scale_of(one).factor);
    if (layout_.compares_all && weighted_by_ == factors) return;
    weighted_by_.reset();  // a stop leaves the weights incomplete
    const Shape3 object = layout_.object;
    float* const weights = weights_.as<float>();
    for (Recording& one : recordings_) {
        const Shape3 image = one.layout.image;
        const float* const data = data_.as<float>() + one.first_pixel;
        const float* const given =
            layout_.has_pixel_weights ? pixel_weights_.as<float>() + one.first_pixel : nullptr;
        const ViewScale scale{scale_of(one).factor, 0};
        one.passes.forward(
            Side::image,
            [=](const Rows& rows) {
                for (index_t i = 0; i < rows.count; ++i) {
                    const index_t at = (rows.z * image.y + rows.first + i) * image.x;
                    const ComparedMask compared{data + at, rows.row(i),
                                                given != nullptr ? given + at : nullptr};
                    for (index_t x = 0; x < image.x; ++x) compared(x);
                    scale_row(scale, rows.row(i), image.x);
                }
            },
            context_);
        one.passes.along_z(true, context_);
        if (layout_.adds_corrections()) {
            add_back(one, &one == &recordings_.front(), weights);
            continue;
        }
        const auto equal_planes = layout_.equal_planes;
        const auto store = [=](const Rows& rows) {
            float* const target =
                weights + (equal_planes.stored(rows.z) * object.y + rows.first) * object.x;
            for (index_t i = 0; i < rows.count; ++i)
                std::copy_n(rows.row(i), object.x, target + i * object.x);
        };
        one.passes.inverse(Side::object, {0, equal_planes.first + 1}, store, context_);
        one.passes.inverse(Side::object, {equal_planes.last + 1, object.z}, store, context_);
    }
    weighted_by_ = std::move(factors);
}

void HostPassExecutor::add_back(Recording& recording, bool is_first, float* sums) {
    const RecordingLayout& layout = recording.layout;
    const bool replaces = is_first && layout.sampling.is_identity();
    if (is_first && !replaces) for_each(element_count(layout_.object), ConstantFill{sums, 0});
    if (!layout.sampling.is_shift()) {
        float* const grid = grid_.as<float>();
        recording.passes.inverse(
            Side::object, {0, layout.grid.z},
            [&](const Rows& rows) {
                float* const to = grid + (rows.z * layout.grid.y + rows.first) * layout.grid.x;
                for (index_t i = 0; i < rows.count; ++i)
                    std::copy_n(rows.row(i), layout.grid.x, to + i * layout.grid.x);
            },
            context_);
        layout.sampling.add_back(grid, sums, layout_.threads);
        return;
    }
    recording.passes.inverse(
        Side::object, {0, layout.grid.z},
        [&](const Rows& rows) {
            for (index_t i = 0; i < rows.count; ++i)
                add_row(layout.sampling.row_in_object(rows.z, rows.first + i), rows.row(i),
                        replaces, sums);
        },
        context_);
}

void HostPassExecutor::begin(const LoadedImage& image, float held_out_share) {
    step_settings_.model = model_of(image);
    step_settings_.held_out_share = held_out_share;
    has_point_ = false;
    update_weights();
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

PointRow HostPassExecutor::point_row(const StepStart& start, index_t at) const {
    return {newest_.as<float>() + at, layout_.has_previous ? previous_.as<float>() + at : nullptr,
            start.restart, start.extrapolation};
}

// Transforms the points of all rows to spectra, unless the last step has done so.
void HostPassExecutor::load_point(const StepStart& start) {
    if (std::exchange(has_point_, false)) return;
    const float* whole = nullptr;
    for (Recording& one : recordings_) {
        const forward::ViewSampling& sampling = one.layout.sampling;
        if (!sampling.is_shift()) {
            if (whole == nullptr) whole = whole_point(start);
            load_grid(one, whole);
            continue;
        }
        const index_t width = one.layout.grid.x;
        one.passes.forward(
            Side::object,
            [&](const Rows& rows) {
                for (index_t i = 0; i < rows.count; ++i) {
                    const auto [first, count, at] = sampling.row_in_object(rows.z, rows.first + i);
                    float* const row = rows.row(i);
                    std::fill(row, row + first, 0.0F);
                    fill_point(point_row(start, at), row + first, count);
                    std::fill(row + first + count, row + width, 0.0F);
                }
            },
            context_);
    }
}

// Corrections are added up later, so that their array may hold the points until then.
const float* HostPassExecutor::whole_point(const StepStart& start) {
    if (!layout_.has_previous || start.restart) return newest_.as<float>();
    float* const points = correction_.as<float>();
    const index_t width = layout_.object.x;
    parallel_for(layout_.object.z * layout_.object.y, layout_.threads, [&](index_t row, int) {
        fill_point(point_row(start, row * width), points + row * width, width);
    });
    return points;
}

void HostPassExecutor::load_grid(Recording& recording, const float* point) {
    const Shape3 grid = recording.layout.grid;
    float* const values = grid_.as<float>();
    recording.layout.sampling.sample(point, values, layout_.threads);
    recording.passes.forward(
        Side::object,
        [&](const Rows& rows) {
            const float* const from = values + (rows.z * grid.y + rows.first) * grid.x;
            for (index_t i = 0; i < rows.count; ++i)
                std::copy_n(from + i * grid.x, grid.x, rows.row(i));
        },
        context_);
}

// Divides the images by the blurred points.
SumPair HostPassExecutor::compare(const StepStart& start) {
    const float held_out_share = step_settings_.held_out_share;
    index_t pixel_rows = 0;
    for (Recording& one : recordings_) {
        const Shape3 image = one.layout.image;
        const float* const data = data_.as<float>() + one.first_pixel;
        const auto part_of = [&](const Buffer& buffer, bool wanted) {
            return wanted ? buffer.as<float>() + one.first_pixel : nullptr;
        };
        const float* const held_out = part_of(held_out_, held_out_share > 0);
        const float* const weight = part_of(pixel_weights_, layout_.has_pixel_weights);
        const ViewScale scale = scale_of(one);
        SumPair* const sums = sums_.data() + one.first_row;
        one.passes.change(
            Side::image,
            [&](const Rows& rows) {
                for (index_t i = 0; i < rows.count; ++i) {
                    const index_t row = rows.z * image.y + rows.first + i;
                    const index_t at = row * image.x;
                    scale_row(scale, rows.row(i), image.x);
                    sums[row] =
                        fill_ratio({data + at, held_out != nullptr ? held_out + at : nullptr,
                                    held_out_share, step_settings_.model, !start.skips_misfit, 0,
                                    weight != nullptr ? weight + at : nullptr},
                                   rows.row(i), image.x);
                    scale_row({scale.factor, 0}, rows.row(i), image.x);
                }
            },
            context_);
        pixel_rows += one.layout.pixel_rows();
    }
    return sum_of_rows(pixel_rows);
}

// Stores the step's result in place of the previous estimate, or of the newest if there is no
// previous one.
SumPair HostPassExecutor::step(const StepStart& start, const richardson_lucy::MatchedRule& rule) {
    const Shape3 object = layout_.object;
    float* const change = change_.as<float>();
    float* const next = layout_.has_previous ? previous_.as<float>() : newest_.as<float>();
    const float* const weights = weights_.as<float>();
    const auto step_row = [&](index_t row, const float* correction) {
        const index_t at = row * object.x, z = row / object.y;
        const index_t weight_row = row + (layout_.equal_planes.stored(z) - z) * object.y;
        sums_[static_cast<std::size_t>(row)] =
            fill_step({point_row(start, at), correction, weights + weight_row * object.x, rule,
                       change != nullptr ? change + at : nullptr},
                      next + at, object.x);
    };
    Recording& last = recordings_.back();
    const forward::ViewSampling& sampling = last.layout.sampling;
    float* const corrections = correction_.as<float>();
    if (layout_.adds_corrections()) {
        const bool is_alone = recordings_.size() == 1 && sampling.is_shift();
        if (is_alone) for_each(element_count(object), ConstantFill{corrections, 0});
        for (Recording& one : recordings_)
            if (&one != &last || !sampling.is_shift())
                add_back(one, &one == &recordings_.front(), corrections);
        parallel_for(object.z * object.y, layout_.threads, [&](index_t row, int) {
            if (!sampling.is_shift() || !sampling.meets_row(row / object.y, row % object.y))
                step_row(row, corrections + row * object.x);
        });
    }
    const auto step_rows = [&](const Rows& rows) {
        for (index_t i = 0; i < rows.count; ++i) {
            const auto inside = sampling.row_in_object(rows.z, rows.first + i);
            if (inside.count == 0) continue;
            const index_t row = inside.at / object.x;
            if (corrections != nullptr) add_row(inside, rows.row(i), false, corrections);
            step_row(row, corrections != nullptr ? corrections + row * object.x : rows.row(i));
        }
    };
    if (layout_.has_previous || layout_.adds_corrections()) {
        if (sampling.is_shift())
            last.passes.inverse(Side::object, {0, last.layout.grid.z}, step_rows, context_);
    } else {
        // The next point is the new estimate, so it becomes spectra while it is in the cache.
        last.passes.change(
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
    void blur(ArrayRole, ArrayRole) { executor.along_z(false); }
    void compare(float) {
        result.sums[pixel_sums] = executor.compare(at_start);
        result.refused = result.objective() > at_start.objective_limit;
        if (!result.refused) progress.report_fraction(0.5);
    }
    void blur_back(ArrayRole, ArrayRole) {
        if (!result.refused) executor.along_z(true);
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
