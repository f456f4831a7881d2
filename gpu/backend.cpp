// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend.hpp"

#include "gpu/runtime/bandwidth.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"

namespace gpu = convolume::gpu;

extern "C" constexpr convolume::GpuBackend convolume_cuda_backend = {
    .make_engines = gpu::make_engines,
    .make_filter_engines = gpu::make_filter_engines,
    .make_device_program = gpu::make_device_program,
    .make_spread_program = gpu::make_spread_program,
    .make_device_filter_program = gpu::make_device_filter_program,
    .make_device_resampling = gpu::make_device_resampling,
    .make_device_channel_program = gpu::make_device_channel_program,
    .make_device_synthesis_program = gpu::make_device_synthesis_program,
    .good_device_length = gpu::good_device_length,
    .good_plane_length = gpu::good_plane_length,
    .release_idle_memory = gpu::release_idle_staging,
    .memory_bytes = gpu::largest_memory_bytes,
    .started = gpu::started,
    .unavailable = gpu::unavailable,
    .start_devices = gpu::start_devices,
    .devices = gpu::list_devices,
    .driver_version = gpu::driver_version,
    .runtime_version = gpu::runtime_version,
    .measure_bandwidth = gpu::measure_bandwidth,
    .measure_concurrent_upload = gpu::measure_concurrent_upload,
    .choose_transfer_gate = gpu::choose_transfer_gate,
};
