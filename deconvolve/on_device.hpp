#pragma once
// Functions that the host's loops and the device's kernels share.

#ifdef __CUDACC__
#define CONVOLUME_HOST_DEVICE __host__ __device__
#else
#define CONVOLUME_HOST_DEVICE
#endif
