// SPDX-License-Identifier: Apache-2.0
#include "volumes/split_volume.hpp"

#include <algorithm>
#include <numeric>

#include "core/pixels/rows.hpp"

namespace convolume {

using decompose::SplitLayout;

namespace {

// Bytes of a band: large enough to be read and written fast, and small beside the memory of a host.
constexpr index_t band_bytes = index_t{64} << 20;

}  // namespace

Bands::Bands(const SplitLayout& layout, Precision precision, index_t row_bytes)
    : steps_(decompose::split_steps(layout)), rows_(layout.rows) {
    const index_t sample = sample_bytes(precision, layout.complex_data);
    const index_t planes = layout.z_grid / steps_;
    row_bytes_ =
        checked_multiply(planes, checked_add(row_bytes, checked_multiply(layout.columns, sample)));
    band_rows_ = std::clamp<index_t>(band_bytes / row_bytes_, 1, rows_);
    band_steps_ =
        band_rows_ < rows_
            ? 1
            : std::clamp<index_t>(band_bytes / checked_multiply(row_bytes_, rows_), 1, steps_);
    across_rows_ = ceil_div(rows_, band_rows_);
    across_steps_ = ceil_div(steps_, band_steps_);
}

Band Bands::operator[](index_t index) const {
    const index_t step = index / across_rows_ * band_steps_;
    const index_t row = index % across_rows_ * band_rows_;
    return {{step, std::min(step + band_steps_, steps_)}, row, std::min(row + band_rows_, rows_)};
}

index_t Bands::bytes() const {
    return checked_multiply(std::min<index_t>(in_flight, count()),
                            checked_multiply(row_bytes_, band_rows_ * band_steps_));
}

Bands image_bands(const ConvolutionProblem& problem, const SplitLayout& layout) {
    const index_t row_bytes =
        std::max(checked_multiply(problem.image.x, sample_bytes(problem.image_type)),
                 checked_multiply(problem.output.shape().x, sample_bytes(problem.output_type)));
    return {layout, problem.precision, row_bytes};
}

namespace {

std::vector<index_t> range(index_t begin, index_t end) {
    std::vector<index_t> indices(static_cast<std::size_t>(std::max<index_t>(end - begin, 0)));
    std::iota(indices.begin(), indices.end(), begin);
    return indices;
}

// Calls use(z, plane, count) for every run of consecutive planes that `steps` need. The run has
// `count` planes. Its first plane is plane z of `extent` planes of the volume, and number `plane`
// of the band.
template <class Use>
void for_each_plane_run(const SplitLayout& layout, const decompose::StepRange& steps,
                        index_t extent, const Use& use) {
    const index_t all_steps = decompose::split_steps(layout), count = steps.end - steps.begin;
    for (index_t run = 0; run * all_steps < extent; ++run)
        use(run * all_steps + steps.begin, run * count, count);
}

SplitLayout band_layout(SplitLayout layout, const Band& band) {
    layout.rows = band.row_end - band.row_begin;
    layout.stored = band.steps;
    return layout;
}

ImageView planes_of(const ImageView& view, index_t begin, index_t count, index_t columns) {
    return subview(view, {{begin, 0, 0}, {begin + count, view.shape.y, columns}});
}

}  // namespace

index_t BandSplitter::split(const BandSource& source, const Band& band,
                            const ExecutionContext& context) {
    const auto rows = range(band.row_begin, std::min(band.row_end, source.shape.y));
    if (rows.empty()) return 0;  // engines continue the image's rows
    std::vector<index_t> planes(source.planes.size(), -1);
    for_each_plane_run(
        layout_, band.steps, std::ssize(planes), [&](index_t z, index_t, index_t count) {
            for (; count > 0 && z < std::ssize(planes); ++z, --count)
                planes[static_cast<std::size_t>(z)] = source.planes[static_cast<std::size_t>(z)];
        });
    const PackedBox packed({planes, rows, range(0, source.shape.x)});
    const index_t image_bytes = bytes_of(packed.shape(), source.type);
    const BufferPool::BorrowedBuffer image = take_box(image_bytes, "planes of the image");
    const ImageView view = contiguous_view(image.data(), source.type, packed.shape());
    {
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, image_bytes);
        packed.read(source.read, view);
    }
    if (source.refuses_nonfinite && pixels::find_nonfinite(view, threads_))
        throw NonfiniteInStream{};

    const PhaseTimer timer(context.timeline, Phase::decompose, -1, -1, image_bytes);
    const BlockInput input{view, packed.gathers(), source.subtract, source.nonfinite_to_zero};
    const auto split_to = [&](void* data, const SplitLayout& layout,
                              const decompose::SplitSection& section) {
        return visit_reals(precision_, data, [&](auto* reals) {
            return decompose::split(input, layout, reals, threads_, context, section);
        });
    };
    if (store_.data()) return split_to(store_.data(), layout_, {band.steps, band.row_begin});
    const SplitLayout layout = band_layout(layout_, band);
    const BufferPool::BorrowedBuffer parts = take_band(layout);
    const index_t replaced = split_to(parts.data(), layout, {});
    for_each_box(band, parts.data(), std::ssize(rows), source.shape.x,
                 [&](int p, const Box3& box, const ImageView& samples) {
                     store_.sink(p).write_box(0, 0, box, samples);
                 });
    return replaced;
}

ClampCount BandSplitter::merge(const Band& band, const std::vector<index_t>& scatter,
                               const BlockOutput& output, const ExecutionContext& context) {
    const auto merge_from = [&](void* data, const SplitLayout& layout,
                                const decompose::SplitSection& section) {
        return visit_reals(precision_, data, [&](const auto* reals) {
            return decompose::merge(reals, layout, scatter, output, threads_, context, section);
        });
    };
    if (store_.data()) return merge_from(store_.data(), layout_, {band.steps, band.row_begin});
    const SplitLayout layout = band_layout(layout_, band);
    const BufferPool::BorrowedBuffer parts = take_band(layout);
    for_each_box(band, parts.data(), output.target.shape.y, output.target.shape.x,
                 [&](int p, const Box3& box, const ImageView& samples) {
                     store_.source(p).read_box(0, 0, box, samples);
                 });
    return merge_from(parts.data(), layout, {});
}

BufferPool::BorrowedBuffer BandSplitter::take_band(const SplitLayout& layout) {
    const index_t sample = sample_bytes(precision_, layout.complex_data);
    return bands_.take(checked_multiply(layout.samples(), sample), threads_,
                       "planes of the split volume");
}

template <class Use>
void BandSplitter::for_each_box(const Band& band, void* data, index_t rows, index_t columns,
                                const Use& use) const {
    const SplitLayout layout = band_layout(layout_, band);
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView part = layout.part(data, p, precision_);
        const index_t extent = store_.source(p).format().shape.z;
        for_each_plane_run(
            layout_, band.steps, extent, [&](index_t z, index_t plane, index_t count) {
                const Box3 box{{z, band.row_begin, 0}, {z + count, band.row_begin + rows, columns}};
                use(p, box, subview(part, {{plane, 0, 0}, {plane + count, rows, columns}}));
            });
    }
}

StreamedVolume::StreamedVolume(const ExecutionArguments& arguments, index_t t, index_t c,
                               const TaskPlan& plan, BandSplitter& splitter)
    : arguments_(arguments),
      stream_(*arguments.stream),
      t_(t),
      c_(c),
      plan_(plan),
      splitter_(splitter),
      source_{plan.problem.image,
              stream_.source->format().type,
              gather_indices(plan.windows[0], plan.problem.image.z, plan.problem.boundary),
              [this](const Box3& box, const ImageView& to) {
                  stream_.source->read_box(t_, c_, box, to);
              },
              arguments.subtract,
              arguments.nonfinite_to_zero,
              arguments.find_nonfinite && !arguments.nonfinite_to_zero} {}

ClampCount StreamedVolume::merge(const Band& band, const ExecutionContext& context) {
    const Shape3 output = plan_.problem.output.shape();
    const index_t row_end = std::min(band.row_end, output.y);
    const index_t first = plan_.windows[0].kept_begin();
    std::vector<index_t> scatter(static_cast<std::size_t>(first + output.z), -1);
    struct PlaneRun {
        index_t begin, end;  // consecutive planes of the output
        index_t at;          // index of plane `begin` in the box that is written
    };
    std::vector<PlaneRun> runs;
    index_t band_planes = 0;
    for_each_plane_run(split_layout(plan_), band.steps, first + output.z,
                       [&](index_t z, index_t, index_t count) {
                           const index_t begin = std::max(z - first, index_t{0});
                           const index_t end = std::min(z - first + count, output.z);
                           if (begin >= end) return;
                           runs.push_back({begin, end, band_planes});
                           for (index_t i = begin; i < end; ++i)
                               scatter[static_cast<std::size_t>(first + i)] = band_planes++;
                       });
    if (band.row_begin >= row_end || runs.empty()) return {};

    const PixelType type = stream_.sink->format().type;
    const Shape3 shape{band_planes, row_end - band.row_begin, output.x};
    const index_t bytes = bytes_of(shape, type);
    const BufferPool::BorrowedBuffer result = splitter_.take_box(bytes, "planes of the result");
    const ImageView view = contiguous_view(result.data(), type, shape);
    ClampCount clamped;
    {
        const PhaseTimer timer(context.timeline, Phase::compose, -1, -1, bytes);
        clamped = splitter_.merge(band, scatter, {view, arguments_.add}, context);
    }
    for (const PlaneRun& run : runs) {
        const ImageView planes = planes_of(view, run.at, run.end - run.begin, output.x);
        const Box3 box{{run.begin, band.row_begin, 0}, {run.end, row_end, output.x}};
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, bytes);
        stream_.written = true;
        stream_.sink->write_box(t_, c_, box, planes);
    }
    return clamped;
}

}  // namespace convolume
