// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/radices.hpp"

#include <cmath>

namespace convolume::cpu {

namespace {

struct RadixCost {
    int radix;
    double cost;
};
constexpr RadixCost costs[] = {{13, 5.6}, {12, 2.2}, {11, 4.6}, {10, 2.3}, {9, 2.1}, {8, 1.8},
                               {7, 2.5},  {6, 1.7},  {5, 1.8},  {4, 1.3},  {3, 1.3}, {2, 1}};

// Radices of a product, in the order of `costs`.
struct Product {
    std::vector<int> radices;
    double cost = 0;
};

// Extends `product` to products of `length` more, by costs[first] and later ones. Replaces `best`
// by the cheapest product.
void extend(Product& product, index_t length, std::size_t first, Product& best) {
    if (length == 1) {
        best = product;
        return;
    }
    for (std::size_t i = first; i < std::size(costs); ++i) {
        const auto [radix, cost] = costs[i];
        if (length % radix != 0) continue;
        // No stages of the remaining length take less.
        constexpr double least_cost_of_log = 0.86;
        const index_t rest = length / radix;
        const double least =
            product.cost + cost + least_cost_of_log * std::log(static_cast<double>(rest));
        if (!best.radices.empty() && least >= best.cost) continue;
        const double cost_before = product.cost;
        product.radices.push_back(radix);
        product.cost += cost;
        extend(product, rest, i, best);
        product.radices.pop_back();
        product.cost = cost_before;
    }
}

// Returns whether `length` is positive and has no prime factor above 13.
bool has_radices(index_t length) {
    if (length < 1) return false;
    for (const int prime : {2, 3, 5, 7, 11, 13})
        while (length % prime == 0) length /= prime;
    return length == 1;
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
    Product product, best;
    if (has_radices(length)) extend(product, length, 0, best);
    return best.radices;
}

}  // namespace convolume::cpu
