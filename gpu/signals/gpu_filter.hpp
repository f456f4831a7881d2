#pragma once
// Filter engines on CUDA devices, and banks of filters between device memory and device memory.

#include <memory>

#include "convolume/engines.hpp"
#include "core/filter_engine.hpp"
#include "gpu/gpu_engines.hpp"

namespace convolume {

/// One engine for each device, like make_gpu_engines(); `transfer_gate` is not used.
FilterEngineList make_gpu_filter_engines(const GpuOptions& options = {});

/// What DeviceFilterBank is made of.
class DeviceFilterProgram {
  public:
    virtual ~DeviceFilterProgram() = default;
    virtual const FilterCost& cost() const = 0;
    /// Device memory held, beside the caller's.
    virtual index_t bytes() const = 0;
    /// Enqueues the work on the CUDA stream and returns; pointers are to device memory. Calls must
    /// follow each other on the device: they share a workspace.
    virtual void run(const SignalView& signal, const FilterResult& result, void* stream) = 0;
};

/// For runs of up to `signals` signals and `outputs` results of each; `taps` are in host memory.
/// Throws Unavailable (no such device, or no way to do the work), OutOfMemory, DeviceFailure.
std::unique_ptr<DeviceFilterProgram> make_device_filter_program(int device, const FilterWork& work,
                                                                const void* taps, index_t signals,
                                                                index_t outputs);

}  // namespace convolume
