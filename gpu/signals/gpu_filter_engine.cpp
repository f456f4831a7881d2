// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/gpu_filter_engine.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/result_chunks.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/bandwidth.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_selection.hpp"
#include "gpu/runtime/task_streams.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/signals/filter_chunks.hpp"

namespace convolume::gpu {

namespace {

constexpr int slots = 3;            // chunks in flight: one comes, one is computed, one leaves
constexpr int staging_buffers = 4;  // of one direction
// Of a chunk's signals or results: large enough for full transfer rates.
constexpr index_t slot_bytes = index_t{48} << 20;
constexpr index_t shortest_pick = 512;
constexpr double call_s = 1e-4;  // what a call takes however little it does

index_t aligned(index_t bytes) {
    return round_up(bytes, DeviceMemory::alignment);
}

// The work with the window that peaks are picked from at a time.
FilterWork picking(FilterWork work, const FilterRates& rates) {
    if (work.window.kind != WindowPost::Kind::peak) return work;
    if (estimate_device_filters(work, 1, work.window.length, rates)) return work;
    if (work.window.length > shortest_pick)
        work.window.length =
            ceil_div(work.window.length, ceil_div(work.window.length, shortest_pick));
    return work;
}

// The largest of the partial peaks of each window.
template <class Real>
void compare_peaks(const Real* values, const index_t* positions, const FilterChunks& chunks,
                   const WindowPost& window, index_t pick, const FilterResult& result, index_t rows,
                   index_t filters) {
    const index_t count = result.range.count(), windows = window.stored(count);
    for (index_t row = 0; row < rows; ++row) {
        const index_t to =
            row / filters * result.signal_stride + row % filters * result.filter_stride;
        for (index_t w = 0; w < windows; ++w) {
            const index_t length = std::min(window.length, count - w * window.length);
            const index_t first = row * chunks.stored + w * chunks.parts;
            index_t best = first;
            for (index_t i = first + 1; i < first + ceil_div(length, pick); ++i)
                if (is_higher(values[i], values[best])) best = i;
            static_cast<Real*>(result.data)[to + w] = values[best];
            if (result.peak_positions) result.peak_positions[to + w] = positions[best];
        }
    }
}

}  // namespace

struct GpuFilterEngine::Sizes {
    FilterChunks chunks;
    index_t input_samples = 0;  // of one signal, at most
    index_t input_bytes = 0, output_bytes = 0, positions_bytes = 0, workspace_bytes = 0;
    index_t total() const {
        return slots * (input_bytes + output_bytes + positions_bytes) + workspace_bytes;
    }
};

GpuFilterEngine::GpuFilterEngine(int device, int index, index_t limit_bytes, int host_threads)
    : device_(device),
      host_threads_(std::max(1, host_threads / 2)),
      rates_(filter_rates(device_facts(device))),
      pool_(device, limit_bytes),
      gate_(TransferGate::off),
      up_staging_(staging_buffers),
      down_staging_(staging_buffers) {
    const TransferRates transfers = transfer_rates(device);
    info_.name = message("gpu:", device);
    info_.index = index;
    info_.is_gpu = true;
    info_.threads = std::max(1, host_threads);
    info_.memory_limit_bytes = limit_bytes;
    to_device_ = transfers.to_device;
    to_host_ = transfers.to_host;
}

std::optional<FilterCost> GpuFilterEngine::estimate(const FilterWork& work, index_t signals,
                                                    index_t outputs) const {
    auto cost = estimate_device_filters(picking(work, rates_), signals, outputs, rates_,
                                        pool_.limit_bytes());
    if (!cost) return cost;
    cost->host_bytes = 2 * staging_buffers * StagingPool::buffer_bytes;
    const double up = static_cast<double>(signals) * static_cast<double>(outputs + work.taps) *
                      static_cast<double>(sample_bytes(work)) / to_device_;
    const double down = static_cast<double>(signals) * static_cast<double>(work.filters) *
                        static_cast<double>(work.window.stored(outputs)) *
                        static_cast<double>(result_bytes(work)) / to_host_;
    const double slowest = std::max({up, down, cost->seconds});
    cost->seconds =
        slowest + BlockCost::hidden_share * (up + down + cost->seconds - slowest) + call_s;
    return cost;
}

std::shared_ptr<const PreparedFilters> GpuFilterEngine::prepare(const FilterWork& work,
                                                                const void* taps) {
    const std::lock_guard lock(mutex_);
    const DeviceScope scope(device_);
    auto prepared = std::make_shared<PreparedOnDevice>();
    prepared->work = picking(work, rates_);
    const Stream stream;
    prepared->filters = make_device_filters(prepared->work, taps, rates_, pool_, stream);
    return prepared;
}

GpuFilterEngine::Sizes GpuFilterEngine::sizes_for(const PreparedOnDevice& prepared,
                                                  const WindowPost& window, index_t signals,
                                                  const SampleRange& range) const {
    const FilterWork& work = prepared.work;
    const index_t halo = work.taps - 1 + halo_before(work) + halo_after(work);
    const index_t limit = pool_.limit_bytes();
    // Results that fill a slot, as if every one were stored.
    const index_t per_output = std::max(work.filters * result_bytes(work), sample_bytes(work));
    index_t outputs = std::max<index_t>(1, slot_bytes / per_output);
    while (true) {
        Sizes sizes;
        sizes.chunks = cut_into_chunks(window, work.window.length, signals, range, outputs,
                                       prepared.filters->outputs_step());
        index_t stored = 0, inputs = 0;
        const auto& list = sizes.chunks.list;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 1 && i + 1 < list.size()) continue;  // like the first two
            const FilterChunk& chunk = list[i];
            const index_t samples = checked_add(chunk.range.count(), halo);
            inputs = std::max(inputs, checked_multiply(chunk.signals, samples));
            stored = std::max(stored, checked_multiply(chunk.signals, chunk.stored));
            sizes.input_samples = std::max(sizes.input_samples, samples);
            sizes.workspace_bytes =
                std::max(sizes.workspace_bytes,
                         prepared.filters->workspace_bytes(chunk.signals, chunk.range.count()));
        }
        sizes.input_bytes = aligned(checked_multiply(inputs, sample_bytes(work)));
        stored = checked_multiply(stored, work.filters);
        sizes.output_bytes = aligned(checked_multiply(stored, result_bytes(work)));
        if (work.window.kind == WindowPost::Kind::peak)
            sizes.positions_bytes = aligned(checked_multiply(stored, index_t{sizeof(index_t)}));
        sizes.workspace_bytes = aligned(std::max<index_t>(sizes.workspace_bytes, 1));
        if (limit == 0 || sizes.total() + prepared.filters->bytes() <= limit || outputs <= 1)
            return sizes;
        outputs /= 2;
    }
}

void GpuFilterEngine::filter(const FilterWork& work, const PreparedFilters& filters,
                             const SignalView& signal, const FilterResult& result,
                             const ExecutionContext& context) {
    const auto* const prepared = dynamic_cast<const PreparedOnDevice*>(&filters);
    if (!prepared) throw InternalError("a GPU was given another engine's filters");
    throw_if_stopped(context);
    const std::lock_guard lock(mutex_);
    const DeviceScope scope(device_);
    const Sizes sizes = sizes_for(*prepared, work.window, signal.signals, result.range);
    if (sizes.chunks.parts == 1) return run(*prepared, sizes, signal, result, context);

    // Partial peaks, compared when all are here.
    const index_t rows = checked_multiply(signal.signals, work.filters);
    const index_t count = checked_multiply(rows, sizes.chunks.stored);
    const Buffer values(checked_multiply(count, result_bytes(work)), "partial peaks");
    const Buffer positions(checked_multiply(count, index_t{sizeof(index_t)}), "partial peaks");
    FilterResult partial = result;
    partial.data = values.data();
    partial.peak_positions = positions.as<index_t>();
    partial.filter_stride = sizes.chunks.stored;
    partial.signal_stride = checked_multiply(work.filters, sizes.chunks.stored);
    run(*prepared, sizes, signal, partial, context);
    const auto compare = [&](auto real) {
        using Real = decltype(real);
        compare_peaks(values.as<Real>(), positions.as<index_t>(), sizes.chunks, work.window,
                      prepared->work.window.length, result, rows, work.filters);
    };
    work.precision == Precision::float32 ? compare(float{}) : compare(double{});
}

void GpuFilterEngine::run(const PreparedOnDevice& prepared, const Sizes& sizes,
                          const SignalView& signal, const FilterResult& result,
                          const ExecutionContext& context) {
    const FilterWork& work = prepared.work;
    if (!streams_) streams_ = std::make_unique<Streams>();
    const DevicePool::Lease memory = pool_.take(sizes.total(), "signals and results");
    // Whatever happens, the device has done with the memory before it is given back.
    const WaitAtEnd wait{streams_->up, streams_->compute, streams_->down};

    struct Slot {
        char *input, *output, *positions;
        Event uploaded, computed, downloaded;
        bool used = false;
    };
    std::vector<Slot> in_flight;
    char* at = memory.get();
    for (int i = 0; i < slots; ++i) {
        in_flight.push_back({at, at + sizes.input_bytes,
                             at + sizes.input_bytes + sizes.output_bytes, Event(), Event(),
                             Event()});
        at += sizes.input_bytes + sizes.output_bytes + sizes.positions_bytes;
    }
    char* const workspace = at;

    DeviceTimeline timeline(context.timeline, info_.index, 0, streams_->compute);
    Uploader uploader({device_, host_threads_, &gate_, &up_staging_, &timeline}, streams_->up);
    Downloader downloader({device_, host_threads_, &gate_, &down_staging_, &timeline},
                          streams_->down);
    const index_t before = work.taps - 1 + halo_before(work), after = halo_after(work);
    const auto& list = sizes.chunks.list;
    for (std::size_t i = 0; i < list.size(); ++i) {
        throw_if_stopped(context);
        const FilterChunk& chunk = list[i];
        Slot& slot = in_flight[i % slots];
        if (slot.used) {
            slot.computed.hold_back(streams_->up);
            slot.downloaded.hold_back(streams_->compute);
        }

        const index_t first = std::max(signal.first, chunk.range.begin - before);
        const index_t end = std::min(signal.first + signal.count, chunk.range.end + after);
        const index_t samples = std::max<index_t>(0, end - first);
        if (samples > 0) {
            const auto* const from =
                static_cast<const char*>(signal.data) +
                (chunk.signal * signal.stride + first - signal.first) * sample_bytes(work);
            uploader.upload({from,
                             work.sample_type(),
                             {1, chunk.signals, samples},
                             {chunk.signals * signal.stride, signal.stride, 1}},
                            slot.input);
        }
        slot.uploaded.record(streams_->up);
        slot.uploaded.hold_back(streams_->compute);

        const SignalView there{slot.input, chunk.signals, samples, first, samples};
        FilterResult made;
        made.range = chunk.range;
        made.data = slot.output;
        if (sizes.positions_bytes > 0)
            made.peak_positions = reinterpret_cast<index_t*>(slot.positions);
        made.filter_stride = chunk.stored;
        made.signal_stride = work.filters * chunk.stored;
        timeline.phase(Phase::convolve, streams_->compute, 0,
                       [&] { prepared.filters->run(there, made, workspace, streams_->compute); });
        slot.computed.record(streams_->compute);
        slot.computed.hold_back(streams_->down);

        const Shape3 shape{chunk.signals, work.filters, chunk.stored};
        const Index3 strides{result.signal_stride, result.filter_stride, 1};
        const index_t to = chunk.signal * result.signal_stride + chunk.stored_begin;
        downloader.download(slot.output, {static_cast<char*>(result.data) + to * result_bytes(work),
                                          work.result_type(), shape, strides});
        if (made.peak_positions && result.peak_positions)
            downloader.download(  // moved as anything of eight bytes
                slot.positions, {result.peak_positions + to, PixelType::float64, shape, strides});
        slot.downloaded.record(streams_->down);
        slot.used = true;
        if (context.progress)
            context.progress(static_cast<double>(i + 1) / static_cast<double>(list.size()));
    }
    uploader.finish();
    downloader.finish();
    timeline.finish();
}

namespace {

class Program : public DeviceFilterProgram {
  public:
    Program(int device, FilterWork work, const void* taps, index_t signals, index_t outputs)
        : device_(device), pool_(device, 0) {
        const DeviceScope scope(device);
        const FilterRates rates = filter_rates(device_facts(device));
        const auto cost = estimate_device_filters(work, signals, outputs, rates);
        if (!cost)
            throw GpuUnavailable(
                "no way of filtering on a GPU does this work: leave method and segment open, and "
                "pick peaks from shorter windows");
        cost_ = *cost;
        work.method = cost->method;
        work.segment = cost->segment;
        const Stream stream;
        filters_ = make_device_filters(work, taps, rates, pool_, stream);
        workspace_bytes_ = filters_->workspace_bytes(signals, outputs);
        if (workspace_bytes_ > 0) workspace_ = pool_.take(workspace_bytes_, "a workspace");
    }

    const FilterCost& cost() const override { return cost_; }
    index_t bytes() const override { return filters_->bytes() + workspace_bytes_; }
    void run(const SignalView& signal, const FilterResult& result, void* stream) override {
        const DeviceScope scope(device_);
        const auto queue = static_cast<cudaStream_t>(stream);
        order_.run(queue, [&] { filters_->run(signal, result, workspace_.get(), queue); });
    }

  private:
    int device_;
    DevicePool pool_;
    StreamOrder order_;
    FilterCost cost_;
    std::unique_ptr<DeviceFilters> filters_;
    DevicePool::Lease workspace_;
    index_t workspace_bytes_ = 0;
};

}  // namespace

FilterEngineList make_filter_engines(const GpuOptions& options) {
    const std::vector<int> devices = choose_devices(options.devices);
    install_page_locker();
    return make_on_devices<FilterEngineList>(
        options, devices, [](int device, int index, index_t limit_bytes, int host_threads) {
            return std::make_shared<GpuFilterEngine>(device, index, limit_bytes, host_threads);
        });
}

std::unique_ptr<DeviceFilterProgram> make_device_filter_program(int device, const FilterWork& work,
                                                                const void* taps, index_t signals,
                                                                index_t outputs) {
    require_device(device);
    return std::make_unique<Program>(device, work, taps, signals, outputs);
}

}  // namespace convolume::gpu
