// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/partition_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convolume::cpu {

namespace {

constexpr index_t largest_size = index_t{1} << 17;

// Returns the levels of a choice of sizes, of which the first is the block, or nothing if the
// filter ends before the last size may begin. Fewest partitions of each size are best, as longer
// ones cost less for each tap.
std::vector<PartitionLevel> levels_of(const std::vector<index_t>& sizes,
                                      const PartitionProblem& problem) {
    std::vector<PartitionLevel> levels;
    index_t tap = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const bool last = i + 1 == sizes.size();
        const index_t end = last ? problem.taps : 2 * sizes[i + 1];
        if (tap >= problem.taps) return {};
        const index_t count = std::max<index_t>(1, ceil_div(end - tap, sizes[i]));
        levels.push_back({sizes[i], count, tap});
        tap += count * sizes[i];
    }
    return levels;
}

// Returns the predicted nanoseconds for each sample of the signal.
double cost_of(const std::vector<PartitionLevel>& levels, const PartitionProblem& problem) {
    double sum = 0;
    for (const PartitionLevel& level : levels) {
        const auto transforms = static_cast<double>(problem.inputs + problem.outputs);
        sum += transforms * predicted_transform_ns(level.size) / static_cast<double>(level.size) +
               static_cast<double>(level.count * problem.pairs) * predicted_product_ns(problem);
    }
    return sum;
}

}  // namespace

// Fitted to measurements of one core (bench/stream.cpp). The constant is that of the first and
// last step, and of short transforms.
double predicted_transform_ns(index_t length) {
    const auto samples = static_cast<double>(length);
    return 150 + samples * (0.6 + 0.13 * std::log2(samples));
}

double predicted_product_ns(const PartitionProblem& problem) {
    // Spectra of all partitions are read once for each block of their size.
    const index_t spectra = problem.filters + problem.inputs;
    const double bytes = static_cast<double>(spectra) * static_cast<double>(problem.taps) *
                         static_cast<double>(2 * problem.sample_size);
    const double bytes_each =
        bytes / static_cast<double>(problem.pairs) / static_cast<double>(problem.taps);
    const double cache_rate = bytes < 1e6 ? 64 : bytes < 16e6 ? 40 : 20;  // bytes in a nanosecond
    return 0.02 * static_cast<double>(problem.sample_size) + bytes_each / cache_rate;
}

std::vector<PartitionLevel> plan_partitions(const PartitionProblem& problem) {
    std::vector<index_t> larger;
    for (index_t size = 2 * problem.block; size <= largest_size && size < problem.taps; size *= 2)
        larger.push_back(size);
    std::vector<PartitionLevel> best;
    double least = std::numeric_limits<double>::infinity();
    for (index_t choice = 0; choice < index_t{1} << larger.size(); ++choice) {
        std::vector<index_t> sizes{problem.block};
        for (std::size_t i = 0; i < larger.size(); ++i)
            if ((choice >> i & 1) != 0) sizes.push_back(larger[i]);
        const std::vector<PartitionLevel> levels = levels_of(sizes, problem);
        if (levels.empty()) continue;
        if (const double cost = cost_of(levels, problem); cost < least) {
            least = cost;
            best = levels;
        }
    }
    return best;
}

}  // namespace convolume::cpu
