#include "gpu/volumes/direct/instances.cuh"

namespace convolume::gpu {

template <>
DirectKernel direct_kernel_for<float>(const TapLayout& layout) {
    return find_direct_kernel<float>(layout);
}

}  // namespace convolume::gpu
