// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the element passes of one group of lengths.

#include <algorithm>
#include <iterator>
#include <utility>

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/element_kernel.hpp"
#include "gpu/fft/element_passes.hpp"

namespace convolume::gpu {

template <int N, ElementKind Kind, class Elements>
__global__ void __launch_bounds__(ElementShape<N, Kind>::threads,
                                  ElementShape<N, Kind>::blocks_per_unit)
    element_cuda_kernel(const __grid_constant__ ElementJob<Elements> job) {
    CONVOLUME_PASS((element_pass<N, Kind>(DeviceBlock{}, job)));
}

template <int N, ElementKind Kind, class Elements>
void add_cuda_kernel(ElementPass<Elements>& pass) {
    using Shape = ElementShape<N, Kind>;
    constexpr int kind = static_cast<int>(Kind);
    pass.cuda_kernels[kind] = element_cuda_kernel<N, Kind, Elements>;
    for (int count = 0; count <= most_element_arrays; ++count)
        pass.shared_bytes[kind][count] =
            Shape::least_shared_bytes + Shape::bytes_of_arrays(std::min(count, Shape::arrays));
}

template <int N, class Elements>
ElementPass<Elements> element_pass_of() {
    using Shape = ElementShape<N, ElementKind::load>;
    ElementPass<Elements> pass;
    pass.n = N;
    pass.plan = Shape::plan;
    pass.threads = Shape::threads;
    pass.rows = Shape::rows;
    add_cuda_kernel<N, ElementKind::load>(pass);
    add_cuda_kernel<N, ElementKind::compare>(pass);
    add_cuda_kernel<N, ElementKind::update>(pass);
    add_cuda_kernel<N, ElementKind::advance>(pass);
    return pass;
}

/// Returns the passes over rows of Lengths[i].n complex samples, multiples of 4, for each i of the
/// group. Length i is in group i mod Groups.
template <class Elements, const auto& Lengths, int Group, int Groups>
std::vector<ElementPass<Elements>> element_passes_of_group() {
    constexpr std::size_t count = (std::size(Lengths) + Groups - 1 - Group) / Groups;
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::vector{element_pass_of<Lengths[I * Groups + Group].n, Elements>()...};
    }
    (std::make_index_sequence<count>{});
}

}  // namespace convolume::gpu
