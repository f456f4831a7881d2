// SPDX-License-Identifier: Apache-2.0
// Runs a function of the program inside the library's CUDA kernels, on signals that never leave the
// GPU. It keeps spikes, which rise above their neighbors in a smoothed signal and above a
// threshold, and stores 0 for all other samples. Fails unless it finds exactly the spikes that were
// put in.

#include <thrust/device_vector.h>

#include <iostream>
#include <vector>

#include "convolume/cuda/device_sample_function.cuh"
#include "convolume/device.hpp"

using namespace convolume;

namespace {

struct Spike {
    float threshold;
    __host__ __device__ float operator()(const float* y) const {
        return *y > threshold && *y > y[-1] && *y >= y[1] ? *y : 0;
    }
};

}  // namespace

int main() {
    if (const std::string why = gpu_unavailable(); !why.empty()) {
        std::cout << why << '\n';
        return 0;
    }
    const index_t samples = 1 << 20, distance = 10007;
    std::vector<float> signal(samples);
    for (index_t i = 0; i < samples; ++i)
        signal[i] = (i % 2 == 0 ? 0.3F : -0.3F) + (i % distance == distance / 2 ? 10 : 0);
    const std::vector<float> smooth = {0.25F, 0.5F, 0.25F};

    FilterOptions options;
    options.function = device_sample_function<float>(Spike{3}, 1, 1);  // with 1 neighbor per side
    DeviceFilterBank bank({1, samples}, {view_of(smooth.data(), {1, 1, 3})}, options);
    std::cout << bank.plan().to_string();

    const thrust::device_vector<float> on_device(signal.begin(), signal.end());
    thrust::device_vector<float> spikes(bank.result_samples());
    bank.execute(on_device.data().get(), spikes.data().get());

    std::vector<float> found(samples);
    thrust::copy(spikes.begin(), spikes.end(), found.begin());
    index_t count = 0, wrong = 0;
    for (index_t i = 0; i < samples; ++i) {
        count += found[i] > 0;
        wrong += (found[i] > 0) != (i % distance == distance / 2);
    }
    std::cout << count << " spikes, " << wrong << " samples wrong\n";
    return wrong == 0 ? 0 : 1;
}
