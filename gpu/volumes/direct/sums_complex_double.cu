#include "gpu/volumes/direct/instances.cuh"

namespace convolume::gpu {

template <>
DirectKernel direct_kernel_for<Complex<double>>(const TapLayout& layout) {
    return find_direct_kernel<Complex<double>>(layout);
}

}  // namespace convolume::gpu
