// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the CUDA part, named and explained as in GpuBackend.

#include "core/gpu_backend.hpp"

namespace convolume::gpu {

EngineList make_engines(const GpuOptions& options = {});
FilterEngineList make_filter_engines(const GpuOptions& options = {});
std::unique_ptr<DeviceProgram> make_device_program(const DeviceProgramSpec& spec);
std::unique_ptr<SpreadProgram> make_spread_program(const DeviceProgramSpec& spec,
                                                   const std::vector<ProgramSlab>& slabs);
std::unique_ptr<DeviceFilterProgram> make_device_filter_program(int device, const FilterSpec& spec,
                                                                const void* taps, index_t signals,
                                                                index_t outputs);
std::unique_ptr<DeviceResampling> make_device_resampling(int device, const ResampleSpec& spec,
                                                         const ConstImageView& taps);
std::unique_ptr<DeviceChannelProgram> make_device_channel_program(const DeviceChannelSpec& spec);
std::unique_ptr<DeviceChannelProgram> make_device_synthesis_program(
    const DeviceSynthesisSpec& spec);
index_t good_device_length(int device, int axis, index_t least, bool complex_data,
                           Precision precision);
index_t good_plane_length(int device, index_t least);

}  // namespace convolume::gpu
