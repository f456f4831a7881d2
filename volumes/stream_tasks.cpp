// SPDX-License-Identifier: Apache-2.0
#include "volumes/stream_tasks.hpp"

#include <algorithm>
#include <optional>

#include "core/pixels/rows.hpp"
#include "volumes/layout.hpp"
#include "volumes/packed_box.hpp"

namespace convolume {

namespace {

// One of the boxes that may be there at a time.
class Permit {
  public:
    explicit Permit(std::counting_semaphore<>& free) : free_(free) { free_.acquire(); }
    ~Permit() { free_.release(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

  private:
    std::counting_semaphore<>& free_;
};

// A box in memory for as long as a task needs it.
class HeldBox {
  public:
    HeldBox(std::counting_semaphore<>& free, BufferPool& pool, const Shape3& shape, PixelType type,
            int threads, const HeldTasks::Record& record)
        : permit_(free),
          lease_([&] {
              const index_t bytes = bytes_of(shape, type);
              const PhaseTimer timer(record.timeline, Phase::allocate, -1, record.task, bytes);
              return pool.take(bytes, threads, "a box of the image");
          }()),
          shape_(shape),
          type_(type) {}

    ImageView view() const { return {lease_.data(), type_, shape_, contiguous_strides(shape_)}; }

  private:
    Permit permit_;
    BufferPool::Lease lease_;
    Shape3 shape_;
    PixelType type_;
};

}  // namespace

void connect(Stream& stream, index_t t, index_t c, const Box3& box, int task, Timeline* timeline,
             BlockInput& input, BlockOutput& output) {
    const StackFormat from = stream.source->format();
    input.source = {nullptr, from.type, from.shape, contiguous_strides(from.shape)};
    input.read = [&stream, t, c, task, timeline](const Box3& part, const ImageView& target) {
        const PhaseTimer timer(timeline, Phase::read, -1, task,
                               bytes_of(target.shape, target.type));
        stream.source->read_box(t, c, part, target);
    };
    const PixelType to = stream.sink->format().type;
    output.target = {nullptr, to, box.shape(), contiguous_strides(box.shape())};
    output.write = [&stream, t, c, box, task, timeline](const Box3& part,
                                                        const ConstImageView& source) {
        const PhaseTimer timer(timeline, Phase::write, -1, task,
                               bytes_of(source.shape, source.type));
        Box3 place = part;
        for (int a = 0; a < 3; ++a) {
            place.begin[a] += box.begin[a];
            place.end[a] += box.begin[a];
        }
        stream.written = true;
        stream.sink->write_box(t, c, place, source);
    };
}

index_t HeldTasks::bytes(const Block& block, const Shape3& image, index_t tasks) {
    Shape3 read = block.loaded();
    for (int a = 0; a < 3; ++a) read[a] = std::min(read[a], image[a]);
    const index_t one =
        checked_add(Buffer::rounded_bytes(bytes_of(read, block.source_type)),
                    Buffer::rounded_bytes(bytes_of(block.kept(), block.target_type)));
    return checked_multiply(tasks == 1 ? 1 : boxes, one);
}

ExecutionReport HeldTasks::run(const BlockInput& source, const BlockOutput& sink, int threads,
                               const Record& record, const Convolve& convolve) {
    BlockInput input = source;
    BlockOutput output = sink;
    input.read = {};
    output.write = {};
    const PackedBox packed(source.gather);
    input.gather = packed.gathers();

    std::optional<HeldBox> read(std::in_place, free_inputs_, inputs_, packed.shape(),
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
    const HeldBox result(free_outputs_, outputs_, sink.target.shape, sink.target.type, threads,
                         record);
    output.target = result.view();
    ExecutionReport report = convolve(input, output);
    report.nonfinite_inputs = nonfinite;
    engine.unlock();
    read.reset();
    sink.write({{0, 0, 0}, sink.target.shape}, result.view());
    return report;
}

}  // namespace convolume
