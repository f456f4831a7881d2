// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/block_planes.hpp"

#include "gpu/volumes/block_kernels.hpp"

namespace convolume::gpu {

BlockPlanes::BlockPlanes(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
                         const BlockMemory& memory, char* buffers, const ExecutionContext& context)
    : resources_(resources),
      streams_(streams),
      task_(task),
      gather_y_(task.gathers.y),
      gather_x_(task.gathers.x),
      memory_(memory),
      timeline_(context.timeline, resources.engine, task.number, streams.compute),
      uploader_({resources.device, resources.host_threads, resources.gate.get(),
                 &resources.up_staging, &timeline_},
                streams.upload),
      downloader_({resources.device, resources.host_threads, resources.gate.get(),
                   &resources.down_staging, &timeline_},
                  streams.download) {
    const BlockGeometry& geometry = task.geometry;
    char* at = buffers;
    const auto next = [&at](index_t bytes) {
        char* const begin = at;
        at += bytes;
        return begin;
    };
    source_buffers_.data = next(geometry.transfer_buffers * geometry.source_buffer_bytes);
    source_buffers_.bytes = geometry.source_buffer_bytes;
    source_buffers_.plane_bytes = geometry.pixels.source;
    target_buffers_.data = next(geometry.transfer_buffers * geometry.target_buffer_bytes);
    target_buffers_.bytes = geometry.target_buffer_bytes;
    target_buffers_.plane_bytes = geometry.pixels.target;
    lists_ = next(geometry.lists_bytes);
}

void BlockPlanes::prepare() {
    clamped_ = reinterpret_cast<unsigned long long*>(lists_);
    check(cudaMemsetAsync(clamped_, 0, 3 * sizeof *clamped_, streams_.compute),
          "clearing counters");
    auto* at = reinterpret_cast<std::int32_t*>(lists_ + DeviceMemory::alignment);
    const auto upload = [&](const AxisGather& gather) -> std::int32_t* {
        std::int32_t* const begin = at;
        if (gather.is_identity) return nullptr;
        // The list is in ordinary memory, so the call returns when the list has been read.
        check(cudaMemcpyAsync(begin, gather.list.data(), gather.list.size() * sizeof *begin,
                              cudaMemcpyHostToDevice, streams_.compute),
              "copying a gather");
        at += gather.list.size();
        return begin;
    };
    list_y_ = upload(gather_y_);
    list_x_ = upload(gather_x_);
}

void BlockPlanes::lock_for_loads() {
    // A source that is incomplete or read from a stream is too slow to lock the bus against other
    // tasks.
    if (!task_.input.await_planes && !task_.input.read)
        up_ = resources_.gate->lock_link(resources_.device, BusDirection::to_device);
}

void BlockPlanes::load(index_t begin, index_t end) {
    const std::vector<index_t>& planes = task_.input.gather[0];
    const bool nothing = gather_y_.extent() == 0 || gather_x_.extent() == 0;
    const std::size_t number = loads_++ % static_cast<std::size_t>(task_.geometry.transfer_buffers);
    const TaskStreams::TransferBufferEvents& events = streams_.source[number];
    char* const buffer =
        source_buffers_.data + static_cast<index_t>(number) * source_buffers_.bytes;
    if (resources_.gate->policy() == TransferGate::global)
        events.free.wait();  // wait without the bus lock
    events.free.make_wait(streams_.upload);
    for (index_t plane = begin; plane < end;) {
        const index_t source_z = nothing ? -1 : planes[static_cast<std::size_t>(plane)];
        index_t count = 1;
        while (plane + count < end) {
            const index_t next = nothing ? -1 : planes[static_cast<std::size_t>(plane + count)];
            if (next != (source_z < 0 ? -1 : source_z + count)) break;
            ++count;
        }
        if (source_z >= 0) {
            if (task_.input.await_planes) task_.input.await_planes(source_z + count);
            const Box3 box{{source_z, gather_y_.begin, gather_x_.begin},
                           {source_z + count, gather_y_.end, gather_x_.end}};
            char* const target = buffer + (plane - begin) * source_buffers_.plane_bytes;
            if (task_.input.read)
                uploader_.upload(task_.input.read, box, task_.input.source.type, target);
            else
                uploader_.upload(subview(task_.input.source, box), target);
        }
        plane += count;
    }
    events.full.record(streams_.upload);
    events.full.make_wait(streams_.compute);
    timeline_.phase(Phase::convolve, streams_.compute, 0, [&] {
        for (index_t plane = begin; plane < end;) {
            const auto is_zero = [&](index_t at) {
                return nothing || planes[static_cast<std::size_t>(at)] < 0;
            };
            index_t count = 1;
            while (plane + count < end && is_zero(plane + count) == is_zero(plane)) ++count;
            if (is_zero(plane)) {
                task_.transform.load_zeros(plane % task_.geometry.ring, count, memory_,
                                           streams_.compute);
            } else {
                RowSource source;
                source.pixels = {buffer + (plane - begin) * source_buffers_.plane_bytes,
                                 task_.input.source.type, gather_y_.extent() * gather_x_.extent(),
                                 gather_x_.extent()};
                source.planes = count;
                source.loaded_y = static_cast<index_t>(gather_y_.list.size());
                source.loaded_x = static_cast<index_t>(gather_x_.list.size());
                source.gather_y = list_y_;
                source.gather_x = list_x_;
                source.subtract = task_.input.subtract;
                source.nonfinite_to_zero = task_.input.nonfinite_to_zero;
                if (task_.input.find_nonfinite)
                    count_nonfinite(source.pixels.data, source.pixels.type,
                                    count * source.pixels.plane_stride, clamped_ + 2,
                                    streams_.compute);
                task_.transform.load(source, plane % task_.geometry.ring, memory_,
                                     streams_.compute);
            }
            plane += count;
        }
    });
    events.free.record(streams_.compute);
}

void BlockPlanes::finish_loads() {
    uploader_.finish();
    if (!up_) return;
    streams_.upload.wait();
    up_.unlock();
}

void BlockPlanes::store(index_t begin, index_t end, const ZWindow& window) {
    if (!down_) down_ = resources_.gate->lock_link(resources_.device, BusDirection::to_host);
    const std::size_t number =
        stores_++ % static_cast<std::size_t>(task_.geometry.transfer_buffers);
    const TaskStreams::TransferBufferEvents& events = streams_.target[number];
    char* const buffer =
        target_buffers_.data + static_cast<index_t>(number) * target_buffers_.bytes;
    const BlockAxis &y = task_.block.axes[1], &x = task_.block.axes[2];
    RowTarget target;
    target.pixels = {buffer, task_.output.target.type, y.kept * x.kept, x.kept};
    target.planes = end - begin;
    target.kept_begin_y = y.kept_begin;
    target.kept_y = y.kept;
    target.kept_begin_x = x.kept_begin;
    target.kept_x = x.kept;
    target.add_real = task_.output.add.real();
    target.add_imaginary = task_.output.add.imag();
    target.clamped = clamped_;
    events.free.make_wait(streams_.compute);
    timeline_.phase(Phase::convolve, streams_.compute, 0, [&] {
        task_.transform.store((window.store.first + begin) % task_.geometry.ring, target, memory_,
                              streams_.compute);
    });
    events.full.record(streams_.compute);
    if (resources_.gate->policy() == TransferGate::global)
        events.full.wait();  // wait without the bus lock
    events.full.make_wait(streams_.download);
    const index_t first = window.kept_begin + begin;
    const ImageView& image = task_.output.target;
    const Box3 box{{first, 0, 0}, {window.kept_begin + end, image.shape.y, image.shape.x}};
    if (task_.output.write)
        downloader_.download(buffer, task_.output.write, box, image.type);
    else
        downloader_.download(buffer, subview(image, box));
    events.free.record(streams_.download);
}

void BlockPlanes::finish_stores() {
    downloader_.finish();
    if (down_) down_.unlock();
}

void BlockPlanes::release_link() noexcept {
    if (!up_ && !down_) return;
    { const WaitAtEnd wait(streams_); }
    if (up_) up_.unlock();
    if (down_) down_.unlock();
}

ExecutionReport BlockPlanes::report() {
    unsigned long long clamped[3] = {0, 0, 0};
    check(cudaMemcpyAsync(clamped, clamped_, sizeof clamped, cudaMemcpyDeviceToHost,
                          streams_.compute),
          "copying counters");
    streams_.compute.wait();
    streams_.download.wait();
    timeline_.finish();
    ExecutionReport report;
    report.clamped_low = static_cast<index_t>(clamped[0]);
    report.clamped_high = static_cast<index_t>(clamped[1]);
    report.nonfinite_inputs = static_cast<index_t>(clamped[2]);
    return report;
}

}  // namespace convolume::gpu
