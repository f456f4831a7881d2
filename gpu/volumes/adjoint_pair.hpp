// SPDX-License-Identifier: Apache-2.0
#pragma once
// A convolution from an object to an image, and its adjoint, in the memory of one GPU, for
// iterations that alternate between both. There is one spectrum: object and image exist as planes
// of it only, and what happens to their samples happens in the passes along x (RowStage). The
// adjoint multiplies with the conjugate of the kernel's spectrum.

#include <array>
#include <optional>

#include "convolume/image_view.hpp"
#include "gpu/fft/passes.hpp"
#include "gpu/runtime/device_memory.hpp"

namespace convolume::gpu {

/// Image sample i is sample i + shift of the object's full convolution with the taps; the object is
/// 0 outside. On a grid of so many samples neither meets its own other end.
struct PairAxis {
    index_t object = 1, image = 1, taps = 1, shift = 0, grid = 1;
};
using PairAxes = std::array<PairAxis, 3>;  // z, y, x

/// The grids; nothing where a length has no pass on the device, or taps reach beyond the object.
std::optional<PairAxes> adjoint_pair_axes(int device, const Shape3& object, const Shape3& image,
                                          const Shape3& taps, const Index3& shift);

class AdjointPair {
  public:
    /// `taps`: real, C order, in host memory. Throws OutOfMemory where it does not fit
    /// `limit_bytes`: with less memory the kernel's spectrum along z is made anew for each
    /// convolution.
    AdjointPair(int device, const PairAxes& axes, const ConstImageView& taps, index_t limit_bytes);

    index_t bytes() const { return spectrum_.bytes() + kernel_.bytes() + batch_.bytes(); }
    /// Sums that a stage may have, two a block.
    index_t most_sums() const;

    // All are asynchronous on `stream`. `stage` needs no extents. `sums` as in stage_rows(); they
    // return the number of blocks.

    /// The object's or the image's samples, which a stage makes: of kind point, or ones.
    void load_object(const RowStage& stage, cudaStream_t stream) const {
        load(stage, object_box(), stream);
    }
    void load_image(const RowStage& stage, cudaStream_t stream) const {
        load(stage, image_box(), stream);
    }
    /// Convolves; `stage` is what happens to the image.
    index_t convolve(const RowStage& stage, double* sums, cudaStream_t stream) const;
    /// The adjoint; `stage` is what happens to the object, which then is no longer here.
    index_t project_back(const RowStage& stage, double* sums, cudaStream_t stream) const;
    /// The adjoint into arrays of float32: planes [begin, end) of the object, one after another.
    struct Planes {
        index_t begin, end;
        float* target;
    };
    void project_back(const std::array<Planes, 2>& planes, cudaStream_t stream) const;

  private:
    struct Box {
        index_t first_row, rows, first_x, count, first_plane, planes;
    };
    void load(const RowStage& stage, const Box& box, cudaStream_t stream) const;
    Box object_box() const;
    Box image_box() const;
    RowStage placed(const RowStage& stage, const Box& box) const;
    SpectrumPlanes<float> planes(const DeviceMemory& memory, index_t first = 0) const;
    Columns<float> rows_of_planes(const DeviceMemory& memory, index_t planes) const;
    Columns<float> columns(const DeviceMemory& memory) const;
    void prepare(const ConstImageView& taps);
    void transform_rows(const Box& box, Direction direction, cudaStream_t stream) const;
    void multiply(const Box& from, const Box& to, bool adjoint, cudaStream_t stream) const;

    PairAxes axes_;
    index_t pitch_ = 0, plane_ = 0, slots_ = 0;
    bool keeps_spectrum_ = true;
    index_t batch_columns_ = 0;
    double scale_ = 1;
    DeviceMemory spectrum_, kernel_, batch_;
};

}  // namespace convolume::gpu
