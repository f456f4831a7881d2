// SPDX-License-Identifier: Apache-2.0
#include "io/file_array.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "io/jobs.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

/// What one thread reads or writes between two looks for work.
constexpr index_t job_bytes = index_t{4} << 20;
/// Samples that lie otherwise in memory go through a buffer that stays in a core's cache.
constexpr index_t buffer_bytes = index_t{1} << 20;
/// Fewer bytes cost no more than the call that reads them.
constexpr index_t worth_a_call_bytes = index_t{64} << 10;

/// A buffer of at most buffer_bytes, whose memory is kept for the next one. It is no variable of a
/// thread: where memory is refused, the C library ends a process that has such variables.
class PooledBuffer {
  public:
    PooledBuffer() {
        const std::lock_guard lock(mutex);
        for (std::vector<char>& kept : idle)
            if (!kept.empty()) {
                bytes.swap(kept);
                return;
            }
    }
    ~PooledBuffer() {
        const std::lock_guard lock(mutex);
        for (std::vector<char>& place : idle)
            if (place.empty()) {
                bytes.swap(place);
                return;
            }
    }
    PooledBuffer(const PooledBuffer&) = delete;
    PooledBuffer& operator=(const PooledBuffer&) = delete;

    std::vector<char> bytes;

  private:
    static inline std::mutex mutex;
    static inline std::array<std::vector<char>, 8> idle;
};

index_t bytes_each(const ConstImageView& view) {
    return static_cast<index_t>(size_of(view.type));
}

/// Axis with more than one element and the largest stride in the file, or -1.
int slowest_axis(const Shape3& shape, const Index3& strides) {
    int slowest = -1;
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && (slowest < 0 || strides[axis] > strides[slowest])) slowest = axis;
    return slowest;
}

/// Whether the strides of axes that have more than one element are those of a contiguous array.
bool lies_contiguous(const Shape3& shape, const Index3& strides) {
    const Index3 wanted = contiguous_strides(shape);
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && strides[axis] != wanted[axis]) return false;
    return true;
}

/// Calls `use` for both halves of a part along `axis`.
template <class View, class Use>
void halve(const FilePart<View>& part, int axis, const Use& use) {
    Box3 low{{0, 0, 0}, part.view.shape};
    Box3 high = low;
    const index_t middle = part.view.shape[axis] / 2;
    low.end[axis] = middle;
    high.begin[axis] = middle;
    use(FilePart<View>{part.array, subview(part.view, low)});
    use(FilePart<View>{part.array.from(high.begin, bytes_each(part.view)),
                       subview(part.view, high)});
}

template <class View>
void divide(const FilePart<View>& part, std::vector<FilePart<View>>& jobs) {
    const index_t bytes = element_count(part.view.shape) * bytes_each(part.view);
    if (bytes == 0) return;
    if (bytes <= job_bytes) {
        jobs.push_back(part);
        return;
    }
    halve(part, slowest_axis(part.view.shape, part.array.strides),
          [&](const FilePart<View>& half) { divide(half, jobs); });
}

void read_part(const RawFile& file, const FilePart<ImageView>& part, std::vector<char>& buffer) {
    const ImageView& target = part.view;
    const FileArray& array = part.array;
    const index_t each = bytes_each(target);
    const index_t count = element_count(target.shape);
    if (lies_contiguous(target.shape, array.strides) &&
        lies_contiguous(target.shape, target.strides)) {
        file.read(array.offset, target.data, count * each);
        if (array.swapped) swap_pixels(target.data, count, target.type);
        return;
    }
    index_t span = 1;
    for (int axis = 0; axis < 3; ++axis) span += (target.shape[axis] - 1) * array.strides[axis];
    // Few bytes between those wanted are read along.
    const bool dense = span <= 4 * count || span * each <= worth_a_call_bytes;
    const int slowest = slowest_axis(target.shape, array.strides);
    if (slowest >= 0 && (span * each > buffer_bytes || !dense)) {
        halve(part, slowest,
              [&](const FilePart<ImageView>& half) { read_part(file, half, buffer); });
        return;
    }
    buffer.resize(static_cast<std::size_t>(span * each));
    file.read(array.offset, buffer.data(), span * each);
    if (array.swapped) swap_pixels(buffer.data(), span, target.type);
    copy_view({buffer.data(), target.type, target.shape, array.strides}, target);
}

void write_part(AtomicOutput& output, const FilePart<ConstImageView>& part,
                std::vector<char>& buffer) {
    const ConstImageView& source = part.view;
    const index_t bytes = element_count(source.shape) * bytes_each(source);
    if (lies_contiguous(source.shape, part.array.strides)) {
        if (lies_contiguous(source.shape, source.strides)) {
            output.write(part.array.offset, source.data, bytes);
            return;
        }
        if (bytes <= buffer_bytes) {
            buffer.resize(static_cast<std::size_t>(bytes));
            copy_view(source,
                      {buffer.data(), source.type, source.shape, contiguous_strides(source.shape)});
            output.write(part.array.offset, buffer.data(), bytes);
            return;
        }
    }
    // A single element is always contiguous, so that there is an axis to halve.
    halve(part, slowest_axis(source.shape, part.array.strides),
          [&](const FilePart<ConstImageView>& half) { write_part(output, half, buffer); });
}

}  // namespace

FileArray FileArray::from(const Index3& begin, index_t bytes) const {
    FileArray rest = *this;
    for (int axis = 0; axis < 3; ++axis) rest.offset += begin[axis] * strides[axis] * bytes;
    return rest;
}

void read_parts(const RawFile& file, const std::vector<FilePart<ImageView>>& parts) {
    std::vector<FilePart<ImageView>> jobs;
    for (const FilePart<ImageView>& part : parts) divide(part, jobs);
    index_t bytes = 0;
    for (const auto& job : jobs) bytes += element_count(job.view.shape) * bytes_each(job.view);
    const auto count = static_cast<index_t>(jobs.size());
    run_jobs(count, job_threads(count, bytes, job_bytes), [&](index_t i) {
        PooledBuffer buffer;
        read_part(file, jobs[static_cast<std::size_t>(i)], buffer.bytes);
    });
}

void read_array(const RawFile& file, const FileArray& array, const ImageView& target) {
    read_parts(file, {{array, target}});
}

void write_array(AtomicOutput& output, const FileArray& array, const ConstImageView& source) {
    std::vector<FilePart<ConstImageView>> jobs;
    divide<ConstImageView>({array, source}, jobs);
    const auto count = static_cast<index_t>(jobs.size());
    const index_t bytes = element_count(source.shape) * bytes_each(source);
    // File systems let one thread at a time write to a file: others help only by copying.
    const Shape3 plane{1, source.shape.y, source.shape.x};
    const bool copies = !lies_contiguous(plane, source.strides);
    run_jobs(count, copies ? job_threads(count, bytes, job_bytes) : 1, [&](index_t i) {
        PooledBuffer buffer;
        write_part(output, jobs[static_cast<std::size_t>(i)], buffer.bytes);
    });
}

}  // namespace convolume::io
