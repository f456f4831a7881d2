#include "gpu/volumes/direct/instances.cuh"

namespace convolume::gpu {

template <>
DirectKernel direct_kernel_for<double>(const TapLayout& layout) {
    return find_direct_kernel<double>(layout);
}

}  // namespace convolume::gpu
