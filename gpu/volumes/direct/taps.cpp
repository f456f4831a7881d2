// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/direct/taps.hpp"

#include <algorithm>

namespace convolume::gpu {

namespace {

/// Cost of one product of samples, in multiply-adds of float32: one of float64 counts as two, and
/// a complex product as four real ones.
template <class T>
constexpr double product_cost = sizeof(real_type_t<T>) / 4.0 *
                                (sizeof(T) == sizeof(real_type_t<T>) ? 1 : 4);

}  // namespace

template <class T>
double tap_plane_cycles(const TapLayout& layout) {
    constexpr double rows = DirectShape::thread_rows, size = pack_size<T>;
    constexpr double warp_products = 4;  // products of a warp per cycle
    // cycles to load a pack in each thread of a warp, at 128 bytes per cycle
    constexpr double pack_cycles = 4;
    const auto groups = static_cast<double>(layout.groups_y * layout.groups_x);
    const auto width = static_cast<double>(layout.width);
    const double products = rows * size * width * layout.height * product_cost<T> / warp_products;
    const double loads = (rows + layout.height - 1) *
                         static_cast<double>(pack_count<T>(layout.width + pack_size<T> - 1)) *
                         pack_cycles / DirectShape::planes;
    constexpr MachineRates rates;
    return groups *
           (std::max(products, loads) + rates.gpu_direct_not_hidden * std::min(products, loads)) *
           (layout.are_constant<T>() ? 1 : rates.gpu_device_taps_factor);
}

template <class T>
TapLayout tap_layout(const Shape3& kernel) {
    TapLayout best;
    double least_cycles = -1;
    for (const int width : group_widths<T>())
        for (const int height : group_heights<T>()) {
            const TapLayout layout{width, height, ceil_div(kernel.y, index_t{height}),
                                   ceil_div(kernel.x, index_t{width}), kernel.z};
            if (layout.groups_x > 1 && width % pack_size<T> != 0) continue;
            const double cycles = tap_plane_cycles<T>(layout);
            if (least_cycles >= 0 && cycles >= least_cycles) continue;
            least_cycles = cycles;
            best = layout;
        }
    return best;
}

template <class T>
std::vector<Pack<T>> arrange_taps(const TapLayout& layout, const void* taps, const Shape3& shape) {
    const index_t width = layout.width, height = layout.height, row_packs = pack_count<T>(width);
    std::vector<Pack<T>> packs(static_cast<std::size_t>(layout.packs<T>()));
    const T* tap = static_cast<const T*>(taps);
    for (index_t z = shape.z - 1; z >= 0; --z)
        for (index_t y = shape.y - 1; y >= 0; --y)
            for (index_t x = shape.x - 1; x >= 0; --x) {
                const index_t group =
                    (z * layout.groups_y + y / height) * layout.groups_x + x / width;
                const index_t pack =
                    (group * height + y % height) * row_packs + x % width / pack_size<T>;
                packs[static_cast<std::size_t>(pack)].v[x % width % pack_size<T>] = *tap++;
            }
    return packs;
}

#define CONVOLUME_INSTANTIATE(T)                           \
    template TapLayout tap_layout<T>(const Shape3&);       \
    template double tap_plane_cycles<T>(const TapLayout&); \
    template std::vector<Pack<T>> arrange_taps<T>(const TapLayout&, const void*, const Shape3&);
CONVOLUME_INSTANTIATE(float)
CONVOLUME_INSTANTIATE(double)
CONVOLUME_INSTANTIATE(Complex<float>)
CONVOLUME_INSTANTIATE(Complex<double>)
#undef CONVOLUME_INSTANTIATE

}  // namespace convolume::gpu
