// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work kept ready on a device, from device memory to device memory: what DeviceConvolver and
// DeviceFilterBank are made of.

#include <memory>

#include "core/engine.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

class DeviceProgram;

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
    /// A program on the same device to share a workspace with: theirs are one sequence of calls.
    const DeviceProgram* workspace_of = nullptr;
};

class DeviceProgram {
  public:
    virtual ~DeviceProgram() = default;

    /// Enqueues the convolution on the CUDA stream and returns; `input` and `output` are device
    /// memory and may be the same. Calls must follow each other on the device: they share a
    /// workspace.
    virtual void run(const void* input, void* output, void* stream) = 0;
    /// Device memory held, beside the caller's images and what another program's workspace had.
    virtual index_t bytes() const = 0;
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
