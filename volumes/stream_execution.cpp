// SPDX-License-Identifier: Apache-2.0
// Executions whose image and result are not in memory.

#include <algorithm>
#include <chrono>
#include <optional>

#include "convolume/image_view.hpp"
#include "core/pixels/rows.hpp"
#include "core/scratch_file.hpp"
#include "core/stop_scope.hpp"
#include "volumes/convolver_impl.hpp"
#include "volumes/fold.hpp"
#include "volumes/packed_box.hpp"

namespace convolume {

namespace {

// What is read or folded at a time.
constexpr index_t group_bytes = index_t{64} << 20;

index_t planes_in_group(const Shape3& shape, PixelType type, index_t piece) {
    const index_t plane =
        checked_multiply(checked_multiply(shape.y, shape.x), static_cast<index_t>(size_of(type)));
    return round_up(std::max<index_t>(group_bytes / std::max<index_t>(plane, 1), 1),
                    std::max<index_t>(piece, 1));
}

void add(const ExecutionReport& report, ExecutionReport& sum) {
    sum.clamped_low += report.clamped_low;
    sum.clamped_high += report.clamped_high;
    sum.nonfinite_inputs += report.nonfinite_inputs;
}

// Calls `run(t, c, context)` for every volume, one after the other.
template <class Run>
ExecutionReport for_each_volume(const StackFormat& format, const ExecutionContext& context,
                                const Run& run) {
    ExecutionReport sum;
    for (index_t volume = 0; volume < format.volumes(); ++volume) {
        ExecutionContext part = context;
        if (context.progress)
            part.progress = [&, volume](double fraction) {
                context.progress((static_cast<double>(volume) + fraction) /
                                 static_cast<double>(format.volumes()));
            };
        add(run(volume / format.channels, volume % format.channels, part), sum);
    }
    return sum;
}

// Adds to the planes of `sink` what a plain convolution has put outside of the image.
ClampCount fold_planes(ScratchVolume& extended, const std::array<std::vector<index_t>, 3>& sources,
                       ImageSink& sink, int threads, const ExecutionContext& context) {
    const StackFormat from = extended.format(), to = sink.format();
    const index_t at_once = planes_in_group(from.shape, from.type, 1);
    ClampCount clamped;
    for (index_t begin = 0; begin < to.shape.z; begin += at_once) {
        throw_if_stopped(context);
        const index_t end = std::min(begin + at_once, to.shape.z);
        // The planes that end in these, in order: the sums are those of a whole volume.
        std::vector<index_t> planes, targets;
        for (std::size_t i = 0; i < sources[0].size(); ++i)
            if (sources[0][i] >= begin && sources[0][i] < end) {
                planes.push_back(static_cast<index_t>(i));
                targets.push_back(sources[0][i] - begin);
            }
        Volume folded({end - begin, to.shape.y, to.shape.x}, to.type);
        Volume read({static_cast<index_t>(planes.size()), from.shape.y, from.shape.x}, from.type);
        const PackedBox box(
            {planes, identity_indices(from.shape.y), identity_indices(from.shape.x)});
        box.read(
            [&](const Box3& part, const ImageView& view) { extended.read_box(0, 0, part, view); },
            read.view());
        clamped += fold(read.view(), {targets, sources[1], sources[2]}, folded.view(), threads);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, folded.bytes());
        sink.write_box(0, 0, {{begin, 0, 0}, {end, to.shape.y, to.shape.x}}, folded.view());
    }
    return clamped;
}

}  // namespace

ExecutionReport Convolver::Impl::execute(ImageSource& source, ImageSink& sink,
                                         const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    const auto start = std::chrono::steady_clock::now();
    const StackFormat from = source.format(), to = sink.format();
    check_shapes_and_types(from.shape, from.type, to.shape, to.type);
    if (from.frames != to.frames || from.channels != to.channels)
        throw InvalidArgument(message("the source has ", from.frames, " times and ", from.channels,
                                      " channels, the sink ", to.frames, " and ", to.channels,
                                      ": give a sink of as many"));
    ExecutionReport report =
        resolved.folds ? run_folded(source, sink, context) : run_stream(source, sink, context);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

namespace {

// Memory was refused after samples had been written: a sink takes every sample once, so that
// nothing is tried again.
struct RefusedTooLate {
    OutOfMemory error;
};

}  // namespace

ExecutionReport Convolver::Impl::run_stream(ImageSource& source, ImageSink& sink,
                                            const ExecutionContext& context) const {
    Stream stream{&source, &sink};
    RunArguments arguments;
    arguments.stream = &stream;
    arguments.subtract = resolved.subtract;
    arguments.add = resolved.add;
    arguments.find_nonfinite = may_hold_nonfinite(source.format().type);
    arguments.scratch_directory = options.scratch_directory;
    arguments.nonfinite_to_zero = arguments.find_nonfinite && options.nan == NanPolicy::zero;
    const auto run = [&](const PlanRunner& current) {
        try {
            return current.execute(arguments, context);
        } catch (const FoundNonfinite&) {
            check_finite(source, context);
            throw InternalError("NaN or infinities were found in an image that has none");
        } catch (const OutOfMemory& error) {
            if (stream.written) throw RefusedTooLate{error};
            throw;
        }
    };
    ExecutionReport report;
    try {
        report = run_with_retries(run);
    } catch (const RefusedTooLate& refused) {
        throw refused.error;
    }
    // Tasks count the samples that they share more than once.
    if (arguments.find_nonfinite && report.nonfinite_inputs > 0)
        report.nonfinite_inputs = check_finite(source, context);
    return report;
}

ExecutionReport Convolver::Impl::run_folded(ImageSource& source, ImageSink& sink,
                                            const ExecutionContext& context) const {
    return for_each_volume(
        source.format(), context, [&](index_t t, index_t c, const ExecutionContext& part) {
            SourceChannel input(source, c, t);
            SinkChannel output(sink, c, t);
            ScratchVolume extended(options.scratch_directory, resolved.problem.output.shape(),
                                   natural_type());
            ExecutionReport report;
            try {
                report = run_stream(input, extended, part);
            } catch (const NonfiniteSample& error) {
                throw error.at({error.place().index, t, c, source.format().volumes() > 1});
            }
            const ClampCount clamped =
                fold_planes(extended, resolved.fold_sources, output, runner()->threads(), part);
            report.clamped_low = clamped.low;
            report.clamped_high = clamped.high;
            return report;
        });
}

index_t Convolver::Impl::check_finite(ImageSource& source, const ExecutionContext& context) const {
    const StackFormat format = source.format();
    const Shape3& shape = format.shape;
    const index_t at_once = planes_in_group(shape, format.type, format.piece.z);
    index_t count = 0;
    for (index_t t = 0; t < format.frames; ++t)
        for (index_t c = 0; c < format.channels; ++c)
            for (index_t z = 0; z < shape.z; z += at_once) {
                throw_if_stopped(context);
                const Box3 box{{z, 0, 0}, {std::min(z + at_once, shape.z), shape.y, shape.x}};
                Volume planes(box.shape(), format.type);
                source.read_box(t, c, box, planes.view());
                const auto found = pixels::find_nonfinite(planes.view(), runner()->threads());
                if (!found) continue;
                if (options.nan == NanPolicy::error) {
                    const Index3 at{z + found->index.z, found->index.y, found->index.x};
                    throw NonfiniteSample(found->value, {at, t, c, format.volumes() > 1},
                                          cure_of_nonfinite);
                }
                count += pixels::count_nonfinite(planes.view(), runner()->threads());
            }
    return count;
}

}  // namespace convolume
