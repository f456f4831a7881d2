// SPDX-License-Identifier: Apache-2.0
#include "gpu/fft/pass_table.hpp"

#include <utility>

namespace convolume::gpu {

namespace {

/// Into which lengths<Real> were dealt out (cmake/ConvolumeKernelSources.cmake).
template <class Real>
constexpr int chunks = CONVOLUME_CHUNKS_FLOAT;
template <>
constexpr int chunks<double> = CONVOLUME_CHUNKS_DOUBLE;

template <class Real, int... Chunk>
std::vector<Passes<Real>> all_passes(std::integer_sequence<int, Chunk...>) {
    std::vector<Passes<Real>> by_length(static_cast<std::size_t>(lengths<Real>.back()) + 1);
    for (const auto& chunk : {compiled_passes<Real, Chunk, chunks<Real>>()...})
        for (const Passes<Real>& passes : chunk)
            by_length[static_cast<std::size_t>(passes.n)] = passes;
    return by_length;
}

}  // namespace

template <class Real>
const Passes<Real>* find_passes(index_t n) {
    static const auto passes = all_passes<Real>(std::make_integer_sequence<int, chunks<Real>>{});
    if (n < 1 || n >= static_cast<index_t>(passes.size())) return nullptr;
    const Passes<Real>& found = passes[static_cast<std::size_t>(n)];
    return found.n == n ? &found : nullptr;
}

template const Passes<float>* find_passes(index_t);
template const Passes<double>* find_passes(index_t);

}  // namespace convolume::gpu
