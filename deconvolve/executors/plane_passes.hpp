// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution from an object to an image, and its adjoint, as passes over planes in the memory of
// one GPU, for iterations that alternate between both. Planes of object and image exist as spectra
// only, in slots of one memory, and what happens to their samples happens in the passes along x
// (ElementWork). The adjoint multiplies with the conjugate of the kernel's spectrum.
//
// The caller knows which planes are where, and when (plane_geometry.hpp).

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"
#include "gpu/fft/element_job.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/workspace.hpp"

namespace convolume::deconvolve {

using ElementKind = gpu::ElementKind;
using ElementWork = gpu::ElementWork<richardson_lucy::ElementFunctor>;

/// Without grids; nothing where taps reach beyond the object.
std::optional<PairAxes> pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                                  const Index3& shift);
/// The lengths along y and x of so many samples or somewhat more; 0 where there are none.
index_t pair_grid_y(int device, index_t least);
index_t pair_grid_x(int device, index_t least);
/// The length along z of so many samples or somewhat more; 0 where there is none.
index_t pair_grid_z(int device, index_t least);

class DevicePlanePasses {
  public:
    enum class PlaneKind { object, image };
    /// Slots `first` and following of a ring, modulo its slots.
    struct SlotRange {
        index_t first = 0, count = 0, ring = 0;
    };

    /// Taps of one kernel or of several: real, C order, in host memory. Throws OutOfMemory where it
    /// does not fit `limit_bytes`: with less memory the kernels' spectra along z are made anew by
    /// each pass along z, which takes some more time. There may be several rings of slots. They are
    /// in `shared`, or in a workspace of their own where that is null.
    DevicePlanePasses(int device, const PairAxes& axes, index_t slots,
                      const std::vector<ConstImageView>& kernels, index_t limit_bytes,
                      index_t rings = 1, std::shared_ptr<gpu::Workspace> shared = nullptr);
    /// What it takes at least, with so many kernels and rings.
    static index_t least_bytes(const PairAxes& axes, index_t slots, std::size_t kernels,
                               index_t rings = 1);

    /// Of kernels, and what the workspace has grown by for these planes.
    index_t bytes() const;
    /// The most sums of element work, two a block.
    index_t most_sums() const;

    index_t slots() const { return slots_; }
    std::complex<float>* slot(index_t index) const {
        return reinterpret_cast<std::complex<float>*>(workspace_->data()) + index * plane_;
    }
    index_t slot_bytes() const { return plane_ * index_t{sizeof(std::complex<float>)}; }

    /// Planes are from now on parts of what they were, on the same grid.
    void set_plane(const PairAxis& y, const PairAxis& x) {
        axes_[1] = y;
        axes_[2] = x;
    }

    const std::shared_ptr<gpu::Workspace>& workspace() const { return workspace_; }
    /// Calls work(as_left), which enqueues passes on `stream`: others that share the workspace have
    /// their turns before and after it. `as_left`: the slots hold what they held after the last.
    template <class Work>
    void in_turn(cudaStream_t stream, const Work& work) const {
        workspace_->use(this, spectrum_bytes_, stream, work);
    }

    // All are asynchronous on `stream`. `work` needs no extents; its arrays begin with the first of
    // the planes.

    /// Samples that a load makes become spectra along y and x.
    void forward(PlaneKind side, const ElementWork& work, const SlotRange& slots,
                 cudaStream_t stream) const;
    /// Along z, within a ring: forward, times a kernel or its conjugate, and back.
    void along_z(const PositionMap& load, const PositionMap& store, bool adjoint,
                 cudaStream_t stream, std::size_t kernel = 0, index_t ring = 0) const;
    /// Spectra become samples, to work on. Those of a comparison and of an advance become spectra
    /// again. `sums` as in ElementPasses::run(); returns the number of blocks.
    index_t inverse(PlaneKind side, const ElementWork& work, const SlotRange& slots, double* sums,
                    cudaStream_t stream) const;
    /// Spectra become samples of an array.
    void inverse(PlaneKind side, const SlotRange& slots, float* target, cudaStream_t stream) const;

  private:
    /// Rows and samples of a plane.
    struct PlaneArea {
        index_t first_row, rows, first_x, count;
    };
    PlaneArea area_of(PlaneKind side) const;
    ElementWork placed(const ElementWork& work, const PlaneArea& area) const;
    gpu::SpectrumPlanes<float> planes(const SlotRange& slots) const;
    gpu::Columns<float> rows_of_planes(std::complex<float>* first_plane, index_t count) const;
    gpu::Columns<float> columns(std::complex<float>* first_plane) const;
    std::complex<float>* ring(index_t index) const { return slot(index * slots_); }
    void prepare(const ConstImageView& taps, const gpu::DeviceMemory& kernel);
    void transform_y(const PlaneArea& area, gpu::PassDirection direction, const SlotRange& slots,
                     cudaStream_t stream) const;

    PairAxes axes_;
    index_t pitch_ = 0, plane_ = 0, slots_ = 0;
    bool keeps_spectrum_ = true;
    double scale_ = 1;
    std::shared_ptr<gpu::Workspace> workspace_;
    index_t spectrum_bytes_ = 0, workspace_grown_ = 0;
    std::vector<gpu::DeviceMemory> kernels_;
};

}  // namespace convolume::deconvolve
