#include "gpu/fft/instances.cuh"

template std::vector<convolume::gpu::Passes<float>> convolume::gpu::compiled_passes<float, 5>();
