// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/plane_kernel.hpp"
#include "gpu/fft/planes.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

namespace {

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::choice.blocks_per_unit)
    plane_cuda_kernel(const __grid_constant__ PlaneJob<float> job) {
    CONVOLUME_PASS((plane_pass<Shape>(DeviceBlock{}, job)));
}

struct PlanePass {
    void (*cuda_kernel)(PlaneJob<float>);
    int length, threads, planes, kernel_samples;
    TransformPlan rows, columns;
    index_t (*shared_bytes)(index_t rows);

    const void* function() const { return reinterpret_cast<const void*>(cuda_kernel); }
};

template <std::size_t I>
PlanePass plane_pass_of() {
    using Shape = MeasuredPlaneBlock<I>;
    return {plane_cuda_kernel<Shape>,
            Shape::length,
            Shape::threads,
            Shape::planes,
            Shape::kernel_samples,
            Shape::RowOfPlane::plan,
            Shape::ColumnOfPlane::plan,
            Shape::shared_bytes};
}

template <std::size_t... I>
std::array<PlanePass, sizeof...(I)> all_plane_passes(std::index_sequence<I...>) {
    return {plane_pass_of<I>()...};
}

const PlanePass* find_plane_pass(index_t length) {
    static const auto passes =
        all_plane_passes(std::make_index_sequence<std::size(measured_planes)>());
    const auto* const found = std::find_if(
        passes.begin(), passes.end(), [&](const PlanePass& pass) { return pass.length == length; });
    return found == passes.end() ? nullptr : found;
}

const PlanePass& plane_pass(index_t length) {
    const PlanePass* const pass = find_plane_pass(length);
    if (pass == nullptr) throw InternalError(message("no pass for planes of ", length));
    return *pass;
}

void launch(const PlanePass& pass, PlaneJob<float> job, cudaStream_t stream) {
    job.loads.twiddles = device_twiddles<float>(pass.rows, stream);
    job.column_twiddles = device_twiddles<float>(pass.columns, stream);
    const index_t bytes = pass.shared_bytes(job.rows);
    const index_t resident = resident_blocks(pass.function(), pass.threads, bytes);
    if (resident == 0)
        throw GpuUnavailable(
            message("planes of ", pass.length, " rows do not fit this device's shared memory"));
    const index_t groups = ceil_div(job.loads.planes, index_t{pass.planes});
    if (groups == 0) return;
    void* arguments[] = {&job};
    check(cudaLaunchKernel(pass.function(), dim3(static_cast<unsigned>(std::min(groups, resident))),
                           dim3(static_cast<unsigned>(pass.threads)), arguments,
                           static_cast<std::size_t>(bytes), stream),
          "launching a pass over planes");
}

}  // namespace

index_t plane_pass_length(index_t least) {
    for (const PlaneChoice& choice : measured_planes)
        if (choice.length >= least) return choice.length;
    return 0;
}

bool has_plane_pass(index_t length, int device) {
    const PlanePass* const pass = find_plane_pass(length);
    return pass != nullptr && can_run(pass->function(), pass->shared_bytes(length), device);
}

index_t plane_kernel_samples(index_t length) {
    return plane_pass(length).kernel_samples;
}

void transform_plane_kernel(index_t length, const RowSource& taps, std::complex<float>* spectrum,
                            cudaStream_t stream) {
    launch(plane_pass(length), plane_kernel_job(length, taps, as_complex_samples(spectrum)),
           stream);
}

void convolve_planes(index_t length, const RowSource& source, const std::complex<float>* kernel,
                     const RowTarget& target, double scale, cudaStream_t stream) {
    const auto* const spectrum = reinterpret_cast<const Complex<float>*>(kernel);
    launch(plane_pass(length), plane_job(length, source, spectrum, target, scale), stream);
}

}  // namespace convolume::gpu
