// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs and outputs of programs for data in device memory: planes of images, kernels, and results
// that are folded. All tables are on one device. Calls are asynchronous on `stream`.

#include <optional>
#include <vector>

#include "core/gpu_backend.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/block_kernels.hpp"
#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

/// Finds the planes of the image that are loaded to the slots of a ring, and those of the result.
class ProgramImages {
  public:
    ProgramImages(const DeviceProgramSpec& spec, int device);

    index_t bytes() const { return gather_y_.bytes() + gather_x_.bytes(); }
    /// Calls load(source, first_slot) for runs of at most `ring` slots that are loaded from
    /// `planes` of the image, whose first one is at `input`. Calls clear(first_slot, count) for
    /// slots of `zeros` that have no source.
    template <class Load, class Clear>
    void for_each_load(const void* input, const IndexRange& planes, const IndexRange& zeros,
                       index_t ring, const Load& load, const Clear& clear) const {
        const auto count = static_cast<index_t>(planes_of_slots_.size());
        for (index_t begin = 0; begin < count;) {
            const index_t first = plane_of(begin);
            index_t run = is_loaded(begin, planes, zeros) ? 1 : 0;
            while (run > 0 && run < ring && begin + run < count &&
                   is_loaded(begin + run, planes, zeros) &&
                   plane_of(begin + run) == (first < 0 ? -1 : first + run))
                ++run;
            if (run > 0 && first < 0) clear(begin, run);
            if (run > 0 && first >= 0) load(source_at(input, first - planes.begin, run), begin);
            begin += std::max<index_t>(run, 1);
        }
    }
    /// Returns runs of the slots that for_each_load() loads or clears.
    std::vector<IndexRange> loaded_slots(const IndexRange& planes, const IndexRange& zeros) const;
    /// Returns the source of planes of the image from `plane` on. The first plane is at `input`.
    RowSource source_at(const void* input, index_t plane, index_t count) const;
    /// Returns the target of planes `kept` of the result, the first of which is at `output`.
    RowTarget target_of(void* output, const IndexRange& kept) const;

  private:
    /// Returns the plane of the image that a slot is loaded from; -1: none.
    index_t plane_of(index_t slot) const {
        return planes_of_slots_[static_cast<std::size_t>(slot)];
    }
    bool is_loaded(index_t slot, const IndexRange& planes, const IndexRange& zeros) const {
        const index_t plane = plane_of(slot);
        return plane < 0 ? zeros.begin <= slot && slot < zeros.end
                         : planes.begin <= plane && plane < planes.end;
    }
    Block block_;
    Shape3 source_;
    std::vector<index_t> planes_of_slots_;
    double subtract_;
    std::complex<double> add_;
    bool nonfinite_to_zero_;
    SampleStorage source_storage_, target_storage_;
    DeviceMemory gather_y_, gather_x_;
};

/// A kernel's taps, copied to a device, with the lists that shift them on a periodic grid.
class CopiedTaps {
  public:
    CopiedTaps(const DeviceProgramSpec& spec, int device);
    const DeviceTaps& taps() const { return taps_; }

  private:
    DeviceMemory memory_, list_y_, list_x_;
    DeviceTaps taps_;
};

/// Finds the taps in kernels of one form that are in device memory.
class RunTaps {
  public:
    RunTaps(const DeviceProgramSpec& spec, int device);

    index_t bytes() const { return list_y_.bytes() + list_x_.bytes(); }
    /// Returns the taps of a kernel. A flip along z walks backward through planes.
    DeviceTaps taps_of(const void* kernel) const;

  private:
    DeviceMemory list(const DeviceProgramSpec& spec, int axis, int device) const;

    RunKernel form_;
    Shape3 shape_;  ///< of the taps
    DeviceMemory list_y_, list_x_;
};

/// The taps with which a program makes its tables, on the current device: those of its kernel, or
/// zeros if a kernel comes with each run. Waits for the copy.
class FirstTaps {
  public:
    FirstTaps(const DeviceProgramSpec& spec, const std::optional<RunTaps>& run_taps, int device);
    const DeviceTaps& taps() const { return taps_; }

  private:
    DeviceMemory zeros_;
    std::optional<CopiedTaps> copied_;
    DeviceTaps taps_;
};

/// Folds a result that was computed with the continuation of the image.
class ResultFold {
  public:
    ResultFold(const DeviceProgramSpec& spec, int device);

    /// Returns the bytes of the result before it is folded.
    static index_t extended_bytes(const DeviceProgramSpec& spec) {
        return bytes_of(spec.block.kept(), spec.block.target_type);
    }
    index_t bytes() const { return lists_.bytes(); }
    /// Folds the whole result at `extended` to `planes`, the first of which is at `output`.
    void fold(const void* extended, void* output, const IndexRange& planes,
              cudaStream_t stream) const;

  private:
    DeviceMemory lists_;
    FoldArguments arguments_;
};

}  // namespace convolume::gpu
