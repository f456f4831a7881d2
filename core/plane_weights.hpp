// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel that varies along z: plane z of an object is blurred by the sum of kernels k with the
// weights w_k(z), which add up to 1.
//
//     A = Σ_k A_k diag(w_k),  Aᵀ = Σ_k diag(w_k) A_kᵀ

#include <vector>

#include "core/pair_axis.hpp"

namespace convolume {

struct PlaneWeights {
    index_t planes = 0;  ///< planes of the object
    /// Weight of kernel k at plane z in element k * planes + z; empty for one kernel.
    std::vector<float> values;

    bool vary() const { return !values.empty(); }
    index_t kernels() const {
        return vary() ? static_cast<index_t>(values.size()) / planes : index_t{1};
    }
    const float* of(index_t kernel) const { return values.data() + kernel * planes; }
    /// Returns the range of planes outside which a kernel has no weight.
    IndexRange used(index_t kernel) const {
        const float* const weights = of(kernel);
        IndexRange used{0, planes};
        while (used.begin < used.end && weights[used.begin] == 0) ++used.begin;
        while (used.end > used.begin && weights[used.end - 1] == 0) --used.end;
        return used;
    }
};

}  // namespace convolume
