// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "forward/device_model.hpp"
#include "forward/voxel_loops.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/grid.cuh"

namespace convolume::forward {

namespace {

constexpr int warp = 32;

// Calls functor(z, y, x) for every voxel. A warp takes a row.
template <class Functor>
__global__ void voxel_cuda_kernel(Shape3 extents, Functor functor) {
    const index_t rows = extents.z * extents.y;
    for (index_t row = gpu::first_item() / warp; row < rows; row += gpu::item_step() / warp)
        for (index_t x = threadIdx.x % warp; x < extents.x; x += warp)
            functor(row / extents.y, row % extents.y, x);
}

template <class Functor>
void for_each_voxel(const Shape3& extents, const Functor& functor, DeviceStream stream) {
    const unsigned blocks = gpu::grid_blocks(extents.z * extents.y * warp);
    voxel_cuda_kernel<<<blocks, gpu::grid_threads, 0, stream.get()>>>(extents, functor);
    gpu::check(cudaGetLastError(), "starting a loop of the forward model");
}

template <class T>
void clear(T* values, const Shape3& extents, DeviceStream stream) {
    gpu::check(
        cudaMemsetAsync(values, 0, static_cast<std::size_t>(element_count(extents)) * sizeof(T),
                        stream.get()),
        "clearing an array of the forward model");
}

template <class T>
WeightedBox<T> all_of(const Shape3& extents) {
    return {extents, {{}, extents}};
}

}  // namespace

template <class T>
DeviceModel<T>::DeviceModel(const ObjectGrid& object, const std::vector<View>& views,
                            const ForwardModelOptions& options, int device, index_t limit)
    : device_(device), object_(object.shape) {
    for (std::size_t v = 0; v < views.size(); ++v) {
        check_view(views[v], v);
        OneView& one = views_.emplace_back(OneView{PlannedView(views[v], object, v), {}, {}, {}});
        one.parameters = one.planned.sampling.parameters();
    }
    allocate(views, limit);
    plan_convolutions(views, options, limit);
}

template <class T>
gpu::DeviceMemory DeviceModel<T>::copy_of(const std::vector<T>& values, const char* purpose) const {
    const std::size_t bytes = values.size() * sizeof(T);
    gpu::DeviceMemory memory(device_, static_cast<index_t>(bytes), purpose);
    gpu::check(cudaMemcpy(memory.data(), values.data(), bytes, cudaMemcpyHostToDevice),
               "copying to the GPU");
    return memory;
}

// Makes the workspaces, the weights of the PSFs, and the masks.
template <class T>
void DeviceModel<T>::allocate(const std::vector<View>& views, index_t limit) {
    Workspaces work;
    for (const OneView& one : views_) work.add(one.planned);
    constexpr PixelType type = pixel_type_of_v<T>;
    bytes_ = work.bytes_within(limit, type, MemoryKind::gpu);
    constexpr const char* purpose = "the arrays of a forward model";
    grid_ = gpu::DeviceMemory(device_, bytes_of(work.grid, type), purpose);
    weighted_ = gpu::DeviceMemory(device_, bytes_of(work.weighted, type), purpose);
    image_ = gpu::DeviceMemory(device_, bytes_of(work.image, type), purpose);
    for (std::size_t v = 0; v < views.size(); ++v) {
        OneView& one = views_[v];
        if (one.planned.has_mask) {
            std::vector<T> mask(static_cast<std::size_t>(element_count(one.planned.image)));
            convert_pixels(views[v].mask, view_of(mask.data(), one.planned.image));
            one.mask = copy_of(mask, purpose);
        }
        for (const PsfPart& part : one.planned.parts) {
            PlannedPsf& psf = one.psfs.emplace_back(PlannedPsf{part, {}, {}, {}});
            if (!one.planned.weights.vary()) continue;
            std::vector<T> weights;
            for (int axis = 0; axis < 3; ++axis)
                for (const double weight : one.planned.weights_along(part, axis))
                    weights.push_back(static_cast<T>(weight));
            psf.weights = copy_of(weights, purpose);
        }
    }
}

template <class T>
void DeviceModel<T>::plan_convolutions(const std::vector<View>& views,
                                       const ForwardModelOptions& options, index_t limit) {
    const index_t arrays = bytes_;
    try {
        plan_convolutions(views, options, limit, true);
    } catch (const OutOfMemory&) {
        bytes_ = arrays;
        plan_convolutions(views, options, limit, false);
    }
}

// Each convolver may take all memory that is left. The largest is made first, so that the workspace
// that they share does not grow.
template <class T>
void DeviceModel<T>::plan_convolutions(const std::vector<View>& views,
                                       const ForwardModelOptions& options, index_t limit,
                                       bool keep_kernel_spectra) {
    std::vector<std::pair<std::size_t, PlannedPsf*>> order;
    for (std::size_t v = 0; v < views.size(); ++v)
        for (PlannedPsf& psf : views_[v].psfs) {
            psf.blur.reset();
            psf.back.reset();
            order.emplace_back(v, &psf);
        }
    const auto voxels = [](const auto& one) {
        return element_count(one.second->part.grid.shape());
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return voxels(a) > voxels(b); });
    const DeviceConvolver* first = nullptr;
    for (const auto& [view, psf] : order) {
        PsfTaps taps(views[view], psf->part.psf, options);
        const auto plan = [&](Operation operation, std::optional<DeviceConvolver>& planned) {
            taps.convolution.operation = operation;
            DeviceOptions on_device;
            on_device.device = device_;
            on_device.image_type = on_device.output_type.emplace(pixel_type_of_v<T>);
            on_device.keep_kernel_spectrum = keep_kernel_spectra;
            on_device.max_gpu_bytes = std::max<index_t>(limit - bytes_, 1);
            on_device.workspace_of = first;
            planned.emplace(psf->part.grid.shape(), taps.psf, taps.convolution, on_device);
            bytes_ = checked_add(bytes_, planned->device_bytes());
            if (first == nullptr) first = &*planned;
        };
        plan(Operation::convolve, psf->blur);
        plan(Operation::adjoint, psf->back);
    }
}

template <class T>
Shape3 DeviceModel<T>::transforms() const {
    Shape3 largest;
    for (const OneView& view : views_)
        for (const PlannedPsf& psf : view.psfs) extend_to(largest, psf.blur->grid());
    return largest;
}

template <class T>
WeightedBox<T> DeviceModel<T>::part_of_grid(const OneView& view, const PlannedPsf& psf) const {
    WeightedBox<T> box{view.planned.grid, psf.part.grid};
    const Shape3 extents = psf.part.grid.shape();
    box.weights_z = psf.weights.template as<T>();
    box.weights_y = box.weights_z + extents.z;
    box.weights_x = box.weights_y + extents.y;
    return box;
}

template <class T>
void DeviceModel<T>::record(std::size_t number, const T* object, T* image,
                            DeviceStream stream) const {
    const OneView& view = views_[number];
    const PlannedView& planned = view.planned;
    const T* sampled = object;
    if (!planned.sampling.is_identity()) {
        for_each_voxel(planned.grid, GridSample<T>{view.parameters, object, grid_.as<T>()}, stream);
        sampled = grid_.as<T>();
    }
    if (!planned.weights.vary()) {
        view.psfs[0].blur->execute(sampled, image, stream);
    } else {
        clear(image, planned.image, stream);
        for (const PlannedPsf& psf : view.psfs) {
            const PsfPart& part = psf.part;
            for_each_voxel(part.grid.shape(),
                           BoxCopy<T>{part_of_grid(view, psf), sampled, weighted_.as<T>()}, stream);
            psf.blur->execute(weighted_.as<T>(), image_.as<T>(), stream);
            for_each_voxel(part.image.shape(),
                           BoxAddition<T>{{planned.image, part.image}, image_.as<T>(), image},
                           stream);
        }
    }
    if (planned.has_mask)
        for_each_voxel(planned.image,
                       BoxMasking<T>{all_of<T>(planned.image), view.mask.template as<T>(), image},
                       stream);
}

template <class T>
void DeviceModel<T>::add_back(std::size_t number, const T* image, T* object,
                              DeviceStream stream) const {
    const OneView& view = views_[number];
    const PlannedView& planned = view.planned;
    T* const grid = grid_.as<T>();
    const bool has_mask = planned.has_mask, varies = planned.weights.vary();
    if (varies) clear(grid, planned.grid, stream);
    for (const PlannedPsf& psf : view.psfs) {
        const PsfPart& part = psf.part;
        const WeightedBox<T> recorded{planned.image, part.image};
        const T* from = image;
        if (varies || has_mask) {
            for_each_voxel(part.image.shape(), BoxCopy<T>{recorded, image, image_.as<T>()}, stream);
            from = image_.as<T>();
        }
        if (has_mask)
            for_each_voxel(part.image.shape(),
                           BoxMasking<T>{recorded, view.mask.template as<T>(), image_.as<T>()},
                           stream);
        psf.back->execute(from, varies ? weighted_.as<T>() : grid, stream);
        if (varies)
            for_each_voxel(part.grid.shape(),
                           BoxAddition<T>{part_of_grid(view, psf), weighted_.as<T>(), grid},
                           stream);
    }
    if (planned.sampling.is_identity())
        for_each_voxel(object_, BoxAddition<T>{all_of<T>(object_), grid, object}, stream);
    else
        for_each_voxel(object_, GridGathering<T>{view.parameters, grid, object}, stream);
}

template class DeviceModel<float>;
template class DeviceModel<double>;

}  // namespace convolume::forward
