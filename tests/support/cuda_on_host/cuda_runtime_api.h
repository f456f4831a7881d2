// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUDA runtime without a GPU, as far as tests need it. A CUDA stream is a queue of work, which
// runs only when the host waits. CUDA streams run as far ahead of others as events allow, in random
// order, so that a missing event gives a wrong result. Memory that was never written holds only
// one-bits, and must not be copied to the host.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/random.hpp"

using cudaError_t = int;
inline constexpr cudaError_t cudaSuccess = 0;
enum {
    cudaMemcpyDefault,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost
};
enum cudaDeviceAttr {};
enum { cudaStreamNonBlocking, cudaEventDefault, cudaEventDisableTiming };

namespace cuda_on_host {

struct Event {
    /// Number of times that the event was recorded, and that its CUDA stream has reached it.
    long recorded = 0, passed = 0;
};

struct QueuedWork {
    std::function<void()> run;
    const Event* awaited = nullptr;
    long awaited_times = 0;
};

using Stream = std::deque<QueuedWork>;

class Machine {
  public:
    static Machine& one() {
        static Machine machine;
        return machine;
    }
    void set_seed(std::uint64_t seed) { random_ = convolume::testing::Random(seed); }

    void add(Stream* stream) { streams_.push_back(stream); }
    void remove(Stream* stream) { std::erase(streams_, stream); }

    void enqueue(Stream* stream, QueuedWork work) { stream->push_back(std::move(work)); }
    void add_memory(const void* memory, std::size_t bytes) {
        memory_[static_cast<const char*>(memory)] = bytes;
    }
    void remove_memory(const void* memory) { memory_.erase(static_cast<const char*>(memory)); }
    void copy(void* to, const void* from, std::size_t bytes) const {
        std::uint64_t word = 0;
        if (is_device(from) && !is_device(to))
            for (std::size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
                std::memcpy(&word, static_cast<const char*>(from) + i, sizeof word);
                if (word == ~std::uint64_t{0})
                    throw std::logic_error("the host gets what nothing has written");
            }
        std::memcpy(to, from, bytes);
    }
    template <class Condition>
    void run_until(const Condition& done) {
        while (!done())
            if (!go_on()) throw std::logic_error("streams wait for each other");
    }
    void run_all() {
        run_until([&] {
            return std::all_of(streams_.begin(), streams_.end(),
                               [](const Stream* stream) { return stream->empty(); });
        });
    }

  private:
    bool is_device(const void* place) const {
        const auto next = memory_.upper_bound(static_cast<const char*>(place));
        if (next == memory_.begin()) return false;
        const auto& [begin, bytes] = *std::prev(next);
        return static_cast<const char*>(place) < begin + bytes;
    }
    static bool can_go_on(const Stream* stream) {
        if (stream->empty()) return false;
        const QueuedWork& next = stream->front();
        return next.awaited == nullptr || next.awaited->passed >= next.awaited_times;
    }
    // Runs one item of work, of the first CUDA stream that does not wait for an event. This CUDA
    // stream thus gets far ahead of the others. At random, another CUDA stream becomes the first.
    bool go_on() {
        if (random_.chance(0.02) && !streams_.empty())
            std::rotate(streams_.begin(),
                        streams_.begin() +
                            random_.integer(0, static_cast<std::int64_t>(streams_.size() - 1)),
                        streams_.end());
        const auto first = std::find_if(streams_.begin(), streams_.end(), can_go_on);
        if (first == streams_.end()) return false;
        Stream& stream = **first;
        const QueuedWork work = std::move(stream.front());
        stream.pop_front();
        if (work.run) work.run();
        return true;
    }

    std::vector<Stream*> streams_;
    std::map<const char*, std::size_t> memory_;  ///< bytes of device arrays, by address
    convolume::testing::Random random_{1};
};

}  // namespace cuda_on_host

using cudaStream_t = cuda_on_host::Stream*;
using cudaEvent_t = cuda_on_host::Event*;

inline void enqueue(cudaStream_t stream, std::function<void()> run) {
    cuda_on_host::Machine::one().enqueue(stream, {std::move(run)});
}

inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return 0;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, int, int) {
    *stream = new cuda_on_host::Stream;
    cuda_on_host::Machine::one().add(*stream);
    return 0;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cuda_on_host::Machine::one().remove(stream);
    delete stream;
    return 0;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cuda_on_host::Machine::one().run_until([&] { return stream->empty(); });
    return 0;
}
inline cudaError_t cudaStreamGetId(cudaStream_t, unsigned long long* id) {
    *id = 0;
    return 0;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, int) {
    *event = new cuda_on_host::Event;
    return 0;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return 0;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const long times = ++event->recorded;
    enqueue(stream, [=] { event->passed = times; });
    return 0;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, int) {
    cuda_on_host::Machine::one().enqueue(stream, {{}, event, event->recorded});
    return 0;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const long times = event->recorded;
    cuda_on_host::Machine::one().run_until([&] { return event->passed >= times; });
    return 0;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t rows,
                                     int, cudaStream_t stream) {
    enqueue(stream, [=] {
        for (std::size_t i = 0; i < rows; ++i)
            cuda_on_host::Machine::one().copy(static_cast<char*>(to) + i * to_pitch,
                                              static_cast<const char*>(from) + i * from_pitch,
                                              width);
    });
    return 0;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int,
                                   cudaStream_t stream) {
    enqueue(stream, [=] { cuda_on_host::Machine::one().copy(to, from, bytes); });
    return 0;
}
inline cudaError_t cudaDeviceSynchronize() {
    cuda_on_host::Machine::one().run_all();
    return 0;
}
/// Runs at once, as a copy from ordinary memory may.
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
    std::memcpy(to, from, bytes);
    return 0;
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                       cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

struct cudaPitchedPtr {
    void* ptr = nullptr;
    std::size_t pitch = 0, xsize = 0, ysize = 0;
};
struct cudaExtent {
    std::size_t width = 0, height = 0, depth = 0;
};
struct cudaMemcpy3DPeerParms {
    cudaPitchedPtr srcPtr, dstPtr;
    int srcDevice = 0, dstDevice = 0;
    cudaExtent extent;
};
inline cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy, cudaStream_t stream) {
    if (copy->extent.depth != 1) throw std::logic_error("only copies of rows are emulated");
    return cudaMemcpy2DAsync(copy->dstPtr.ptr, copy->dstPtr.pitch, copy->srcPtr.ptr,
                             copy->srcPtr.pitch, copy->extent.width, copy->extent.height,
                             cudaMemcpyDefault, stream);
}
