#pragma once
// The streams and events with which one task works on a device.

#include <array>

#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

/// Streams and events of one task, kept for the next.
struct Lane {
    Stream up, compute, down;
    // Of every chunk slot: it was filled, it may be filled again.
    struct Slot {
        Event full, free;
    };
    std::array<Slot, 3> source, target;
    Event began;
};

// Waits for everything a lane was given, whatever happened meanwhile.
class LaneEnd {
  public:
    explicit LaneEnd(const Lane& lane) : lane_(lane) {}
    ~LaneEnd() {
        for (cudaStream_t stream :
             {cudaStream_t(lane_.up), cudaStream_t(lane_.compute), cudaStream_t(lane_.down)})
            static_cast<void>(cudaStreamSynchronize(stream));  // failures were met before
    }
    LaneEnd(const LaneEnd&) = delete;
    LaneEnd& operator=(const LaneEnd&) = delete;

  private:
    const Lane& lane_;
};

// The same for one stream, where `waits` is set.
class StreamEnd {
  public:
    StreamEnd(cudaStream_t stream, bool waits) : stream_(stream), waits_(waits) {}
    ~StreamEnd() {
        if (waits_) static_cast<void>(cudaStreamSynchronize(stream_));
    }
    StreamEnd(const StreamEnd&) = delete;
    StreamEnd& operator=(const StreamEnd&) = delete;

  private:
    cudaStream_t stream_;
    bool waits_;
};

}  // namespace convolume::gpu
