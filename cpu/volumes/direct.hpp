// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution by sums in space. The outputs are cut into strips of rows and planes; each strip
// advances along z with the last kernel.z planes in a ring that stays in cache:
//   direct     ring of loaded rows, one sum over all kernel samples
//   separable  rows are filtered along x as they are loaded, along y as they enter the ring, along
//   z
//              as they leave it
// Samples outside the block's loaded range count as zero.

#include <complex>
#include <vector>

#include "core/pixels/rows.hpp"
#include "cpu/volumes/cpu_engine.hpp"

namespace convolume::cpu {

/// Sizes of the strips and of the memory a thread needs: arithmetic only.
struct StripLayout {
    index_t line;          ///< samples of a padded row: kept + kernel - 1, and room for vectors
    index_t strip_rows;    ///< output rows of a strip
    index_t strip_planes;  ///< its output planes
    index_t strips_y, strips_z;

    StripLayout(const Block& block, int threads);
    index_t strips() const { return strips_y * strips_z; }
    /// Bytes of scratch memory that each thread passes to DirectKernel::run.
    index_t scratch_bytes(const Block& block) const;
};

/// Rows of a block for sums in space: the gathers, widened by the samples that the kernel reaches
/// beyond them.
struct DirectInput {
    ConstImageView source;
    std::array<std::vector<index_t>, 2> gather;  ///< z, y
    pixels::RowGather row;
    pixels::LoadOptions options;

    DirectInput(const Block& block, const BlockInput& input);
};

/// Taps in the order they are applied. Sample is Real or std::complex<Real>.
template <class Sample>
class DirectKernel : public Kernel {
  public:
    /// `taps` as in Engine::prepare; `separable` kernels must be real and of rank 1.
    DirectKernel(const ConstImageView& taps, Algorithm algorithm, Precision precision);

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override;

  private:
    /// Computes one strip of the layout.
    ClampCount run(const Block& block, const StripLayout& layout, const DirectInput& input,
                   const BlockOutput& output, index_t strip, void* scratch) const;

    Shape3 shape_;
    bool separable_;
    std::vector<Sample> taps_;                    ///< direct: flipped, z, y, x order
    std::array<std::vector<Sample>, 3> factors_;  ///< separable: flipped
};

}  // namespace convolume::cpu
