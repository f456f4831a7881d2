// SPDX-License-Identifier: Apache-2.0
#include "volumes/stream_tasks.hpp"

#include <algorithm>
#include <optional>

#include "core/pixels/rows.hpp"

namespace convolume {

namespace {

// The right to have a box in memory: waits until one of a limited number is free.
class Permit {
  public:
    explicit Permit(std::counting_semaphore<>& free) : free_(free) { free_.acquire(); }
    ~Permit() { free_.release(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    std::counting_semaphore<>& free_;
};

// A box of samples or results in memory, for as long as a task needs it.
class BufferedBox {
  public:
    BufferedBox(std::counting_semaphore<>& free, BufferPool& pool, const Shape3& shape,
                PixelType type, int threads, const BufferedTasks::TaskRecord& record)
        : permit_(free),
          buffer_([&] {
              const index_t bytes = bytes_of(shape, type);
              const PhaseTimer timer(record.timeline, Phase::allocate, -1, record.task, bytes);
              return pool.take(bytes, threads, "a box of the image");
          }()),
          shape_(shape),
          type_(type) {}

    ImageView view() const { return contiguous_view(buffer_.data(), type_, shape_); }

  private:
    Permit permit_;
    BufferPool::BorrowedBuffer buffer_;
    Shape3 shape_;
    PixelType type_;
};

}  // namespace

index_t planes_in_group(const Shape3& shape, PixelType type, index_t piece) {
    constexpr index_t group_bytes = index_t{64} << 20;
    const index_t plane = bytes_of({1, shape.y, shape.x}, type);
    return round_up(std::max<index_t>(group_bytes / std::max<index_t>(plane, 1), 1),
                    std::max<index_t>(piece, 1));
}

void connect(StreamedImage& stream, ImageSource& image, const StreamTask& task, Timeline* timeline,
             BlockInput& input, BlockOutput& output) {
    const StackFormat from = image.format();
    input.source = contiguous_view(nullptr, from.type, from.shape);
    input.read = [&image, task, timeline](const Box3& part, const ImageView& target) {
        const PhaseTimer timer(timeline, Phase::read, -1, task.number,
                               bytes_of(target.shape, target.type));
        image.read_box(task.t, task.c, part, target);
    };
    output.target = contiguous_view(nullptr, stream.sink->format().type, task.box.shape());
    output.write = [&stream, task, timeline](const Box3& part, const ConstImageView& source) {
        const PhaseTimer timer(timeline, Phase::write, -1, task.number,
                               bytes_of(source.shape, source.type));
        Box3 place = part;
        for (int a = 0; a < 3; ++a) {
            place.begin[a] += task.box.begin[a];
            place.end[a] += task.box.begin[a];
        }
        stream.written = true;
        stream.sink->write_box(task.t, task.c, place, source);
    };
}

index_t BufferedTasks::bytes(const Block& block, const Shape3& image, index_t tasks) {
    Shape3 read = block.loaded();
    for (int a = 0; a < 3; ++a) read[a] = std::min(read[a], image[a]);
    const index_t one =
        checked_add(Buffer::rounded_bytes(bytes_of(read, block.source_type)),
                    Buffer::rounded_bytes(bytes_of(block.kept(), block.target_type)));
    return checked_multiply(tasks == 1 ? 1 : boxes, one);
}

ExecutionReport BufferedTasks::run(const BlockInput& source, const BlockOutput& sink, int threads,
                                   const TaskRecord& record, const Convolve& convolve) {
    BlockInput input = source;
    BlockOutput output = sink;
    input.read = {};
    output.write = {};
    const PackedBox packed(source.gather);
    input.gather = packed.gathers();

    std::optional<BufferedBox> read(std::in_place, free_inputs_, inputs_, packed.shape(),
                                    source.source.type, threads, record);
    packed.read(source.read, read->view());
    input.source = read->view();
    index_t nonfinite = 0;
    if (source.find_nonfinite) {
        const PhaseTimer timer(record.timeline, Phase::read, -1, record.task);
        if (pixels::find_nonfinite(input.source, threads))
            nonfinite = pixels::count_nonfinite(input.source, threads);
    }
    if (nonfinite > 0 && !source.nonfinite_to_zero) return {.nonfinite_inputs = nonfinite};

    std::unique_lock engine(engine_);
    const BufferedBox result(free_outputs_, outputs_, sink.target.shape, sink.target.type, threads,
                             record);
    output.target = result.view();
    ExecutionReport report = convolve(input, output);
    report.nonfinite_inputs = nonfinite;
    engine.unlock();
    read.reset();
    sink.write({{0, 0, 0}, sink.target.shape}, result.view());
    return report;
}

PackedBox::PackedBox(const std::array<std::vector<index_t>, 3>& gathers)
    : axes_{pack(gathers[0]), pack(gathers[1]), pack(gathers[2])} {}

std::array<std::vector<index_t>, 3> PackedBox::gathers() const {
    return {axes_[0].gather, axes_[1].gather, axes_[2].gather};
}

PackedBox::PackedAxis PackedBox::pack(const std::vector<index_t>& gather) {
    std::vector<index_t> used;
    for (const index_t i : gather)
        if (i >= 0) used.push_back(i);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());

    PackedAxis axis;
    for (const index_t i : used) {
        if (axis.ranges.empty() || axis.ranges.back().end != i)
            axis.ranges.push_back({i, i, axis.extent});
        ++axis.ranges.back().end;
        ++axis.extent;
    }
    axis.gather.reserve(gather.size());
    for (const index_t i : gather) {
        if (i < 0) {
            axis.gather.push_back(-1);
            continue;
        }
        const auto place = std::lower_bound(used.begin(), used.end(), i) - used.begin();
        axis.gather.push_back(static_cast<index_t>(place));
    }
    return axis;
}

void PackedBox::read(const std::function<void(const Box3&, const ImageView&)>& read_box,
                     const ImageView& target) const {
    for (const PackedRange& z : axes_[0].ranges)
        for (const PackedRange& y : axes_[1].ranges)
            for (const PackedRange& x : axes_[2].ranges) {
                const Box3 from{{z.begin, y.begin, x.begin}, {z.end, y.end, x.end}};
                const Index3 at{z.at, y.at, x.at};
                const Shape3 shape = from.shape();
                read_box(from,
                         subview(target, {at, {at.z + shape.z, at.y + shape.y, at.x + shape.x}}));
            }
}

}  // namespace convolume
