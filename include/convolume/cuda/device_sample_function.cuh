// SPDX-License-Identifier: Apache-2.0
#pragma once
// Post-processing of the caller's own inside the kernels that filter, compiled by nvcc:
//
//     struct Slope {
//         template <class Sample>
//         __host__ __device__ Sample operator()(const Sample* y) const {
//             return 0.5f * (y[1] - y[-1]);
//         }
//     };
//     options.function = convolume::device_sample_function<float>(Slope{}, 1, 1);
//
// The function object runs on CPU and GPU alike. Complex data come as gpu::Complex<Real>, which is
// laid out like std::complex<Real>.

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "convolume/cuda/detail/segment_device.cuh"
#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"

namespace convolume {

namespace gpu {

template <class Function>
struct CallersFunction {
    static constexpr bool present = true;
    Function function;

    template <class Sample>
    __host__ __device__ auto operator()(const Sample* y) const {
        return function(y);
    }
};

template <class Sample, class Result, class Function>
__global__ void apply_function(const Sample* from, Result* to, index_t count, Function function) {
    for (index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * blockDim.x)
        to[i] = function(from + i);
}

}  // namespace gpu

/// Sample: float, double, gpu::Complex<float> or gpu::Complex<double>. Kernels for segments of each
/// of `Lengths` are compiled with the function inside; fewer compile faster, longer ones serve
/// longer filters.
template <class Sample, class Function, int... Lengths>
class DeviceSampleFunction : public SampleFunction {
  public:
    static constexpr bool complex_data = !std::is_floating_point_v<Sample>;
    using Real = std::conditional_t<sizeof(Sample) == (complex_data ? 8 : 4), float, double>;
    using Result = std::decay_t<std::invoke_result_t<const Function&, const Sample*>>;
    static_assert(std::is_same_v<Result, Sample> || std::is_same_v<Result, Real>,
                  "the function must return what it is given, or its real type");

    DeviceSampleFunction(Function function, index_t samples_before, index_t samples_after)
        : function_{std::move(function)} {
        if (samples_before < 0 || samples_after < 0)
            throw InvalidArgument("a function cannot look at fewer than 0 samples around its own");
        before = samples_before;
        after = samples_after;
        sample_type = type_of<Sample>();
        result_type = type_of<Result>();
        kernels_.segments =
            gpu::compile_segment_kernels<Real, complex_data, gpu::CallersFunction<Function>,
                                         Lengths...>();
        kernels_.function = &function_;
        kernels_.apply = [](const gpu::FunctionCudaKernels& self, const void* from, void* to,
                            index_t count, cudaStream_t stream) {
            using Own = gpu::CallersFunction<Function>;
            const auto blocks =
                static_cast<unsigned>(count < (1 << 24) ? ceil_div(count, 256) : index_t{1} << 16);
            gpu::apply_function<Sample, Result, Own><<<blocks, 256, 0, stream>>>(
                static_cast<const Sample*>(from), static_cast<Result*>(to), count,
                *static_cast<const Own*>(self.function));
            return cudaGetLastError();
        };
    }

    void apply(const void* y, index_t count, void* out) const override {
        const auto* const samples = static_cast<const Sample*>(y);
        for (index_t i = 0; i < count; ++i) static_cast<Result*>(out)[i] = function_(samples + i);
    }
    const void* device_kernels() const override { return &kernels_; }

  private:
    template <class T>
    static constexpr PixelType type_of() {
        return pixel_type_of_v<
            std::conditional_t<std::is_same_v<T, Real>, Real, std::complex<Real>>>;
    }

    gpu::CallersFunction<Function> function_;
    gpu::FunctionCudaKernels kernels_;
};

/// `function(y)` returns what takes the place of the filtered sample *y, and may look at
/// y[-before] … y[after].
template <class Sample, class Function>
std::shared_ptr<const SampleFunction> device_sample_function(Function function, index_t before = 0,
                                                             index_t after = 0) {
    return std::make_shared<DeviceSampleFunction<Sample, Function, 1024, 4096>>(std::move(function),
                                                                                before, after);
}

}  // namespace convolume
