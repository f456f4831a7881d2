// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/executors/element_passes.hpp"

#include <utility>

namespace convolume::deconvolve {

namespace {

template <int... Group>
std::vector<gpu::ElementPass<richardson_lucy::ElementFunctor>> all_element_passes(
    std::integer_sequence<int, Group...>) {
    std::vector<gpu::ElementPass<richardson_lucy::ElementFunctor>> all;
    for (const auto& group : {compiled_element_passes<Group>()...})
        all.insert(all.end(), group.begin(), group.end());
    return all;
}

}  // namespace

index_t good_element_length(index_t least) {
    // Cost of an iteration's passes along y and z, in the unit of ElementLength::cost.
    constexpr double column_cost = 180;
    index_t best = 0;
    double best_cost = 0;
    for (const ElementLength& of : element_lengths) {
        const index_t length = 2 * index_t{of.n};
        const double cost = static_cast<double>(length) * (of.cost + column_cost);
        if (length < least || (best != 0 && cost >= best_cost)) continue;
        best = length;
        best_cost = cost;
    }
    return best;
}

const gpu::ElementPasses<richardson_lucy::ElementFunctor>& element_passes() {
    static const gpu::ElementPasses<richardson_lucy::ElementFunctor> passes(
        all_element_passes(std::make_integer_sequence<int, CONVOLUME_ELEMENT_LENGTH_GROUPS>{}));
    return passes;
}

}  // namespace convolume::deconvolve
