// SPDX-License-Identifier: Apache-2.0
#include "forward/planned_view.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

std::string name_of(std::size_t view) {
    return message("view ", view + 1);
}

Margins margins_of(const View& view) {
    Margins margins;
    if (view.boundary) return margins;
    for (const FieldPsf& one : view.psfs) {
        const Index3 center = one.center.kind == KernelCenter::Kind::corner
                                  ? center_index({}, one.psf)
                                  : center_index(one.center, one.psf);
        for (int a = 0; a < 3; ++a) {
            margins.before[a] = std::max(margins.before[a], one.psf.shape[a] - 1 - center[a]);
            margins.behind[a] = std::max(margins.behind[a], center[a]);
        }
    }
    return margins;
}

void check_view(const View& view, std::size_t number) {
    if (view.psfs.empty()) throw InvalidArgument(name_of(number) + " has no PSF: give one");
    for (int a = 0; a < 3; ++a)
        if (view.image[a] < 1)
            throw InvalidArgument(message("the extent of ", name_of(number), " along ",
                                          axis_name(a), " is ", view.image[a],
                                          ": it needs at least 1 voxel on every axis"));
    static_cast<void>(element_count(view.image));
    if (view.boundary && view.boundary->kind == BoundaryKind::constant)
        throw InvalidArgument(message(name_of(number),
                                      " continues an object of unknown light by a constant: "
                                      "choose another boundary"));
    if (view.mask.data != nullptr && (view.mask.shape != view.image || is_complex(view.mask.type)))
        throw InvalidArgument(
            message("the mask of ", name_of(number), " is ", to_string(view.mask.shape),
                    " (z×y×x) of ", to_string(view.mask.type),
                    ": give a real number for each of the ", to_string(view.image), " pixels"));
}

namespace {

Shape3 grid_of(const View& view, const Margins& margins) {
    Shape3 grid;
    for (int a = 0; a < 3; ++a)
        grid[a] = checked_add(view.image[a], checked_add(margins.before[a], margins.behind[a]));
    return grid;
}

// Returns the map from the grid of the view to the object.
VoxelMap map_of(const View& view, const ObjectGrid& object, const Margins& margins) {
    VoxelMap to_image, to_object;
    for (std::size_t a = 0; a < 3; ++a) {
        to_image.offset[a] = -static_cast<double>(margins.before[static_cast<int>(a)]);
        to_object.offset[a] = static_cast<double>(object.result_at[static_cast<int>(a)]);
    }
    return composed(to_object, composed(view.map, to_image));
}

}  // namespace

PlannedView::PlannedView(const View& view, const ObjectGrid& object, std::size_t number)
    : image(view.image),
      margins(margins_of(view)),
      grid(grid_of(view, margins)),
      sampling(object.shape, grid, map_of(view, object, margins)),
      weights(view.psfs, name_of(number)) {}

template <class T>
void PlannedView::weigh(std::size_t k, const T* from, T* to, bool adds, int threads) const {
    std::vector<double> of_columns(static_cast<std::size_t>(grid.x));
    for (index_t x = 0; x < grid.x; ++x)
        of_columns[static_cast<std::size_t>(x)] =
            weights.along(2, k, static_cast<double>(x - margins.before.x));
    parallel_for(grid.z * grid.y, threads, [&](index_t i, int) {
        const double of_row =
            weights.along(0, k, static_cast<double>(i / grid.y - margins.before.z)) *
            weights.along(1, k, static_cast<double>(i % grid.y - margins.before.y));
        const T* const in = from + i * grid.x;
        T* const out = to + i * grid.x;
        for (index_t x = 0; x < grid.x; ++x) {
            const auto value = static_cast<T>(of_row * of_columns[static_cast<std::size_t>(x)] *
                                              static_cast<double>(in[x]));
            out[x] = adds ? out[x] + value : value;
        }
    });
}

template void PlannedView::weigh(std::size_t, const float*, float*, bool, int) const;
template void PlannedView::weigh(std::size_t, const double*, double*, bool, int) const;

}  // namespace convolume::forward
