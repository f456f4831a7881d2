// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images between host and device. Page-locked memory is read and written by the device itself;
// ordinary memory goes through staging buffers, copied by host threads while transfers run.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "convolume/image_view.hpp"
#include "gpu/runtime/device_timeline.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfer_gate.hpp"

namespace convolume::gpu {

/// The view's samples in C order as they lie in compact memory.
void copy_from_view(const ConstImageView& view, index_t first, index_t count, char* target,
                    int threads);
void copy_to_view(const char* source, index_t first, index_t count, const ImageView& view,
                  int threads);

/// Images that are not in memory: reads a box to a view of its shape, or takes it from there.
using BoxReader = std::function<void(const Box3&, const ImageView&)>;
using BoxWriter = std::function<void(const Box3&, const ConstImageView&)>;

/// What the transfers of one task share.
struct TransferContext {
    int device = 0;
    int host_threads = 1;
    Gate* gate = nullptr;
    StagingPool* staging = nullptr;  ///< of this direction
    DeviceTimeline* timeline = nullptr;
};

/// Copies views to the device, in order, on a stream of its own.
class Uploader {
  public:
    Uploader(const TransferContext& context, cudaStream_t stream)
        : context_(context), stream_(stream) {}
    ~Uploader();

    /// The samples of `source`, compact, to `target`. Returns when `source` was read or will be by
    /// the device itself.
    void upload(const ConstImageView& source, char* target);
    /// The samples in `box`, read to staging buffers. Returns when they were read.
    void upload(const BoxReader& read, const Box3& box, PixelType type, char* target);
    /// Gives back the staging buffers when everything has left them.
    void finish() { reclaim(0); }

  private:
    void upload_staged(const ConstImageView& source, char* target);
    /// `fill(buffer)` writes `bytes` to a staging buffer, from where they travel to `target`.
    template <class Fill>
    void upload_filled(index_t bytes, char* target, const Fill& fill);
    void reclaim(std::size_t keep);

    struct Staged {
        StagingPool::Lease buffer;
        Event copied;
    };
    TransferContext context_;
    cudaStream_t stream_;
    std::deque<Staged> in_flight_;
};

/// Copies from the device into views, in order. What goes through staging buffers leaves them by
/// threads of its own: one for ordinary memory, several for images that are not in memory.
class Downloader {
  public:
    Downloader(const TransferContext& context, cudaStream_t stream)
        : context_(context), stream_(stream) {}
    ~Downloader();

    /// The compact samples at `source` into `target`, on the stream.
    void download(const char* source, const ImageView& target);
    /// The compact samples at `source`, which are those in `box`, to `write`, which must outlive
    /// this.
    void download(const char* source, const BoxWriter& write, const Box3& box, PixelType type);
    /// Returns when all targets are written. Throws what went wrong on the way.
    void finish();

  private:
    void download_staged(const char* source, const ImageView& target);
    /// `deliver(buffer)` takes `bytes` from a staging buffer, on a thread of this downloader's.
    void stage(const char* source, index_t bytes, std::function<void(const char*)> deliver);
    void start_drainers(int count);
    void drain();

    struct Staged {
        StagingPool::Lease buffer;
        Event copied;
        std::function<void(const char*)> deliver;
    };
    TransferContext context_;
    cudaStream_t stream_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Staged> in_flight_;
    bool ends_ = false;
    std::exception_ptr error_;
    std::vector<std::jthread> drainers_;
};

}  // namespace convolume::gpu
