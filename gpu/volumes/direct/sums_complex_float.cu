#include "gpu/volumes/direct/instances.cuh"

namespace convolume::gpu {

template <>
DirectKernel direct_kernel_for<Complex<float>>(const TapLayout& layout) {
    return find_direct_kernel<Complex<float>>(layout);
}

}  // namespace convolume::gpu
