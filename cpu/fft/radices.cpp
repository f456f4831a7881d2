// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/radices.hpp"

namespace convolume::cpu {

namespace {

struct RadixCost {
    int radix;
    double cost;
};
constexpr RadixCost costs[] = {{13, 5.6}, {12, 2.2}, {11, 4.6}, {10, 2.3}, {9, 2.1}, {8, 1.8},
                               {7, 2.5},  {6, 1.7},  {5, 1.8},  {4, 1.3},  {3, 1.3}, {2, 1}};

// Returns the cheapest radices of `length`, none of which precedes costs[first].
std::vector<int> cheapest(index_t length, std::size_t first) {
    std::vector<int> best;
    for (std::size_t i = first; i < std::size(costs); ++i) {
        const int radix = costs[i].radix;
        if (length % radix != 0) continue;
        std::vector<int> radices{radix};
        if (length > radix) {
            const std::vector<int> rest = cheapest(length / radix, i);
            if (rest.empty()) continue;
            radices.insert(radices.end(), rest.begin(), rest.end());
        }
        if (best.empty() || cost_of(radices) < cost_of(best)) best = radices;
    }
    return best;
}

}  // namespace

double cost_of(const std::vector<int>& radices) {
    double sum = 0;
    for (const int radix : radices)
        for (const RadixCost& stage : costs)
            if (stage.radix == radix) sum += stage.cost;
    return sum;
}

std::vector<int> radices_of(index_t length) {
    if (length == 1) return {1};
    // Long lengths begin with stages of radix 8, so that few products remain to be compared.
    std::vector<int> radices;
    for (; length % 4096 == 0; length /= 8) radices.push_back(8);
    const std::vector<int> rest = cheapest(length, 0);
    if (rest.empty()) return {};
    radices.insert(radices.end(), rest.begin(), rest.end());
    return radices;
}

}  // namespace convolume::cpu
