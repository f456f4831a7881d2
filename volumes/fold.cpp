// SPDX-License-Identifier: Apache-2.0
#include "volumes/fold.hpp"

#include <algorithm>
#include <atomic>

#include "core/thread_team.hpp"

namespace convolume {

namespace {

// For every k, the positions i with sources[i] = k.
std::vector<std::vector<index_t>> invert(const std::vector<index_t>& sources, index_t extent) {
    std::vector<std::vector<index_t>> positions(static_cast<std::size_t>(extent));
    for (std::size_t i = 0; i < sources.size(); ++i)
        if (sources[i] >= 0)
            positions[static_cast<std::size_t>(sources[i])].push_back(static_cast<index_t>(i));
    return positions;
}

}  // namespace

ClampCount fold(const ConstImageView& extended, const std::array<std::vector<index_t>, 3>& sources,
                const ImageView& target, int threads) {
    const auto planes = invert(sources[0], target.shape.z);
    const auto rows = invert(sources[1], target.shape.y);
    const index_t row_count = target.shape.z * target.shape.y;
    std::atomic<index_t> low{0}, high{0};
    visit_pixel_type(extended.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
            throw InternalError("integers are not folded");
        } else {
            // A corner collects what the kernel reaches beyond three faces: many terms, so in
            // double.
            using Sum =
                std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
            const auto width = static_cast<std::size_t>(target.shape.x);
            std::vector<Sum> sums(width * static_cast<std::size_t>(threads));
            parallel_for(row_count, threads, [&](index_t row, int thread) {
                Sum* const sum = sums.data() + width * static_cast<std::size_t>(thread);
                const index_t z = row / target.shape.y;
                const index_t y = row % target.shape.y;
                std::fill(sum, sum + width, Sum(0));
                for (const index_t i : planes[static_cast<std::size_t>(z)])
                    for (const index_t j : rows[static_cast<std::size_t>(y)]) {
                        const T* const line = static_cast<const T*>(extended.at(i, j, 0));
                        for (std::size_t k = 0; k < sources[2].size(); ++k)
                            if (sources[2][k] >= 0)
                                sum[static_cast<std::size_t>(sources[2][k])] += Sum(line[k]);
                    }
                const auto clamped = pixels::store_row(sum, target.shape.x, 0.0, target, z, y);
                low += clamped.low;
                high += clamped.high;
            });
        }
    });
    return {low, high};
}

}  // namespace convolume
