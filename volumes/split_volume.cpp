// SPDX-License-Identifier: Apache-2.0
#include "volumes/split_volume.hpp"

#include <algorithm>
#include <numeric>

#include "core/pixels/rows.hpp"

namespace convolume {

PartStore::PartStore(const decompose::SplitLayout& layout, Precision precision, void* data) {
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView view = layout.part(data, p, precision);
        memory_.push_back(std::unique_ptr<PartInMemory>(
            new PartInMemory{view, ViewSource(view), ViewSink(view)}));
    }
}

PartStore::PartStore(const decompose::SplitLayout& layout, Precision precision,
                     const std::string& directory) {
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView view = layout.part(nullptr, p, precision);
        files_.push_back(std::make_unique<ScratchVolume>(directory, view.shape, view.type));
    }
}

ImageSource& PartStore::source(int part) const {
    const auto p = static_cast<std::size_t>(part);
    if (files_.empty()) return memory_[p]->source;
    return *files_[p];
}

ImageSink& PartStore::sink(int part) const {
    const auto p = static_cast<std::size_t>(part);
    if (files_.empty()) return memory_[p]->sink;
    return *files_[p];
}

ConnectPart PartStore::connection(const PartBoxes& boxes) const {
    if (files_.empty())
        return [&view = memory_[static_cast<std::size_t>(boxes.part)]->view, boxes](
                   BlockInput& input, BlockOutput& output) {
            input.source = subview(view, boxes.image);
            output.target = subview(view, boxes.kept);
        };
    return [&file = *files_[static_cast<std::size_t>(boxes.part)], boxes](BlockInput& input,
                                                                          BlockOutput& output) {
        const PixelType type = file.format().type;
        input.source = contiguous_view(nullptr, type, boxes.image.shape());
        input.read = [&file](const Box3& box, const ImageView& target) {
            file.read_box(0, 0, box, target);
        };
        output.target = contiguous_view(nullptr, type, boxes.kept.shape());
        output.write = [&file](const Box3& box, const ConstImageView& values) {
            file.write_box(0, 0, box, values);
        };
    };
}

ExecutionReport LoadedParts::run(
    const PartStore& store, const PartBoxes& boxes,
    const std::function<ExecutionReport(const ConnectPart&)>& convolve) {
    const StackFormat format = store.source(boxes.part).format();
    const BufferPool::BorrowedBuffer part =
        parts_.take(bytes_of(format.shape, format.type), 1, "a part of the image");
    const ImageView view = contiguous_view(part.data(), format.type, format.shape);
    store.source(boxes.part).read_box(0, 0, boxes.image, subview(view, boxes.image));
    std::unique_lock engine(engine_);
    const ExecutionReport report = convolve([&](BlockInput& input, BlockOutput& output) {
        input.source = subview(view, boxes.image);
        output.target = subview(view, boxes.kept);
    });
    engine.unlock();
    store.sink(boxes.part).write_box(0, 0, boxes.kept, subview(view, boxes.kept));
    return report;
}

namespace {

// Bytes of a band: large enough to be read and written fast, and small beside the memory of a host.
constexpr index_t band_bytes = index_t{64} << 20;

}  // namespace

Bands::Bands(const ConvolutionProblem& problem, int parts, const Shape3& split)
    : steps_(decompose::split_steps({problem.complex_data, parts, split.z, split.y, split.x})),
      rows_(split.y) {
    const index_t columns =
        std::max(checked_multiply(problem.image.x, sample_bytes(problem.image_type)),
                 checked_multiply(problem.output.shape().x, sample_bytes(problem.output_type)));
    const index_t sample = sample_bytes(problem.precision, problem.complex_data);
    const index_t planes = split.z / steps_;
    row_bytes_ = checked_multiply(planes, checked_add(columns, checked_multiply(split.x, sample)));
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

namespace {

using decompose::SplitLayout;

std::vector<index_t> range(index_t begin, index_t end) {
    std::vector<index_t> indices(static_cast<std::size_t>(std::max<index_t>(end - begin, 0)));
    std::iota(indices.begin(), indices.end(), begin);
    return indices;
}

SplitLayout band_layout(SplitLayout layout, const Band& band) {
    layout.rows = band.row_end - band.row_begin;
    layout.stored = band.steps;
    return layout;
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

ImageView planes_of(const ImageView& view, index_t begin, index_t count, index_t columns) {
    return subview(view, {{begin, 0, 0}, {begin + count, view.shape.y, columns}});
}

}  // namespace

StreamedVolume::StreamedVolume(const ExecutionArguments& arguments, index_t t, index_t c,
                               const TaskPlan& plan, const PartStore& store, int threads)
    : arguments_(arguments),
      stream_(*arguments.stream),
      t_(t),
      c_(c),
      plan_(plan),
      layout_(split_layout(plan)),
      store_(store),
      threads_(threads),
      planes_(gather_indices(plan.windows[0], plan.problem.image.z, plan.problem.boundary)) {}

index_t StreamedVolume::split(const Band& band, const ExecutionContext& context) {
    const ConvolutionProblem& problem = plan_.problem;
    const auto rows = range(band.row_begin, std::min(band.row_end, problem.image.y));
    if (rows.empty()) return 0;  // engines continue the image's rows
    std::vector<index_t> planes(planes_.size(), -1);
    for_each_plane_run(
        layout_, band.steps, static_cast<index_t>(planes.size()),
        [&](index_t z, index_t, index_t count) {
            for (; count > 0 && z < static_cast<index_t>(planes.size()); ++z, --count)
                planes[static_cast<std::size_t>(z)] = planes_[static_cast<std::size_t>(z)];
        });
    const PackedBox packed({planes, rows, range(0, problem.image.x)});
    const StackFormat format = stream_.source->format();
    const index_t image_bytes = bytes_of(packed.shape(), format.type);
    const BufferPool::BorrowedBuffer image =
        boxes_.take(image_bytes, threads_, "planes of the image");
    const ImageView view = contiguous_view(image.data(), format.type, packed.shape());
    {
        const PhaseTimer timer(context.timeline, Phase::read, -1, -1, image_bytes);
        packed.read([&](const Box3& box,
                        const ImageView& to) { stream_.source->read_box(t_, c_, box, to); },
                    view);
    }
    if (arguments_.find_nonfinite && !arguments_.nonfinite_to_zero &&
        pixels::find_nonfinite(view, threads_))
        throw NonfiniteInStream{};

    const PhaseTimer timer(context.timeline, Phase::decompose, -1, -1, image_bytes);
    const SplitLayout layout = band_layout(layout_, band);
    const BufferPool::BorrowedBuffer parts = take_band(layout);
    const BlockInput input{view, packed.gathers(), arguments_.subtract,
                           arguments_.nonfinite_to_zero};
    const index_t replaced = visit_reals(problem.precision, parts.data(), [&](auto* reals) {
        return decompose::split(input, layout, reals, threads_, context);
    });
    for_each_box(band, parts.data(), static_cast<index_t>(rows.size()), problem.image.x,
                 [&](int p, const Box3& box, const ImageView& samples) {
                     store_.sink(p).write_box(0, 0, box, samples);
                 });
    return replaced;
}

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
    for_each_plane_run(layout_, band.steps, first + output.z,
                       [&](index_t z, index_t, index_t count) {
                           const index_t begin = std::max(z - first, index_t{0});
                           const index_t end = std::min(z - first + count, output.z);
                           if (begin >= end) return;
                           runs.push_back({begin, end, band_planes});
                           for (index_t i = begin; i < end; ++i)
                               scatter[static_cast<std::size_t>(first + i)] = band_planes++;
                       });
    if (band.row_begin >= row_end || runs.empty()) return {};

    const SplitLayout layout = band_layout(layout_, band);
    const PixelType type = stream_.sink->format().type;
    const Shape3 shape{band_planes, row_end - band.row_begin, output.x};
    const index_t bytes = bytes_of(shape, type);
    const BufferPool::BorrowedBuffer result = boxes_.take(bytes, threads_, "planes of the result");
    const ImageView view = contiguous_view(result.data(), type, shape);
    ClampCount clamped;
    {
        const PhaseTimer timer(context.timeline, Phase::compose, -1, -1, bytes);
        const BufferPool::BorrowedBuffer parts = take_band(layout);
        for_each_box(band, parts.data(), shape.y, shape.x,
                     [&](int p, const Box3& box, const ImageView& samples) {
                         store_.source(p).read_box(0, 0, box, samples);
                     });
        const BlockOutput target{view, arguments_.add};
        clamped = visit_reals(plan_.problem.precision, parts.data(), [&](const auto* reals) {
            return decompose::merge(reals, layout, scatter, target, threads_, context);
        });
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

BufferPool::BorrowedBuffer StreamedVolume::take_band(const SplitLayout& layout) {
    return bands_.take(checked_multiply(layout.samples(), sample_bytes(plan_.problem.precision,
                                                                       plan_.problem.complex_data)),
                       threads_, "a band of the split volume");
}

template <class Use>
void StreamedVolume::for_each_box(const Band& band, void* data, index_t rows, index_t columns,
                                  const Use& use) const {
    const SplitLayout layout = band_layout(layout_, band);
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView part = layout.part(data, p, plan_.problem.precision);
        const index_t extent = store_.source(p).format().shape.z;
        for_each_plane_run(
            layout_, band.steps, extent, [&](index_t z, index_t plane, index_t count) {
                const Box3 box{{z, band.row_begin, 0}, {z + count, band.row_begin + rows, columns}};
                use(p, box, subview(part, {{plane, 0, 0}, {plane + count, rows, columns}}));
            });
    }
}

}  // namespace convolume
