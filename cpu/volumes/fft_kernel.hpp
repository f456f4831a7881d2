// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel kept as 2D spectra, and the run of one block through the transforms of FftBlock.

#include <memory>

#include "cpu/improving_fft.hpp"
#include "cpu/volumes/cpu_kernel.hpp"

namespace convolume::cpu {

template <class Real>
class FftKernel : public Kernel {
  public:
    using Complex = std::complex<Real>;

    /// Each thread's own memory.
    struct Scratch {
        char* data;
        index_t bytes;
        void* of(int thread) const { return data + thread * bytes; }
    };

    /// `taps` are the block's own: of its part, real or complex as the block's data.
    FftKernel(std::shared_ptr<ImprovingFft<Real>> fft, const Volume& taps, int threads,
              const Scratch& scratch);

    ExecutionReport convolve(const Block& block, const BlockInput& input, const BlockOutput& output,
                             char* workspace, int threads,
                             const ExecutionContext& context) const override;

  private:
    static void transform(const FftBlock<Real>& fft, const BlockInput& input, Complex* spectrum,
                          const Scratch& scratch, int threads, const ExecutionContext& context,
                          double progress_end);

    std::shared_ptr<ImprovingFft<Real>> fft_;
    index_t planes_;
    Buffer spectra_;
};

}  // namespace convolume::cpu
