// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/block_run.hpp"

#include <algorithm>

namespace convolume::gpu {

BlockRun::BlockRun(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
                   const GpuEngineKernel& kernel, char* workspace, const ExecutionContext& context)
    : resources_(resources),
      streams_(streams),
      task_(task),
      kernel_(kernel),
      context_(context),
      memory_{workspace, workspace + task.geometry.ring_bytes, kernel.spectra()},
      planes_(resources, streams, task, memory_,
              workspace + task.geometry.ring_bytes + task.geometry.batch_bytes, context) {}

ExecutionReport BlockRun::run() {
    const WaitAtEnd wait(streams_);
    planes_.prepare();
    const std::vector<ZWindow> windows = task_.geometry.windows(task_.block.axes[0]);
    const index_t planes = task_.block.axes[0].loaded;
    planes_.lock_for_loads();
    index_t loaded = 0;
    const ZWindow* previous = nullptr;
    index_t stored = 0;  // results of the previous window that are stored
    const auto store_until = [&](index_t count) {
        if (!previous) return;
        count = std::min(count, previous->kept);
        while (stored < count) {
            const index_t next = std::min(previous->kept, stored + planes_.planes_stored_at_once());
            planes_.store(stored, next, *previous);
            stored = next;
        }
    };
    for (const ZWindow& window : windows) {
        while (loaded < window.loaded_end) {
            throw_if_stopped(context_);
            const index_t next =
                std::min(window.loaded_end, loaded + planes_.planes_loaded_at_once());
            // New planes need the slots of results, which are stored first.
            if (previous) store_until(next - task_.geometry.ring - previous->first);
            planes_.load(loaded, next);
            loaded = next;
            report_progress(0.5 * static_cast<double>(loaded) / static_cast<double>(planes) +
                            0.5 *
                                static_cast<double>(previous ? previous->kept_begin + stored : 0) /
                                static_cast<double>(task_.block.axes[0].kept));
        }
        store_until(task_.geometry.ring + (previous ? previous->kept : 0));
        if (&window == &windows.back()) planes_.finish_loads();
        convolve(window);
        previous = &window;
        stored = 0;
    }
    while (previous && stored < previous->kept) {
        throw_if_stopped(context_);
        store_until(stored + planes_.planes_stored_at_once());
        report_progress(0.5 + 0.5 * static_cast<double>(previous->kept_begin + stored) /
                                  static_cast<double>(task_.block.axes[0].kept));
    }
    planes_.finish_stores();
    return planes_.report();
}

// Runs the pass along z. A kernel that is used once is transformed just before. Its spectra are in
// memory that the blocks in flight use one after another.
void BlockRun::convolve(const ZWindow& window) {
    std::unique_lock<std::mutex> alone;
    DevicePool::BorrowedMemory spectra;
    if (!kernel_.spectra()) {
        alone = std::unique_lock(resources_.single_use_kernel);
        spectra = resources_.memory.take(task_.geometry.kernel_bytes, "a kernel");
        memory_.kernel = spectra.get();
    }
    const WaitAtEnd wait{spectra ? cudaStream_t(streams_.compute) : nullptr};
    planes_.timeline().phase(Phase::convolve, streams_.compute, 0, [&] {
        if (spectra) task_.transform.prepare(kernel_.taps(), memory_, streams_.compute);
        task_.transform.convolve(window, memory_, streams_.compute);
    });
}

void BlockRun::report_progress(double done) {
    if (context_.progress) context_.progress(std::min(done, 1.0));
}

}  // namespace convolume::gpu
