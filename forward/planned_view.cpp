// SPDX-License-Identifier: Apache-2.0
#include "forward/planned_view.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/threads.hpp"

namespace convolume::forward {

std::string name_of(std::size_t view) {
    return message("view ", view + 1);
}

Index3 center_of(const FieldPsf& psf) {
    const bool in_fft_order = psf.center.kind == KernelCenter::Kind::corner;
    return center_index(in_fft_order ? KernelCenter{} : psf.center, psf.psf);
}

Margins margins_of(const View& view) {
    Margins margins;
    if (view.boundary) return margins;
    for (const FieldPsf& one : view.psfs) {
        const Index3 center = center_of(one);
        for (int a = 0; a < 3; ++a) {
            margins.before[a] = std::max(margins.before[a], one.psf.shape[a] - 1 - center[a]);
            margins.behind[a] = std::max(margins.behind[a], center[a]);
        }
    }
    return margins;
}

void check_extents(const char* what, const Shape3& shape) {
    for (int a = 0; a < 3; ++a)
        if (shape[a] < 1)
            throw InvalidArgument(message("the extent of the ", what, " along ", axis_name(a),
                                          " is ", shape[a],
                                          ": it needs at least 1 voxel on every axis"));
    static_cast<void>(element_count(shape));
}

void check_model(const ObjectGrid& object, const std::vector<View>& views) {
    if (views.empty()) throw InvalidArgument("the forward model has no view: give at least one");
    check_extents("object", object.shape);
    for (std::size_t v = 0; v < views.size(); ++v) check_view(views[v], v);
}

void check_number(std::size_t view, std::size_t count) {
    if (view >= count)
        throw InvalidArgument(message("there is no ", name_of(view), ": the model has ", count,
                                      count == 1 ? " view" : " views"));
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

PsfTaps::PsfTaps(const View& view, std::size_t number, const ForwardModelOptions& options)
    : psf(view.psfs[number].psf) {
    const FieldPsf& one = view.psfs[number];
    if (one.center.kind == KernelCenter::Kind::corner) {
        unwrapped = unwrapped_kernel(one.psf);
        psf = unwrapped.view();
    }
    convolution.mode = view.boundary ? Mode::same : Mode::valid;
    convolution.boundary = view.boundary.value_or(Boundary{});
    convolution.precision = options.precision;
    convolution.normalization = options.normalization;
    convolution.nan = NanPolicy::propagate;
    convolution.center = {KernelCenter::Kind::explicit_, center_of(one)};
}

PlannedView::PlannedView(const View& view, const ObjectGrid& object, std::size_t number)
    : image(view.image),
      margins(margins_of(view)),
      grid(grid_of(view, margins)),
      sampling(object.shape, grid, map_of(view, object, margins)),
      weights(view.psfs, name_of(number)),
      has_mask(view.mask.data != nullptr) {
    for (std::size_t k = 0; k < view.psfs.size(); ++k) add_part(k, view);
}

void PlannedView::add_part(std::size_t k, const View& view) {
    Box3 field;  // voxels of the grid, counted from the first of the recording
    for (int a = 0; a < 3; ++a) {
        field.begin[a] = -margins.before[a];
        field.end[a] = image[a] + margins.behind[a];
    }
    const Box3 light = weights.support(k, field);
    if (light.empty()) return;
    const Index3 center = center_of(view.psfs[k]);
    PsfPart part{k, {}, {}};
    for (int a = 0; a < 3; ++a) {
        const index_t before = center[a], behind = view.psfs[k].psf.shape[a] - 1 - center[a];
        if (!view.boundary) {
            part.image.begin[a] = std::max<index_t>(0, light.begin[a] - before);
            part.image.end[a] = std::min(image[a], light.end[a] + behind);
            // A valid convolution returns less than it reads, by the extent of the PSF less 1.
            part.grid.begin[a] = margins.before[a] + part.image.begin[a] - behind;
            part.grid.end[a] = margins.before[a] + part.image.end[a] + before;
        } else if (view.boundary->kind == BoundaryKind::wrap) {
            part.grid.end[a] = part.image.end[a] = image[a];
        } else {
            // An edge of the part inside the recording is so far from the light that the boundary
            // continues zeros there.
            const index_t reach = std::max(before, behind) + 1;
            part.grid.begin[a] = part.image.begin[a] = std::max<index_t>(0, light.begin[a] - reach);
            part.grid.end[a] = part.image.end[a] = std::min(image[a], light.end[a] + reach);
        }
    }
    if (!part.image.empty()) parts.push_back(part);
}

std::vector<double> PlannedView::weights_along(const PsfPart& part, int axis) const {
    std::vector<double> found;
    for (index_t i = part.grid.begin[axis]; i < part.grid.end[axis]; ++i)
        found.push_back(
            weights.along(axis, part.psf, static_cast<double>(i - margins.before[axis])));
    return found;
}

template <class T>
void PlannedView::apply_weights(const PsfPart& part, const T* from, T* to, bool adds,
                                int threads) const {
    const Shape3 extents = part.grid.shape();
    const Index3& first = part.grid.begin;
    const std::vector<double> of_planes = weights_along(part, 0), of_rows = weights_along(part, 1);
    std::vector<T> of_columns;
    for (const double weight : weights_along(part, 2)) of_columns.push_back(static_cast<T>(weight));
    parallel_for(extents.z * extents.y, threads, [&](index_t i, int) {
        const index_t z = i / extents.y, y = i % extents.y;
        const auto of_row = static_cast<T>(of_planes[static_cast<std::size_t>(z)] *
                                           of_rows[static_cast<std::size_t>(y)]);
        const index_t in_grid = ((first.z + z) * grid.y + first.y + y) * grid.x + first.x;
        const index_t in_part = i * extents.x;
        const T* const in = from + (adds ? in_part : in_grid);
        const T* const of_voxels = of_columns.data();
        T* const out = to + (adds ? in_grid : in_part);
        if (adds) {
#pragma omp simd
            for (index_t x = 0; x < extents.x; ++x) out[x] += of_row * of_voxels[x] * in[x];
        } else {
#pragma omp simd
            for (index_t x = 0; x < extents.x; ++x) out[x] = of_row * of_voxels[x] * in[x];
        }
    });
}

template void PlannedView::apply_weights(const PsfPart&, const float*, float*, bool, int) const;
template void PlannedView::apply_weights(const PsfPart&, const double*, double*, bool, int) const;

void extend_to(Shape3& extents, const Shape3& least) {
    for (int a = 0; a < 3; ++a) extents[a] = std::max(extents[a], least[a]);
}

void Workspaces::add(const PlannedView& view) {
    const auto hold = [](Shape3& largest, const Shape3& shape) {
        if (element_count(shape) > element_count(largest)) largest = shape;
    };
    hold(grid, view.grid);
    if (view.weights.vary())
        for (const PsfPart& part : view.parts) {
            hold(weighted, part.grid.shape());
            hold(image, part.image.shape());
        }
    if (!view.has_mask) return;
    hold(image, view.image);
    mask_pixels = checked_add(mask_pixels, element_count(view.image));
}

index_t Workspaces::bytes_within(index_t limit, PixelType type, MemoryKind memory,
                                 index_t more) const {
    index_t bytes = checked_add(more, checked_multiply(mask_pixels, sample_bytes(type)));
    for (const Shape3& shape : {grid, weighted, image})
        bytes = checked_add(bytes, bytes_of(shape, type));
    if (bytes >= limit)
        throw OutOfMemory(message("the arrays of the forward model take ", format_bytes(bytes),
                                  ", but the limit is ", format_bytes(limit)),
                          memory);
    return bytes;
}

}  // namespace convolume::forward
