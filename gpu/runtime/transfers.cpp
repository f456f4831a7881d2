// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/transfers.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/engine.hpp"
#include "core/pixels/contiguous.hpp"
#include "core/threads.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/fault.hpp"

namespace convolume::gpu {

namespace {

// Divides the samples [first, first + count) of a shape in C order into contiguous runs along x.
// Calls run(z, y, x, samples, offset from `first`).
template <class Run>
void for_each_row(const Shape3& shape, index_t first, index_t count, const Run& run) {
    index_t z = first / (shape.y * shape.x);
    index_t y = first / shape.x % shape.y;
    index_t x = first % shape.x;
    for (index_t done = 0; done < count;) {
        const index_t here = std::min(count - done, shape.x - x);
        run(z, y, x, here, done);
        done += here;
        x = 0;
        if (++y == shape.y) {
            y = 0;
            ++z;
        }
    }
}

// Divides `count` samples into equal shares, one for each thread.
template <class Work>
void for_each_share(index_t count, int threads, const Work& work) {
    constexpr index_t least = 1 << 16;  // fewer samples are not worth a thread
    const index_t shares = std::clamp<index_t>(count / least, 1, threads);
    parallel_for(shares, static_cast<int>(shares), [&](index_t share, int) {
        const index_t begin = count / shares * share + std::min(share, count % shares);
        const index_t end = begin + count / shares + (share < count % shares ? 1 : 0);
        work(begin, end - begin);
    });
}

template <std::size_t bytes>
struct OpaqueSample {
    char data[bytes];
};

// Calls `f` with a type as large as a sample of `type`, which is enough for moving samples.
template <class F>
void visit_pixel_size(PixelType type, const F& f) {
    switch (size_of(type)) {
        case 1:
            return f(OpaqueSample<1>{});
        case 2:
            return f(OpaqueSample<2>{});
        case 4:
            return f(OpaqueSample<4>{});
        case 8:
            return f(OpaqueSample<8>{});
        default:
            return f(OpaqueSample<16>{});
    }
}

// Views of at least as many bytes are copied past the caches, which have no room for them.
constexpr index_t past_cache_bytes = index_t{32} << 20;

void copy_run(const void* from, index_t bytes, void* to, bool past_cache) {
    if (past_cache)
        pixels::stream_copy(from, bytes, to);
    else
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

bool goes_past_cache(const ConstImageView& view) {
    return bytes_of(view.shape, view.type) >= past_cache_bytes;
}

// Calls use(row, at, samples), on `threads` threads, for runs along x of `count` samples of a view
// in C order. `row` points to the first sample of a run, which is number `at` of the `count`.
template <class Use>
void for_each_run(const ConstImageView& view, index_t first, index_t count, int threads,
                  const Use& use) {
    visit_pixel_size(view.type, [&](auto sample) {
        using T = decltype(sample);
        for_each_share(count, threads, [&](index_t begin, index_t share) {
            for_each_row(view.shape, first + begin, share,
                         [&](index_t z, index_t y, index_t x, index_t samples, index_t at) {
                             auto* const row = const_cast<void*>(view.at(z, y, x));
                             use(static_cast<T*>(row), begin + at, samples);
                         });
            pixels::stream_fence();
        });
    });
}

// Whether a device can copy the view's rows without staging buffers.
bool is_device_accessible(const ConstImageView& view) {
    const bool rows_in_order = view.strides.x == 1 && view.strides.y >= view.shape.x &&
                               view.strides.z >= view.strides.y * view.shape.y;
    const index_t last =
        (view.shape.z - 1) * view.strides.z + (view.shape.y - 1) * view.strides.y + view.shape.x;
    return rows_in_order && is_page_locked(view.data, last * sample_bytes(view.type));
}

// Copies between a directly accessible view and contiguous device memory.
void copy_rows(const ConstImageView& view, char* device, cudaMemcpyKind kind, cudaStream_t stream) {
    const auto size = [&](index_t samples) {
        return static_cast<std::size_t>(samples * sample_bytes(view.type));
    };
    const auto copy = [&](index_t z, std::size_t width, std::size_t pitch, std::size_t height) {
        char* const host =
            static_cast<char*>(const_cast<void*>(view.data)) + size(z * view.strides.z);
        char* const there = device + size(z * view.shape.y * view.shape.x);
        const bool up = kind == cudaMemcpyHostToDevice;
        check(cudaMemcpy2DAsync(up ? there : host, up ? width : pitch, up ? host : there,
                                up ? pitch : width, width, height, kind, stream),
              up ? "copying to the GPU" : "copying from the GPU");
    };
    if (is_contiguous(view)) {
        const bool up = kind == cudaMemcpyHostToDevice;
        void* const host = const_cast<void*>(view.data);
        check(cudaMemcpyAsync(up ? device : host, up ? host : device,
                              size(element_count(view.shape)), kind, stream),
              up ? "copying to the GPU" : "copying from the GPU");
    } else if (view.strides.y == view.shape.x) {
        copy(0, size(view.shape.y * view.shape.x), size(view.strides.z),
             static_cast<std::size_t>(view.shape.z));
    } else {
        for (index_t z = 0; z < view.shape.z; ++z)
            copy(z, size(view.shape.x), size(view.strides.y),
                 static_cast<std::size_t>(view.shape.y));
    }
}

// Largest number of threads that write pieces of a result to a sink: a disk needs several
// concurrent writes.
constexpr int most_writers = 4;

// Divides `box` into pieces of at most `count` samples that are contiguous in the box: whole
// planes, rows of one plane, or samples of one row. Calls use(piece, first); `first` is the number
// of its first sample in the box.
template <class Use>
void for_each_piece(const Box3& box, index_t count, const Use& use) {
    const Shape3 shape = box.shape();
    const index_t plane = shape.y * shape.x;
    if (element_count(shape) == 0) return;
    const index_t planes = std::max<index_t>(count / plane, 1);
    const index_t rows = planes > 1 ? shape.y : std::clamp<index_t>(count / shape.x, 1, shape.y);
    const index_t columns = rows > 1 || shape.x <= count ? shape.x : count;
    for (index_t z = 0; z < shape.z; z += planes)
        for (index_t y = 0; y < shape.y; y += rows)
            for (index_t x = 0; x < shape.x; x += columns) {
                Box3 piece;
                piece.begin = {box.begin.z + z, box.begin.y + y, box.begin.x + x};
                piece.end = {std::min(piece.begin.z + planes, box.end.z),
                             std::min(piece.begin.y + rows, box.end.y),
                             std::min(piece.begin.x + columns, box.end.x)};
                use(piece, (z * shape.y + y) * shape.x + x);
            }
}

void inject_transfer_fault() {
    if (fault_due(InjectedFault::transfer)) check(cudaErrorUnknown, "copying");
}

}  // namespace

BusGate::Lock BusGate::lock_link(int device, BusDirection direction) {
    if (policy_ != TransferGate::per_link) return {};
    std::mutex* link = nullptr;
    {
        const std::lock_guard lock(links_mutex_);
        link = &links_[device][direction == BusDirection::to_device ? 0 : 1];
    }
    return Lock(*link);
}

BusGate::Lock BusGate::lock_bus() {
    return policy_ == TransferGate::global ? Lock(bus_) : Lock();
}

void copy_from_view(const ConstImageView& view, index_t first, index_t count, char* target,
                    int threads) {
    const bool past_cache = goes_past_cache(view);
    for_each_run(view, first, count, threads, [&](auto* row, index_t at, index_t samples) {
        auto* const to = reinterpret_cast<std::remove_pointer_t<decltype(row)>*>(target) + at;
        if (view.strides.x == 1)
            copy_run(row, samples * static_cast<index_t>(sizeof(*row)), to, past_cache);
        else
            for (index_t i = 0; i < samples; ++i) to[i] = row[i * view.strides.x];
    });
}

void copy_to_view(const char* source, index_t first, index_t count, const ImageView& view,
                  int threads) {
    const bool past_cache = goes_past_cache(view);
    for_each_run(view, first, count, threads, [&](auto* row, index_t at, index_t samples) {
        const auto* const from =
            reinterpret_cast<const std::remove_pointer_t<decltype(row)>*>(source) + at;
        if (view.strides.x == 1)
            copy_run(from, samples * static_cast<index_t>(sizeof(*row)), row, past_cache);
        else
            for (index_t i = 0; i < samples; ++i) row[i * view.strides.x] = from[i];
    });
}

Uploader::~Uploader() {
    for (const PendingUpload& pending : in_flight_) {
        static_cast<void>(cudaEventSynchronize(pending.copied));  // failures were reported before
    }
}

void Uploader::upload(const ConstImageView& source, char* target) {
    inject_transfer_fault();
    if (!is_device_accessible(source)) return upload_staged(source, target);
    const BusGate::Lock bus_lock = context_.gate->lock_bus();
    context_.timeline->phase(Phase::host_to_device, stream_, bytes_of(source.shape, source.type),
                             [&] { copy_rows(source, target, cudaMemcpyHostToDevice, stream_); });
    if (bus_lock) check(cudaStreamSynchronize(stream_), "copying to the GPU");
}

template <class Fill>
void Uploader::upload_filled(index_t bytes, char* target, const Fill& fill) {
    reclaim(3);
    StagingPool::StagingBuffer buffer = context_.staging->try_take(bytes);
    if (!buffer) {
        reclaim(0);  // while it waits, this task holds no staging buffer that others need
        buffer = context_.staging->take(bytes);
    }
    PendingUpload pending{std::move(buffer), CudaEvent()};
    fill(pending.buffer.get());
    const BusGate::Lock bus_lock = context_.gate->lock_bus();
    context_.timeline->phase(Phase::host_to_device, stream_, bytes, [&] {
        check(cudaMemcpyAsync(target, pending.buffer.get(), static_cast<std::size_t>(bytes),
                              cudaMemcpyHostToDevice, stream_),
              "copying to the GPU");
    });
    pending.copied.record(stream_);
    if (bus_lock) pending.copied.wait();
    in_flight_.push_back(std::move(pending));
}

void Uploader::upload_staged(const ConstImageView& source, char* target) {
    const index_t bytes = sample_bytes(source.type);
    const index_t count = element_count(source.shape);
    const index_t at_once = StagingPool::buffer_bytes / bytes;
    for (index_t first = 0; first < count; first += at_once) {
        const index_t here = std::min(at_once, count - first);
        upload_filled(here * bytes, target + first * bytes, [&](char* buffer) {
            copy_from_view(source, first, here, buffer, context_.host_threads);
        });
    }
}

void Uploader::upload(const BoxReader& read, const Box3& box, PixelType type, char* target) {
    inject_transfer_fault();
    const auto bytes = sample_bytes(type);
    for_each_piece(box, StagingPool::buffer_bytes / bytes, [&](const Box3& piece, index_t first) {
        const Shape3 shape = piece.shape();
        upload_filled(element_count(shape) * bytes, target + first * bytes, [&](char* buffer) {
            read(piece, {buffer, type, shape, contiguous_strides(shape)});
        });
    });
}

void Uploader::reclaim(std::size_t keep) {
    while (in_flight_.size() > keep) {
        in_flight_.front().copied.wait();
        in_flight_.pop_front();
    }
}

Downloader::~Downloader() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    drainers_.clear();  // joins the threads
}

void Downloader::download(const char* source, const ImageView& target) {
    inject_transfer_fault();
    if (!is_device_accessible(target)) return download_staged(source, target);
    const BusGate::Lock bus_lock = context_.gate->lock_bus();
    context_.timeline->phase(
        Phase::device_to_host, stream_, bytes_of(target.shape, target.type),
        [&] { copy_rows(target, const_cast<char*>(source), cudaMemcpyDeviceToHost, stream_); });
    if (bus_lock) check(cudaStreamSynchronize(stream_), "copying from the GPU");
}

void Downloader::download_staged(const char* source, const ImageView& target) {
    start_drainers(1);
    const index_t bytes = sample_bytes(target.type);
    const index_t count = element_count(target.shape);
    const index_t at_once = StagingPool::buffer_bytes / bytes;
    for (index_t first = 0; first < count; first += at_once) {
        const index_t here = std::min(at_once, count - first);
        stage(source + first * bytes, here * bytes, [this, target, first, here](const char* from) {
            copy_to_view(from, first, here, target, context_.host_threads);
        });
    }
}

void Downloader::download(const char* source, const BoxWriter& write, const Box3& box,
                          PixelType type) {
    inject_transfer_fault();
    start_drainers(std::min(context_.host_threads, most_writers));
    const auto bytes = sample_bytes(type);
    for_each_piece(box, StagingPool::buffer_bytes / bytes, [&](const Box3& piece, index_t first) {
        const Shape3 shape = piece.shape();
        stage(source + first * bytes, element_count(shape) * bytes,
              [&write, piece, shape, type](const char* from) {
                  write(piece, {from, type, shape, contiguous_strides(shape)});
              });
    });
}

void Downloader::stage(const char* source, index_t bytes,
                       std::function<void(const char*)> deliver) {
    PendingDownload pending{context_.staging->take(bytes), CudaEvent(), std::move(deliver)};
    const BusGate::Lock bus_lock = context_.gate->lock_bus();
    context_.timeline->phase(Phase::device_to_host, stream_, bytes, [&] {
        check(cudaMemcpyAsync(pending.buffer.get(), source, static_cast<std::size_t>(bytes),
                              cudaMemcpyDeviceToHost, stream_),
              "copying from the GPU");
    });
    pending.copied.record(stream_);
    if (bus_lock) pending.copied.wait();
    {
        const std::lock_guard lock(mutex_);
        in_flight_.push_back(std::move(pending));
        // A failed write ends the work early.
        if (error_) std::rethrow_exception(error_);
    }
    changed_.notify_all();
}

void Downloader::start_drainers(int count) {
    while (static_cast<int>(drainers_.size()) < std::max(count, 1))
        drainers_.emplace_back([this] { drain(); });
}

void Downloader::finish() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    drainers_.clear();  // joins the threads
    if (error_) std::rethrow_exception(error_);
    check(cudaStreamSynchronize(stream_), "copying from the GPU");
}

void Downloader::drain() {
    while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_ending_ || !in_flight_.empty(); });
        if (in_flight_.empty()) return;
        PendingDownload pending = std::move(in_flight_.front());
        in_flight_.pop_front();
        const bool failed = error_ != nullptr;
        lock.unlock();
        try {
            const DeviceScope scope(context_.device);
            pending.copied.wait();
            if (!failed) pending.deliver(pending.buffer.get());
        } catch (...) {
            const std::lock_guard error_lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
    }
}

}  // namespace convolume::gpu
