// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work kept ready on a device, from device memory to device memory: what DeviceConvolver and
// DeviceFilterBank are made of.

#include <memory>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

/// Memory on one device that its users overwrite in turns.
class DeviceWorkspace {
  public:
    virtual ~DeviceWorkspace() = default;
    virtual int device() const = 0;
};

/// Throws InvalidArgument where a workspace, of which there may be none, is another device's.
inline void require_on_device(const DeviceWorkspace* workspace, int device) {
    if (workspace && workspace->device() != device)
        throw InvalidArgument(message("what works on GPU ", device,
                                      " cannot use a workspace on GPU ", workspace->device(),
                                      ": make both on one GPU"));
}

struct DeviceProgramSpec {
    int device = 0;
    /// Its source and target types are those of the images.
    Block block;
    ConstImageView taps;    ///< as in Engine::prepare; need not outlive the call
    Index3 kernel_shift{};  ///< tap i stands at grid position (i - shift) mod grid
    Shape3 source;          ///< of the input: contiguous, in C order
    std::array<std::vector<index_t>, 3> gather;  ///< as in BlockInput
    double subtract = 0;
    std::complex<double> add = 0;
    bool nonfinite_to_zero = false;
    /// The result is the kept block, contiguous; or, where these are not empty, that block folded:
    /// target(k) sums all positions i with fold_sources[axis][i] = k on every axis.
    std::array<std::vector<index_t>, 3> fold_sources;
    Shape3 folded;
    PixelType folded_type = PixelType::float32;
    /// The kernel's whole spectrum is kept: fastest, for as much memory again as the block's own.
    bool keep_spectrum = true;
    index_t memory_limit_bytes = 0;  ///< 0: none
    /// To share with others, on the same device; null: one of its own.
    std::shared_ptr<DeviceWorkspace> workspace;
};

class DeviceProgram {
  public:
    virtual ~DeviceProgram() = default;

    /// Enqueues the convolution on the CUDA stream and returns; `input` and `output` are device
    /// memory and may be the same. Calls must follow each other on the device: they share a
    /// workspace.
    virtual void run(const void* input, void* output, void* stream) = 0;
    /// Device memory held, beside the caller's images and what a shared workspace had.
    virtual index_t bytes() const = 0;
    virtual std::shared_ptr<DeviceWorkspace> workspace() const = 0;
    virtual bool keeps_spectrum() const = 0;
};

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

}  // namespace convolume
