// SPDX-License-Identifier: Apache-2.0
#include "io/file_array.hpp"

#include <array>
#include <mutex>

#include "io/jobs.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

/// Bytes that a thread reads or writes in one job.
constexpr index_t job_bytes = index_t{4} << 20;
/// Bytes of the buffer for samples whose order in memory differs. It stays in a core's cache.
constexpr index_t buffer_bytes = index_t{1} << 20;
/// Bytes whose reading takes no longer than the system call itself.
constexpr index_t negligible_read_bytes = index_t{64} << 10;

/// A buffer of at most buffer_bytes, whose memory is kept for the next PooledBuffer. It is not a
/// thread-local variable: if memory for those is refused, the C library ends the process.
class PooledBuffer {
  public:
    PooledBuffer() {
        const std::lock_guard lock(mutex);
        for (std::vector<char>& buffer : idle)
            if (!buffer.empty()) {
                bytes.swap(buffer);
                return;
            }
    }
    ~PooledBuffer() {
        const std::lock_guard lock(mutex);
        for (std::vector<char>& buffer : idle)
            if (buffer.empty()) {
                bytes.swap(buffer);
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

/// Returns the axis of more than one element with the largest stride in the file, or -1.
int slowest_axis(const Shape3& shape, const Index3& strides) {
    int slowest = -1;
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && (slowest < 0 || strides[axis] > strides[slowest])) slowest = axis;
    return slowest;
}

/// Tells whether the array is contiguous. Strides of axes with a single element do not matter.
bool has_contiguous_strides(const Shape3& shape, const Index3& strides) {
    const Index3 wanted = contiguous_strides(shape);
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && strides[axis] != wanted[axis]) return false;
    return true;
}

/// Calls `use` for both halves of a box, divided along `axis`.
template <class View, class Use>
void halve(const FileBox<View>& box, int axis, const Use& use) {
    Box3 low{{0, 0, 0}, box.view.shape};
    Box3 high = low;
    const index_t middle = box.view.shape[axis] / 2;
    low.end[axis] = middle;
    high.begin[axis] = middle;
    use(FileBox<View>{box.array, subview(box.view, low)});
    use(FileBox<View>{box.array.from(high.begin, bytes_each(box.view)), subview(box.view, high)});
}

template <class View>
void divide(const FileBox<View>& box, std::vector<FileBox<View>>& jobs) {
    const index_t bytes = element_count(box.view.shape) * bytes_each(box.view);
    if (bytes == 0) return;
    if (bytes <= job_bytes) {
        jobs.push_back(box);
        return;
    }
    halve(box, slowest_axis(box.view.shape, box.array.strides),
          [&](const FileBox<View>& half) { divide(half, jobs); });
}

void read_box(const RawFile& file, const FileBox<ImageView>& box, std::vector<char>& buffer) {
    const ImageView& target = box.view;
    const FileArray& array = box.array;
    const index_t element_bytes = bytes_each(target);
    const index_t count = element_count(target.shape);
    if (has_contiguous_strides(target.shape, array.strides) &&
        has_contiguous_strides(target.shape, target.strides)) {
        file.read(array.offset, target.data, count * element_bytes);
        if (array.swapped) swap_pixels(target.data, count, target.type);
        return;
    }
    index_t span = 1;
    for (int axis = 0; axis < 3; ++axis) span += (target.shape[axis] - 1) * array.strides[axis];
    // Unwanted bytes between the samples are read too if they are few.
    const bool reads_gaps = span <= 4 * count || span * element_bytes <= negligible_read_bytes;
    const int slowest = slowest_axis(target.shape, array.strides);
    if (slowest >= 0 && (span * element_bytes > buffer_bytes || !reads_gaps)) {
        halve(box, slowest, [&](const FileBox<ImageView>& half) { read_box(file, half, buffer); });
        return;
    }
    buffer.resize(static_cast<std::size_t>(span * element_bytes));
    file.read(array.offset, buffer.data(), span * element_bytes);
    if (array.swapped) swap_pixels(buffer.data(), span, target.type);
    copy_view({buffer.data(), target.type, target.shape, array.strides}, target);
}

void write_box(AtomicOutput& output, const FileBox<ConstImageView>& box,
               std::vector<char>& buffer) {
    const ConstImageView& source = box.view;
    const index_t bytes = element_count(source.shape) * bytes_each(source);
    if (has_contiguous_strides(source.shape, box.array.strides)) {
        if (has_contiguous_strides(source.shape, source.strides)) {
            output.write(box.array.offset, source.data, bytes);
            return;
        }
        if (bytes <= buffer_bytes) {
            buffer.resize(static_cast<std::size_t>(bytes));
            copy_view(source,
                      {buffer.data(), source.type, source.shape, contiguous_strides(source.shape)});
            output.write(box.array.offset, buffer.data(), bytes);
            return;
        }
    }
    // A single element is always contiguous, so here some axis can be halved.
    halve(box, slowest_axis(source.shape, box.array.strides),
          [&](const FileBox<ConstImageView>& half) { write_box(output, half, buffer); });
}

}  // namespace

FileArray FileArray::from(const Index3& begin, index_t bytes) const {
    FileArray rest = *this;
    for (int axis = 0; axis < 3; ++axis) rest.offset += begin[axis] * strides[axis] * bytes;
    return rest;
}

void read_boxes(const RawFile& file, const std::vector<FileBox<ImageView>>& boxes) {
    std::vector<FileBox<ImageView>> jobs;
    for (const FileBox<ImageView>& box : boxes) divide(box, jobs);
    index_t bytes = 0;
    for (const auto& job : jobs) bytes += element_count(job.view.shape) * bytes_each(job.view);
    const auto count = static_cast<index_t>(jobs.size());
    run_jobs(count, job_threads(count, bytes, job_bytes), [&](index_t i) {
        PooledBuffer buffer;
        read_box(file, jobs[static_cast<std::size_t>(i)], buffer.bytes);
    });
}

void read_array(const RawFile& file, const FileArray& array, const ImageView& target) {
    read_boxes(file, {{array, target}});
}

void write_array(AtomicOutput& output, const FileArray& array, const ConstImageView& source) {
    std::vector<FileBox<ConstImageView>> jobs;
    divide<ConstImageView>({array, source}, jobs);
    const auto count = static_cast<index_t>(jobs.size());
    const index_t bytes = element_count(source.shape) * bytes_each(source);
    // Further threads help only to copy: file systems let one thread write to a file at a time.
    const Shape3 plane{1, source.shape.y, source.shape.x};
    const bool copies = !has_contiguous_strides(plane, source.strides);
    run_jobs(count, copies ? job_threads(count, bytes, job_bytes) : 1, [&](index_t i) {
        PooledBuffer buffer;
        write_box(output, jobs[static_cast<std::size_t>(i)], buffer.bytes);
    });
}

}  // namespace convolume::io
