// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution from an object to an image, and its adjoint, as passes over planes in the memory of
// one GPU, for iterations that alternate between both. Planes of object and image exist as spectra
// only, in slots of one memory. Passes along x also work on their samples (ElementWork). The
// adjoint multiplies with the conjugate of the kernel's spectrum.
//
// The caller knows which planes are in which slots (plane_geometry.hpp).

#include <memory>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "core/plane_weights.hpp"
#include "deconvolve/formulas.hpp"
#include "gpu/fft/element_job.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/volumes/workspace.hpp"

namespace convolume::deconvolve {

using ElementKind = gpu::ElementKind;
using ElementWork = gpu::ElementWork<richardson_lucy::ElementFunctor>;

/// Returns the sizes of object, image and kernel along each axis, with `grid` 0; or nothing if an
/// axis has more taps than object samples.
std::optional<PairAxes> pair_axes(const Shape3& object, const Shape3& image, const Shape3& taps,
                                  const Index3& shift);
/// Returns a fast length of at least `least` samples along y or x that has passes, or 0.
index_t pair_grid_y(int device, index_t least);
index_t pair_grid_x(int device, index_t least);
/// Returns a fast length of at least `least` samples along z that has passes, or 0.
index_t pair_grid_z(int device, index_t least);

/// Kernels of passes: the PSF and possibly other ones, or PSFs with their weights at the planes of
/// the object.
struct PlaneKernels {
    /// Taps as float32 in C order, in host memory. If they are fewer than those of an axis along
    /// x, zeros come before them.
    std::vector<ConstImageView> taps;
    PlaneWeights weights;
};

class DevicePlanePasses {
  public:
    enum class PlaneKind { object, image };
    /// Consecutive slots of a ring, from `first` on. Indices are modulo the number of slots.
    struct SlotRange {
        index_t first = 0, count = 0, ring = 0;

        /// Returns the slots of some of the planes, counted from the first one.
        SlotRange part(const IndexRange& planes) const {
            return {first + planes.begin, planes.count(), ring};
        }
    };

    /// Throws OutOfMemory if `limit_bytes` are too few. If they are few, or if this is as fast,
    /// each pass along z transforms the kernels' taps again, unless the kernel varies. The slots of
    /// all `rings` are in `shared`, or in a workspace of their own if that is null.
    DevicePlanePasses(int device, const PairAxes& axes, index_t slots, const PlaneKernels& kernels,
                      index_t limit_bytes, index_t rings = 1,
                      std::shared_ptr<gpu::Workspace> shared = nullptr);
    /// Returns the least bytes that passes take with that number of kernels and rings. A kernel
    /// that varies needs whole spectra.
    static index_t least_bytes(const PairAxes& axes, index_t slots, std::size_t kernels,
                               index_t rings = 1, bool varies = false);

    /// Returns the bytes of the kernels, plus those that were added to the workspace for these
    /// planes.
    index_t bytes() const;
    /// Returns the largest number of sums of an element pass, two for each thread block.
    index_t most_sums() const;

    index_t slots() const { return slots_; }
    std::complex<float>* slot(index_t index) const {
        return reinterpret_cast<std::complex<float>*>(workspace_->data()) + index * plane_;
    }
    index_t slot_bytes() const { return plane_ * index_t{sizeof(std::complex<float>)}; }

    /// Lets later passes work on a part of the planes, on the same grid.
    void set_plane(const PairAxis& y, const PairAxis& x) {
        axes_[1] = y;
        axes_[2] = x;
    }

    const std::shared_ptr<gpu::Workspace>& workspace() const { return workspace_; }
    /// Calls work(is_unchanged), which enqueues passes on `stream`, before or after the work of
    /// other users of the workspace. `is_unchanged` says that the slots hold what the last call
    /// left there.
    template <class Work>
    void with_workspace(cudaStream_t stream, const Work& work) const {
        workspace_->use(this, spectrum_bytes_, stream, work);
    }

    // All passes are enqueued on `stream`. `work` needs no extents, and its arrays begin with the
    // first of the planes.

    /// Makes samples by a load, and transforms them to spectra along y and x.
    void forward(PlaneKind kind, const ElementWork& work, const SlotRange& slots,
                 cudaStream_t stream) const;
    /// Transforms the samples of an array to spectra.
    void forward(PlaneKind kind, const float* samples, const SlotRange& slots,
                 cudaStream_t stream) const {
        ElementWork work;
        work.newest = const_cast<float*>(samples);  // a load only reads its point
        forward(kind, work, slots, stream);
    }
    /// Transforms along z within a ring, multiplies with a kernel's spectrum or its conjugate, and
    /// transforms back. If the kernel varies, the planes of the object in `load`, with `adjoint` in
    /// `store`, begin with plane `first_plane`.
    void along_z(const PositionMap& load, const PositionMap& store, bool adjoint,
                 index_t first_plane, cudaStream_t stream, std::size_t kernel = 0,
                 index_t ring = 0) const;
    /// Transforms spectra to samples, and works on them. Comparisons and advances transform the
    /// results to spectra again. Returns the number of thread blocks, whose sums `sums` gets
    /// (ElementPasses::run()).
    index_t inverse(PlaneKind kind, const ElementWork& work, const SlotRange& slots, double* sums,
                    cudaStream_t stream) const;
    /// Transforms spectra to the samples of an array.
    void inverse(PlaneKind kind, const SlotRange& slots, float* target, cudaStream_t stream) const;

  private:
    /// The rows of a plane of the grid, and the samples of each row, that object or image take.
    struct PlaneArea {
        index_t first_row, rows, first_x, count;
    };
    PlaneArea area_of(PlaneKind kind) const;
    ElementWork placed(const ElementWork& work, const PlaneArea& area) const;
    gpu::SpectrumPlanes<float> planes(const SlotRange& slots) const;
    gpu::Columns<float> rows_of_planes(std::complex<float>* first_plane, index_t count) const;
    gpu::Columns<float> columns(std::complex<float>* first_plane) const;
    std::complex<float>* ring(index_t index) const { return slot(index * slots_); }
    void prepare(const ConstImageView& taps, std::complex<float>* planes);
    void copy_weights(int device);
    /// Returns the samples of a kernel: its spectrum, or the transformed planes of its taps.
    index_t kernel_samples() const {
        return (keeps_spectrum_ ? axes_[0].grid : axes_[0].taps) * plane_;
    }
    std::complex<float>* kernel(std::size_t index) const {
        return kernels_.as<std::complex<float>>() + static_cast<index_t>(index) * kernel_samples();
    }
    void transform_y(const PlaneArea& area, gpu::PassDirection direction, const SlotRange& slots,
                     cudaStream_t stream) const;

    PairAxes axes_;
    index_t pitch_ = 0, plane_ = 0, slots_ = 0;
    bool keeps_spectrum_ = true;
    double scale_ = 1;
    std::shared_ptr<gpu::Workspace> workspace_;
    index_t spectrum_bytes_ = 0, workspace_grown_ = 0;
    gpu::DeviceMemory kernels_;
    PlaneWeights host_weights_;
    gpu::DeviceMemory weights_;  ///< weights of PSFs, if there are several
};

}  // namespace convolume::deconvolve
