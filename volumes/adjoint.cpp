// SPDX-License-Identifier: Apache-2.0
#include "volumes/adjoint.hpp"

#include <algorithm>

#include "core/report.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume {

bool continues_outside(BoundaryKind boundary) {
    return boundary != BoundaryKind::zero && boundary != BoundaryKind::constant;
}

OutputRange adjoint_range(const OutputRange& forward, index_t image, index_t kernel,
                          bool continued) {
    const index_t shift = kernel - 1 - forward.begin;
    if (continued) return {0, forward.end - forward.begin + kernel - 1};
    return {shift, image + shift};
}

std::vector<index_t> fold_sources(const OutputRange& forward, index_t image, index_t kernel,
                                  BoundaryKind boundary) {
    AxisWindow extended;
    extended.load_begin = forward.begin - (kernel - 1);
    extended.load_end = forward.end;
    return gather_indices(extended, image, boundary);
}

namespace {

// Returns for every k the positions i with sources[i] = k.
std::vector<std::vector<index_t>> invert(const std::vector<index_t>& sources, index_t extent) {
    std::vector<std::vector<index_t>> positions(static_cast<std::size_t>(extent));
    for (std::size_t i = 0; i < sources.size(); ++i)
        if (sources[i] >= 0)
            positions[static_cast<std::size_t>(sources[i])].push_back(static_cast<index_t>(i));
    return positions;
}

}  // namespace

ClampCount fold(const ConstImageView& extended, const std::array<std::vector<index_t>, 3>& sources,
                const ImageView& target, int threads) {
    const auto planes = invert(sources[0], target.shape.z);
    const auto rows = invert(sources[1], target.shape.y);
    const index_t row_count = target.shape.z * target.shape.y;
    ReportSum stored;
    visit_pixel_type(extended.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
            throw InternalError("integers are not folded");
        } else {
            // The sum of a corner has many terms, from beyond three faces: it needs double.
            using Sum =
                std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
            const auto width = static_cast<std::size_t>(target.shape.x);
            std::vector<Sum> sums(width * static_cast<std::size_t>(threads));
            parallel_for(row_count, threads, [&](index_t row, int thread) {
                Sum* const sum = sums.data() + width * static_cast<std::size_t>(thread);
                const index_t z = row / target.shape.y;
                const index_t y = row % target.shape.y;
                std::fill(sum, sum + width, Sum(0));
                for (const index_t i : planes[static_cast<std::size_t>(z)])
                    for (const index_t j : rows[static_cast<std::size_t>(y)]) {
                        const T* const line = static_cast<const T*>(extended.at(i, j, 0));
                        for (std::size_t k = 0; k < sources[2].size(); ++k)
                            if (sources[2][k] >= 0)
                                sum[static_cast<std::size_t>(sources[2][k])] += Sum(line[k]);
                    }
                stored.add(pixels::store_row(sum, target.shape.x, 0.0, target, z, y));
            });
        }
    });
    return stored.clamped();
}

ClampCount fold_planes(ScratchVolume& extended, const std::array<std::vector<index_t>, 3>& sources,
                       ImageSink& sink, int threads, const ExecutionContext& context) {
    const StackFormat from = extended.format(), to = sink.format();
    const index_t at_once = planes_in_group(from.shape, from.type);
    ClampCount clamped;
    for (index_t begin = 0; begin < to.shape.z; begin += at_once) {
        throw_if_stopped(context);
        const index_t end = std::min(begin + at_once, to.shape.z);
        // Planes of `extended` that are added to this group, in ascending order, so that sums equal
        // those of a whole volume.
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

}  // namespace convolume
