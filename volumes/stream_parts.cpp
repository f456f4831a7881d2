// SPDX-License-Identifier: Apache-2.0
// DIF of images that are not in memory. The split volume is in memory or, where that has no room
// for it, in scratch files, one for each part. It is made and merged band by band.

#include <numeric>
#include <optional>

#include "core/pixels/rows.hpp"
#include "decompose/split.hpp"
#include "volumes/bands.hpp"
#include "volumes/layout.hpp"
#include "volumes/packed_box.hpp"
#include "volumes/part_store.hpp"
#include "volumes/plan_runner.hpp"
#include "volumes/report_sum.hpp"
#include "volumes/scheduler.hpp"
#include "volumes/task_progress.hpp"

namespace convolume {

namespace {

using decompose::SplitLayout;

std::vector<index_t> range(index_t begin, index_t end) {
    std::vector<index_t> indices(static_cast<std::size_t>(std::max<index_t>(end - begin, 0)));
    std::iota(indices.begin(), indices.end(), begin);
    return indices;
}

SplitLayout of_band(SplitLayout layout, const Band& band) {
    layout.rows = band.row_end - band.row_begin;
    layout.stored = band.steps;
    return layout;
}

// Calls `use(z, plane, planes)` for the runs of planes that `steps` takes of `extent` ones: from z
// on in all of them, from `plane` on among those of the band.
template <class Use>
void for_each_run(const SplitLayout& layout, const decompose::StepRange& steps, index_t extent,
                  const Use& use) {
    const index_t all = decompose::split_steps(layout), planes = steps.end - steps.begin;
    for (index_t run = 0; run * all < extent; ++run)
        use(run * all + steps.begin, run * planes, planes);
}

ImageView planes_of(const ImageView& view, index_t begin, index_t count, index_t columns) {
    return subview(view, {{begin, 0, 0}, {begin + count, view.shape.y, columns}});
}

// A volume of a stream on its way into the parts and out of them.
class StreamedVolume {
  public:
    StreamedVolume(const RunArguments& arguments, index_t t, index_t c, const TaskPlan& plan,
                   const SplitLayout& layout, const PartStore& store, int threads)
        : arguments_(arguments),
          stream_(*arguments.stream),
          t_(t),
          c_(c),
          plan_(plan),
          layout_(layout),
          store_(store),
          threads_(threads),
          planes_(gather_indices(plan.windows[0], plan.problem.image.z, plan.problem.boundary)) {}

    /// Returns how many samples were read as 0 because they are not finite.
    index_t split(const Band& band, const ExecutionContext& context) {
        const Problem& problem = plan_.problem;
        const auto rows = range(band.row_begin, std::min(band.row_end, problem.image.y));
        if (rows.empty()) return 0;  // engines continue the image's rows
        std::vector<index_t> planes(planes_.size(), -1);
        for_each_run(layout_, band.steps, static_cast<index_t>(planes.size()),
                     [&](index_t z, index_t, index_t count) {
                         for (; count > 0 && z < static_cast<index_t>(planes.size()); ++z, --count)
                             planes[static_cast<std::size_t>(z)] =
                                 planes_[static_cast<std::size_t>(z)];
                     });
        const PackedBox packed({planes, rows, range(0, problem.image.x)});
        const StackFormat format = stream_.source->format();
        const index_t image_bytes = bytes_of(packed.shape(), format.type);
        const BufferPool::Lease image = boxes_.take(image_bytes, threads_, "planes of the image");
        const ImageView view{image.data(), format.type, packed.shape(),
                             contiguous_strides(packed.shape())};
        {
            const PhaseTimer timer(context.timeline, Phase::read, -1, -1, image_bytes);
            packed.read([&](const Box3& box,
                            const ImageView& to) { stream_.source->read_box(t_, c_, box, to); },
                        view);
        }
        if (arguments_.find_nonfinite && !arguments_.nonfinite_to_zero &&
            pixels::find_nonfinite(view, threads_))
            throw FoundNonfinite{};

        const PhaseTimer timer(context.timeline, Phase::decompose, -1, -1, image_bytes);
        const SplitLayout layout = of_band(layout_, band);
        const BufferPool::Lease parts = take_band(layout);
        const BlockInput input{
            view, packed.gathers(), arguments_.subtract, arguments_.nonfinite_to_zero, false, {},
            {}};
        const index_t replaced =
            is_single() ? decompose::split(input, layout, static_cast<float*>(parts.data()),
                                           threads_, context)
                        : decompose::split(input, layout, static_cast<double*>(parts.data()),
                                           threads_, context);
        for_each_piece(band, layout, parts.data(), static_cast<index_t>(rows.size()),
                       problem.image.x, [&](int p, const Box3& box, const ImageView& piece) {
                           store_.sink(p).write_box(0, 0, box, piece);
                       });
        return replaced;
    }

    ClampCount merge(const Band& band, const ExecutionContext& context) {
        const Shape3 output = plan_.problem.output.shape();
        const index_t row_end = std::min(band.row_end, output.y);
        const index_t first = plan_.windows[0].kept_begin();
        std::vector<index_t> scatter(static_cast<std::size_t>(first + output.z), -1);
        struct Run {
            index_t begin, end, at;  // planes of the output, and where they begin among those here
        };
        std::vector<Run> runs;
        index_t here = 0;
        for_each_run(layout_, band.steps, first + output.z, [&](index_t z, index_t, index_t count) {
            const index_t begin = std::max(z - first, index_t{0});
            const index_t end = std::min(z - first + count, output.z);
            if (begin >= end) return;
            runs.push_back({begin, end, here});
            for (index_t i = begin; i < end; ++i)
                scatter[static_cast<std::size_t>(first + i)] = here++;
        });
        if (band.row_begin >= row_end || runs.empty()) return {};

        const SplitLayout layout = of_band(layout_, band);
        const PixelType type = stream_.sink->format().type;
        const Shape3 shape{here, row_end - band.row_begin, output.x};
        const index_t bytes = bytes_of(shape, type);
        const BufferPool::Lease result = boxes_.take(bytes, threads_, "planes of the result");
        const ImageView view{result.data(), type, shape, contiguous_strides(shape)};
        ClampCount clamped;
        {
            const PhaseTimer timer(context.timeline, Phase::compose, -1, -1, bytes);
            const BufferPool::Lease parts = take_band(layout);
            for_each_piece(band, layout, parts.data(), shape.y, shape.x,
                           [&](int p, const Box3& box, const ImageView& piece) {
                               store_.source(p).read_box(0, 0, box, piece);
                           });
            const BlockOutput target{view, arguments_.add, {}};
            clamped = is_single() ? decompose::merge(static_cast<const float*>(parts.data()),
                                                     layout, scatter, target, threads_, context)
                                  : decompose::merge(static_cast<const double*>(parts.data()),
                                                     layout, scatter, target, threads_, context);
        }
        for (const Run& run : runs) {
            const ImageView planes = planes_of(view, run.at, run.end - run.begin, output.x);
            const Box3 box{{run.begin, band.row_begin, 0}, {run.end, row_end, output.x}};
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, bytes);
            stream_.written = true;
            stream_.sink->write_box(t_, c_, box, planes);
        }
        return clamped;
    }

  private:
    bool is_single() const { return plan_.problem.precision == Precision::float32; }

    BufferPool::Lease take_band(const SplitLayout& layout) {
        return bands_.take(
            checked_multiply(layout.samples(),
                             sample_bytes(plan_.problem.precision, plan_.problem.complex_data)),
            threads_, "a band of the split volume");
    }

    // Calls `use(part, box, piece)` for what a band at `data` holds of every part, up to that many
    // rows and columns: `piece` of the band is `box` of the part.
    template <class Use>
    void for_each_piece(const Band& band, const SplitLayout& layout, void* data, index_t rows,
                        index_t columns, const Use& use) const {
        for (int p = 0; p < layout.parts; ++p) {
            const ImageView part = layout.part(data, p, plan_.problem.precision);
            const index_t extent = store_.source(p).format().shape.z;
            for_each_run(layout_, band.steps, extent, [&](index_t z, index_t plane, index_t count) {
                const Box3 box{{z, band.row_begin, 0}, {z + count, band.row_begin + rows, columns}};
                use(p, box, subview(part, {{plane, 0, 0}, {plane + count, rows, columns}}));
            });
        }
    }

    const RunArguments& arguments_;
    Stream& stream_;
    index_t t_, c_;
    const TaskPlan& plan_;
    SplitLayout layout_;
    const PartStore& store_;
    int threads_;
    std::vector<index_t> planes_;  ///< of the image, for each plane of the grid
    BufferPool boxes_, bands_;
};

}  // namespace

ExecutionReport PlanRunner::run_streamed_parts(const RunArguments& arguments,
                                               const ExecutionContext& context) const {
    const Problem& problem = plan_.problem;
    const SplitLayout layout{problem.complex_data, plan_.chosen.parts, plan_.scratch.z,
                             plan_.scratch.y, plan_.scratch.x};
    const bool on_disk = plan_.chosen.scratch_file_bytes > 0;
    std::unique_ptr<const BufferPool::Lease> memory;
    std::optional<PartStore> store;
    {
        const PhaseTimer timer(context.timeline, Phase::allocate, -1, -1, plan_.scratch_bytes);
        if (on_disk) {
            store.emplace(layout, problem.precision, arguments.scratch_directory);
        } else {
            memory.reset(new BufferPool::Lease(
                scratch_->take(plan_.scratch_bytes, threads_, "the split volume")));
            store.emplace(layout, problem.precision, memory->data());
        }
    }
    const Bands bands(problem, plan_.chosen.parts, plan_.scratch);
    const StackFormat format = arguments.stream->source->format();
    const auto tasks = static_cast<index_t>(plan_.tasks.size());
    const index_t steps = 2 * bands.count() + tasks;
    Progress progress(context, checked_multiply(steps, format.volumes()), 0, 1);
    ReportSum report;
    // Engines that convolve in memory are given parts of files one by one.
    const bool loads = on_disk && !engines_.front()->info().streams;
    const auto engine_count = static_cast<int>(engines_.size());
    std::vector<LoadedParts> loaded(loads ? engines_.size() : 0);

    for (index_t volume = 0; volume < format.volumes(); ++volume) {
        StreamedVolume streamed(arguments, volume / format.channels, volume % format.channels,
                                plan_, layout, *store, threads_);
        const auto with_progress = [&](index_t step, const auto& work) {
            const ExecutionContext step_context = progress.of_task(volume * steps + step);
            work(step_context);
            if (step_context.progress) step_context.progress(1);
        };
        const auto without_progress = [&](ExecutionContext inner) {
            inner.progress = {};
            return inner;
        };
        run_on_engines(Bands::in_flight, bands.count(), context, [&](int, index_t i) {
            with_progress(i, [&](const ExecutionContext& inner) {
                report.add({.nonfinite_inputs = streamed.split(bands[i], without_progress(inner))});
            });
        });
        const int at_once = loads ? engine_count * LoadedParts::in_flight : workers();
        run_on_engines(at_once, tasks, context, [&](int worker, index_t number) {
            with_progress(bands.count() + number, [&](const ExecutionContext& inner) {
                const int engine = worker % engine_count;
                const PartRows rows = part_rows(number);
                const auto convolve = [&](const ConnectPart& connect) {
                    return convolve_part(engine, number, connect, inner);
                };
                report.add(
                    loads ? loaded[static_cast<std::size_t>(engine)].run(*store, rows, convolve)
                          : convolve(store->connection(rows)));
            });
        });
        run_on_engines(Bands::in_flight, bands.count(), context, [&](int, index_t i) {
            with_progress(bands.count() + tasks + i, [&](const ExecutionContext& inner) {
                const ClampCount clamped = streamed.merge(bands[i], without_progress(inner));
                report.add({.clamped_low = clamped.low, .clamped_high = clamped.high});
            });
        });
    }
    return report.sum();
}

}  // namespace convolume
