// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "deconvolve/executors/slabs.cuh"

namespace convolume::deconvolve {

namespace {

constexpr index_t sample_bytes = sizeof(float);

}  // namespace

SlabArrays::SlabArrays(const DeconvolutionProblem& problem, const PairAxes& axes,
                       const std::vector<SlabPlanes>& slab_planes, const PlaneKernels& kernels,
                       const std::vector<SlabSetup>& setups, int threads)
    : object_plane_(problem.object.y * problem.object.x),
      image_plane_(problem.image.y * problem.image.x),
      voxels_(element_count(problem.object)),
      pixels_(element_count(problem.image)),
      threads_(threads) {
    const ArrayCounts counts = array_counts(problem);
    std::vector<gpu::SpreadMemory::DeviceShare> of_object, of_image;
    GpuBytes bytes;
    for (std::size_t g = 0; g < slab_planes.size(); ++g) {
        const SlabSetup& setup = setups[g];
        of_object.push_back(
            {setup.device, slab_planes[g].object.count() * object_plane_ * sample_bytes});
        of_image.push_back(
            {setup.device, slab_planes[g].image.count() * image_plane_ * sample_bytes});
        const index_t arrays =
            counts.object * of_object[g].bytes + counts.image * of_image[g].bytes;
        check_gpu_arrays("the arrays", arrays, setup.limit_bytes);
        const gpu::DeviceScope scope(setup.device);
        slabs_.push_back(
            std::make_unique<ArraySlab>(setup, axes, slab_planes[g], kernels, threads, arrays));
        array_bytes_ += arrays;
        bytes.add(setup.device, arrays + slabs_.back()->passes().bytes());
    }
    most_bytes_ = bytes.most();
    gpu::enable_peer_access(devices_of(setups));
    for (int i = 0; i < counts.object; ++i)
        objects_.emplace_back(of_object, "the arrays of a deconvolution");
    for (int i = 0; i < counts.image; ++i)
        images_.emplace_back(of_image, "the arrays of a deconvolution");
}

IndexRange SlabArrays::share(index_t count, const ArraySlab& slab) const {
    const SlabPlanes& planes = slab.passes().planes();
    if (count == voxels_)
        return {planes.object.begin * object_plane_, planes.object.end * object_plane_};
    if (count != pixels_) throw InternalError("slabs do not divide so many elements");
    return {planes.image.begin * image_plane_, planes.image.end * image_plane_};
}

void SlabArrays::blur(const float* object, float* image) {
    using PlaneKind = DevicePlanePasses::PlaneKind;
    transform_and_exchange(slabs_, &SlabPlanes::object, &SlabPlanes::seen,
                           [&](ArraySlab& slab, const IndexRange& planes) {
                               const SlabPasses& passes = slab.passes();
                               const index_t first = passes.planes().object.begin + planes.begin;
                               passes.forward(PlaneKind::object, object + first * object_plane_,
                                              passes.object_slots().part(planes), slab.stream());
                           });
    on_each(slabs_, [&](ArraySlab& slab) {
        const SlabPasses& passes = slab.passes();
        const IndexRange own = passes.planes().image;
        if (own.count() == 0) return;
        passes.blur(slab.stream());
        passes.inverse(PlaneKind::image, passes.image_slots(), image + own.begin * image_plane_,
                       slab.stream());
    });
    wait_for_each_other(slabs_);
}

void SlabArrays::project(const float* image, float* object, std::size_t kernel) {
    using PlaneKind = DevicePlanePasses::PlaneKind;
    transform_and_exchange(slabs_, &SlabPlanes::image, &SlabPlanes::light,
                           [&](ArraySlab& slab, const IndexRange& planes) {
                               const SlabPasses& passes = slab.passes();
                               const index_t first = passes.planes().image.begin + planes.begin;
                               passes.forward(PlaneKind::image, image + first * image_plane_,
                                              passes.image_slots().part(planes), slab.stream());
                           });
    on_each(slabs_, [&](ArraySlab& slab) {
        const SlabPasses& passes = slab.passes();
        passes.back(slab.stream(), kernel);
        passes.inverse(PlaneKind::object, passes.back_slots(),
                       object + passes.planes().object.begin * object_plane_, slab.stream());
    });
    wait_for_each_other(slabs_);
}

}  // namespace convolume::deconvolve
