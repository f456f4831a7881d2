#include "convolume/cuda/detail/segment_instances.cuh"

template const std::vector<convolume::gpu::SegmentKernel>&
convolume::gpu::plain_segment_kernels<double, false>();
