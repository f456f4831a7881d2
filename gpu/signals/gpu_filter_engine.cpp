// SPDX-License-Identifier: Apache-2.0
// The filter engine on one CUDA device: signals and results travel in chunks, several in flight.
// Also filter banks for signals in device memory.

#include <algorithm>
#include <array>
#include <mutex>

#include "convolume/error.hpp"
#include "core/result_chunks.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/bandwidth.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/signals/device_filters.hpp"
#include "gpu/signals/filter_chunks.hpp"

namespace convolume::gpu {

namespace {

constexpr int chunks_in_flight =
    3;  // chunks in flight: one is uploaded, one computed, one downloaded
constexpr int staging_buffers = 4;  // staging buffers of one direction
// Bytes of a chunk's signals or results: large enough for full transfer rates.
constexpr index_t target_chunk_bytes = index_t{48} << 20;
constexpr index_t shortest_peak_window = 512;

// Returns `spec` with the window in which the device searches peaks at a time.
FilterSpec with_peak_window(FilterSpec spec, const FilterRates& rates) {
    if (spec.window.kind != WindowPost::Kind::peak) return spec;
    if (estimate_device_filters(spec, 1, spec.window.length, rates)) return spec;
    if (spec.window.length > shortest_peak_window)
        spec.window.length =
            ceil_div(spec.window.length, ceil_div(spec.window.length, shortest_peak_window));
    return spec;
}

/// A bank on a device. The window of `spec` is the one in which the device searches peaks at a
/// time. It is shorter than the caller's if no method processes so many results together.
struct PreparedOnDevice : PreparedFilters {
    FilterSpec spec;
    std::unique_ptr<DeviceFilters> filters;
};

/// Division of results into chunks, and bytes of one slot and of the workspace.
struct ChunkLayout {
    static constexpr index_t counter_bytes = DeviceMemory::alignment;

    FilterChunks chunks;
    index_t input_bytes = 0, output_bytes = 0, positions_bytes = 0, workspace_bytes = 0;

    index_t slot_bytes() const { return input_bytes + output_bytes + positions_bytes; }
    index_t total() const {
        return counter_bytes + chunks_in_flight * slot_bytes() + workspace_bytes;
    }
};

// Stores the largest partial peak of each window of the caller's `spec`. Each partial peak is that
// of `peak_window` results.
template <class Real>
void compare_peaks(const FilterResult& partial, const FilterChunks& chunks, const FilterSpec& spec,
                   index_t peak_window, index_t rows, const FilterResult& result) {
    const auto* const values = static_cast<const Real*>(partial.data);
    const index_t count = result.range.count(), windows = spec.window.stored(count);
    for (index_t row = 0; row < rows; ++row) {
        const index_t to =
            row / spec.filters * result.signal_stride + row % spec.filters * result.filter_stride;
        for (index_t w = 0; w < windows; ++w) {
            const index_t length = std::min(spec.window.length, count - w * spec.window.length);
            const index_t first = row * chunks.stored_per_signal + w * chunks.peaks_per_window;
            index_t best = first;
            for (index_t i = first + 1; i < first + ceil_div(length, peak_window); ++i)
                if (is_higher(values[i], values[best])) best = i;
            static_cast<Real*>(result.data)[to + w] = values[best];
            if (result.peak_positions) result.peak_positions[to + w] = partial.peak_positions[best];
        }
    }
}

/// CUDA streams and staging buffers that the transfers of an engine share.
struct TransferResources {
    int device;
    int host_threads;
    DeviceStreams streams{};
    BusGate gate{TransferGate::off};
    StagingPool up_staging{staging_buffers}, down_staging{staging_buffers};
};

// Returns a type of the size of samples that are copied as they are.
PixelType moved_type(SampleStorage storage, PixelType type) {
    if (storage == SampleStorage::plain) return type;
    return is_complex(type) ? PixelType::uint32 : PixelType::uint16;
}

/// One call of the engine: uploads, filters and downloads its chunks.
class FilterRun {
  public:
    FilterRun(TransferResources& transfers, DeviceTimeline& timeline,
              const PreparedOnDevice& prepared, const SignalView& signal,
              const FilterResult& result)
        : streams_(transfers.streams),
          timeline_(timeline),
          prepared_(prepared),
          spec_(prepared.spec),
          signal_(signal),
          result_(result),
          uploader_({transfers.device, transfers.host_threads, &transfers.gate,
                     &transfers.up_staging, &timeline},
                    streams_.upload),
          downloader_({transfers.device, transfers.host_threads, &transfers.gate,
                       &transfers.down_staging, &timeline},
                      streams_.download) {}

    void run(const ChunkLayout& layout, char* memory, const ExecutionContext& context) {
        if (result_.clamped) {
            clamped_ = reinterpret_cast<index_t*>(memory);
            check(cudaMemsetAsync(clamped_, 0, 2 * sizeof(index_t), streams_.compute),
                  "counting clamped results");
        }
        memory += ChunkLayout::counter_bytes;
        for (ChunkSlot& slot : slots_) {
            slot.input = memory;
            slot.output = slot.input + layout.input_bytes;
            if (layout.positions_bytes > 0)
                slot.positions = reinterpret_cast<index_t*>(slot.output + layout.output_bytes);
            memory += layout.slot_bytes();
        }
        const auto& list = layout.chunks.list;
        for (std::size_t i = 0; i < list.size(); ++i) {
            throw_if_stopped(context);
            ChunkSlot& slot = slots_[i % chunks_in_flight];
            const SignalView uploaded = upload(list[i], slot);
            filter(list[i], uploaded, slot, memory);
            download(list[i], slot);
            if (context.progress)
                context.progress(static_cast<double>(i + 1) / static_cast<double>(list.size()));
        }
        uploader_.finish();
        downloader_.finish();
        timeline_.finish();
        if (clamped_) add_clamped();
    }

  private:
    struct ChunkSlot {
        char *input = nullptr, *output = nullptr;
        index_t* positions = nullptr;  ///< positions of peaks
        CudaEvent uploaded, computed, downloaded;
    };

    // Adds the device's counters to the caller's.
    void add_clamped() const {
        index_t counts[2] = {};
        check(cudaMemcpyAsync(counts, clamped_, sizeof counts, cudaMemcpyDeviceToHost,
                              streams_.compute),
              "counting clamped results");
        check(cudaStreamSynchronize(streams_.compute), "counting clamped results");
        for (int i = 0; i < 2; ++i) result_.clamped[i] += counts[i];
    }

    // Uploads the samples that a chunk's results need.
    SignalView upload(const FilterChunk& chunk, const ChunkSlot& slot) {
        slot.computed.make_wait(streams_.upload);
        const index_t before = spec_.taps - 1 + halo_before(spec_);
        const index_t first = std::max(signal_.first, chunk.range.begin - before);
        const index_t end =
            std::min(signal_.first + signal_.count, chunk.range.end + halo_after(spec_));
        const index_t samples = std::max<index_t>(0, end - first);
        if (samples > 0) {
            const PixelType type = moved_type(signal_.storage, spec_.sample_type());
            const auto* const from = static_cast<const char*>(signal_.data) +
                                     (chunk.first_signal * signal_.stride + first - signal_.first) *
                                         convolume::sample_bytes(type);
            uploader_.upload({from,
                              type,
                              {1, chunk.signal_count, samples},
                              {chunk.signal_count * signal_.stride, signal_.stride, 1}},
                             slot.input);
        }
        slot.uploaded.record(streams_.upload);
        return {slot.input, chunk.signal_count, samples, first, samples, signal_.storage};
    }

    void filter(const FilterChunk& chunk, const SignalView& uploaded, const ChunkSlot& slot,
                char* workspace) {
        slot.downloaded.make_wait(streams_.compute);
        slot.uploaded.make_wait(streams_.compute);
        FilterResult device_result;
        device_result.range = chunk.range;
        device_result.data = slot.output;
        device_result.peak_positions = slot.positions;
        device_result.filter_stride = chunk.stored_count;
        device_result.signal_stride = spec_.filters * chunk.stored_count;
        device_result.clamped = clamped_;
        timeline_.phase(Phase::convolve, streams_.compute, 0, [&] {
            prepared_.filters->run(uploaded, device_result, workspace, streams_.compute);
        });
        slot.computed.record(streams_.compute);
    }

    void download(const FilterChunk& chunk, const ChunkSlot& slot) {
        slot.computed.make_wait(streams_.download);
        const Shape3 shape{chunk.signal_count, spec_.filters, chunk.stored_count};
        const Index3 strides{result_.signal_stride, result_.filter_stride, 1};
        const index_t to = chunk.first_signal * result_.signal_stride + chunk.stored_begin;
        downloader_.download(
            slot.output, {static_cast<char*>(result_.data) + to * spec_.result_bytes(),
                          moved_type(spec_.result_storage, spec_.result_type()), shape, strides});
        if (slot.positions && result_.peak_positions)
            downloader_.download(  // positions are copied as float64, which has their size
                reinterpret_cast<const char*>(slot.positions),
                {result_.peak_positions + to, PixelType::float64, shape, strides});
        slot.downloaded.record(streams_.download);
    }

    const DeviceStreams& streams_;
    DeviceTimeline& timeline_;
    const PreparedOnDevice& prepared_;
    const FilterSpec& spec_;
    const SignalView& signal_;
    const FilterResult& result_;
    std::array<ChunkSlot, chunks_in_flight> slots_;
    index_t* clamped_ = nullptr;  ///< counters on the device
    Uploader uploader_;
    Downloader downloader_;
};

class GpuFilterEngine : public FilterEngine {
  public:
    GpuFilterEngine(int device, int index, index_t limit_bytes, int host_threads)
        : device_(device),
          host_threads_(std::max(1, host_threads / 2)),
          rates_(filter_rates(device_properties(device))),
          bus_rates_(transfer_rates(device)),
          pool_(device, limit_bytes) {
        info_.name = message("gpu:", device);
        info_.index = index;
        info_.is_gpu = true;
        info_.threads = std::max(1, host_threads);
        info_.memory_limit_bytes = limit_bytes;
    }

    const EngineInfo& info() const override { return info_; }

    std::optional<FilterCost> estimate(const FilterSpec& spec, index_t signals,
                                       index_t outputs) const override {
        auto cost = estimate_device_filters(with_peak_window(spec, rates_), signals, outputs,
                                            rates_, pool_.limit_bytes());
        if (!cost) return cost;
        cost->host_bytes = 2 * staging_buffers * StagingPool::buffer_bytes;
        const double up = static_cast<double>(signals) * static_cast<double>(outputs + spec.taps) *
                          static_cast<double>(spec.signal_bytes()) / bus_rates_.to_device;
        const double down = static_cast<double>(signals) * static_cast<double>(spec.filters) *
                            static_cast<double>(spec.window.stored(outputs)) *
                            static_cast<double>(spec.result_bytes()) / bus_rates_.to_host;
        const double slowest = std::max({up, down, cost->seconds});
        cost->seconds = slowest + BlockCost::hidden_share * (up + down + cost->seconds - slowest) +
                        GpuFilterTimes{}.call_s;
        return cost;
    }

    std::shared_ptr<const PreparedFilters> prepare(const FilterSpec& spec,
                                                   const void* taps) override {
        const std::lock_guard lock(mutex_);
        const DeviceScope scope(device_);
        auto prepared = std::make_shared<PreparedOnDevice>();
        prepared->spec = with_peak_window(spec, rates_);
        const CudaStream stream;
        prepared->filters = make_device_filters(prepared->spec, taps, rates_, pool_, stream);
        return prepared;
    }

    void filter(const FilterSpec& spec, const PreparedFilters& filters, const SignalView& signal,
                const FilterResult& result, const ExecutionContext& context) override {
        const auto* const prepared = dynamic_cast<const PreparedOnDevice*>(&filters);
        if (!prepared) throw InternalError("a GPU was given another engine's filters");
        throw_if_stopped(context);
        const std::lock_guard lock(mutex_);
        const DeviceScope scope(device_);
        const ChunkLayout layout = layout_for(*prepared, spec.window, signal.signals, result.range);
        if (layout.chunks.peaks_per_window == 1)
            return run(*prepared, layout, signal, result, context);

        // Partial peaks are compared on the host when all are downloaded.
        const index_t rows = checked_multiply(signal.signals, spec.filters);
        const index_t count = checked_multiply(rows, layout.chunks.stored_per_signal);
        const Buffer values(checked_multiply(count, spec.result_bytes()), "partial peaks");
        const Buffer positions(checked_multiply(count, index_t{sizeof(index_t)}), "partial peaks");
        FilterResult partial = result;
        partial.data = values.data();
        partial.peak_positions = positions.as<index_t>();
        partial.filter_stride = layout.chunks.stored_per_signal;
        partial.signal_stride = checked_multiply(spec.filters, layout.chunks.stored_per_signal);
        run(*prepared, layout, signal, partial, context);
        const auto compare =
            spec.precision == Precision::float32 ? compare_peaks<float> : compare_peaks<double>;
        compare(partial, layout.chunks, spec, prepared->spec.window.length, rows, result);
    }

  private:
    // Divides results into chunks so that the chunks in flight fit the device.
    ChunkLayout layout_for(const PreparedOnDevice& prepared, const WindowPost& window,
                           index_t signals, const SampleRange& range) const {
        const FilterSpec& spec = prepared.spec;
        const index_t halo = spec.taps - 1 + halo_before(spec) + halo_after(spec);
        const index_t limit = pool_.limit_bytes();
        // Results that fill a slot, as if all of them were stored.
        const index_t per_output = std::max(spec.filters * spec.result_bytes(), sample_bytes(spec));
        index_t outputs = std::max<index_t>(1, target_chunk_bytes / per_output);
        while (true) {
            ChunkLayout layout;
            layout.chunks = cut_into_chunks(window, spec.window.length, signals, range, outputs,
                                            prepared.filters->outputs_step());
            index_t stored = 0, inputs = 0;
            const auto& list = layout.chunks.list;
            for (std::size_t i = 0; i < list.size(); ++i) {
                if (i > 1 && i + 1 < list.size()) continue;  // no larger than the first two chunks
                const FilterChunk& chunk = list[i];
                const index_t samples = checked_add(chunk.range.count(), halo);
                inputs = std::max(inputs, checked_multiply(chunk.signal_count, samples));
                stored = std::max(stored, checked_multiply(chunk.signal_count, chunk.stored_count));
                layout.workspace_bytes = std::max(
                    layout.workspace_bytes,
                    prepared.filters->workspace_bytes(chunk.signal_count, chunk.range.count()));
            }
            layout.input_bytes = aligned(checked_multiply(inputs, sample_bytes(spec)));
            stored = checked_multiply(stored, spec.filters);
            layout.output_bytes = aligned(checked_multiply(stored, spec.result_bytes()));
            if (spec.window.kind == WindowPost::Kind::peak)
                layout.positions_bytes =
                    aligned(checked_multiply(stored, index_t{sizeof(index_t)}));
            layout.workspace_bytes = aligned(std::max<index_t>(layout.workspace_bytes, 1));
            if (limit == 0 || layout.total() + prepared.filters->bytes() <= limit || outputs <= 1)
                return layout;
            outputs /= 2;
        }
    }

    void run(const PreparedOnDevice& prepared, const ChunkLayout& layout, const SignalView& signal,
             const FilterResult& result, const ExecutionContext& context) {
        if (!transfers_) transfers_.reset(new TransferResources{device_, host_threads_});
        const DeviceStreams& streams = transfers_->streams;
        const DevicePool::BorrowedMemory memory = pool_.take(layout.total(), "signals and results");
        // Even after an exception, the device must have finished before the memory is reused.
        const WaitAtEnd wait(streams);
        DeviceTimeline timeline(context.timeline, info_.index, 0, streams.compute);
        FilterRun(*transfers_, timeline, prepared, signal, result)
            .run(layout, memory.get(), context);
    }

    EngineInfo info_;
    int device_;
    int host_threads_;
    FilterRates rates_;
    TransferRates bus_rates_;
    DevicePool pool_;
    std::mutex mutex_;  // admits one run at a time, since a cuFFT plan has one work area
    std::unique_ptr<TransferResources> transfers_;
};

class FilterProgram : public DeviceFilterProgram {
  public:
    FilterProgram(int device, FilterSpec spec, const void* taps, index_t signals, index_t outputs)
        : device_(device), pool_(device, 0) {
        const DeviceScope scope(device);
        const FilterRates rates = filter_rates(device_properties(device));
        const auto cost = estimate_device_filters(spec, signals, outputs, rates);
        if (!cost)
            throw GpuUnavailable(
                "no filter method of a GPU can do this: leave method and segment open, and "
                "choose shorter windows for peaks");
        cost_ = *cost;
        spec.method = cost->method;
        spec.segment = cost->segment;
        const CudaStream stream;
        filters_ = make_device_filters(spec, taps, rates, pool_, stream);
        workspace_bytes_ = filters_->workspace_bytes(signals, outputs);
        if (workspace_bytes_ > 0) workspace_ = pool_.take(workspace_bytes_, "a workspace");
        if (spec.result_storage != SampleStorage::int16) return;
        counters_ = pool_.take(counter_bytes, "counters of clamped results");
        check(cudaMemsetAsync(counters_.get(), 0, counter_bytes, stream),
              "counting clamped results");
        check(cudaStreamSynchronize(stream), "counting clamped results");
    }

    const FilterCost& cost() const override { return cost_; }
    index_t bytes() const override { return filters_->bytes() + workspace_bytes_; }
    void run(const SignalView& signal, const FilterResult& result, void* stream) override {
        const DeviceScope scope(device_);
        const auto cuda_stream = static_cast<cudaStream_t>(stream);
        FilterResult counted = result;
        counted.clamped = reinterpret_cast<index_t*>(counters_.get());
        order_.run(cuda_stream,
                   [&] { filters_->run(signal, counted, workspace_.get(), cuda_stream); });
    }
    ClampCount clamped(void* stream) override {
        index_t counts[2] = {};
        if (counters_.get() == nullptr) return {};
        const DeviceScope scope(device_);
        const auto cuda_stream = static_cast<cudaStream_t>(stream);
        order_.run(cuda_stream, [&] {
            check(cudaMemcpyAsync(counts, counters_.get(), sizeof counts, cudaMemcpyDeviceToHost,
                                  cuda_stream),
                  "counting clamped results");
        });
        check(cudaStreamSynchronize(cuda_stream), "counting clamped results");
        return {counts[0], counts[1]};
    }

  private:
    int device_;
    DevicePool pool_;
    StreamOrder order_;
    FilterCost cost_;
    std::unique_ptr<DeviceFilters> filters_;
    DevicePool::BorrowedMemory workspace_;
    index_t workspace_bytes_ = 0;
    static constexpr std::size_t counter_bytes = 2 * sizeof(index_t);
    DevicePool::BorrowedMemory counters_;
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

std::unique_ptr<DeviceFilterProgram> make_device_filter_program(int device, const FilterSpec& spec,
                                                                const void* taps, index_t signals,
                                                                index_t outputs) {
    require_device(device);
    return std::make_unique<FilterProgram>(device, spec, taps, signals, outputs);
}

}  // namespace convolume::gpu
