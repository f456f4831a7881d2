// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/part_kernel.hpp"

namespace convolume::gpu {

namespace {

template <class Real, bool complex_taps, bool complex_target>
__global__ void fold(PartKernel part, index_t plane) {
    const auto* const taps = static_cast<const Real*>(part.taps);
    auto* const target = static_cast<Real*>(part.target);
    const index_t count = part.planes * plane;
    for (index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * blockDim.x) {
        const index_t n = i / plane;
        const index_t sample = i - n * plane;
        double real = 0, imaginary = 0;
        for (index_t z = n; z < part.shape.z; z += part.period) {
            const index_t at = z * plane + sample;
            const double a = complex_taps ? taps[2 * at] : taps[at];
            const double b = complex_taps ? taps[2 * at + 1] : 0;
            const double c = part.factors[2 * z], d = part.factors[2 * z + 1];
            real += a * c - b * d;
            imaginary += a * d + b * c;
        }
        if (complex_target) {
            target[2 * i] = static_cast<Real>(real);
            target[2 * i + 1] = static_cast<Real>(imaginary);
        } else {
            target[i] = static_cast<Real>(real);
        }
    }
}

template <class Real>
void fold_in(const PartKernel& part, cudaStream_t stream) {
    const index_t plane = part.shape.y * part.shape.x;
    constexpr int threads = 256;
    const auto blocks =
        static_cast<unsigned>(std::min<index_t>(ceil_div(part.planes * plane, threads), 4096));
    const bool from_complex = is_complex(part.taps_type);
    if (from_complex)
        fold<Real, true, true><<<blocks, threads, 0, stream>>>(part, plane);
    else if (is_complex(part.target_type))
        fold<Real, false, true><<<blocks, threads, 0, stream>>>(part, plane);
    else
        fold<Real, false, false><<<blocks, threads, 0, stream>>>(part, plane);
    check(cudaGetLastError(), "folding the kernel");
}

}  // namespace

void make_part_kernel(const PartKernel& part, cudaStream_t stream) {
    if (part.target_type == PixelType::float32 || part.target_type == PixelType::complex64)
        fold_in<float>(part, stream);
    else
        fold_in<double>(part, stream);
}

}  // namespace convolume::gpu
