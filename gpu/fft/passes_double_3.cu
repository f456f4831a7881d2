#include "gpu/fft/instances.cuh"

template std::vector<convolume::gpu::Passes<double>> convolume::gpu::compiled_passes<double, 3>();
