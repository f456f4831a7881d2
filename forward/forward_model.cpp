// SPDX-License-Identifier: Apache-2.0
#include "convolume/forward_model.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/threads.hpp"
#include "forward/planned_view.hpp"

namespace convolume {

using forward::PlannedView;
using forward::PsfPart;

ObjectGrid object_grid(const Shape3& result, const std::vector<View>& views) {
    forward::check_extents("result", result);
    Index3 before, behind;
    for (std::size_t v = 0; v < views.size(); ++v) {
        forward::check_view(views[v], v);
        const forward::Margins margins = forward::margins_of(views[v]);
        const auto& matrix = views[v].map.matrix;
        static_cast<void>(inverse(views[v].map));
        for (std::size_t a = 0; a < 3; ++a) {
            const int axis = static_cast<int>(a);
            double low = 0, high = 0;
            for (std::size_t b = 0; b < 3; ++b) {
                const auto first = -static_cast<double>(margins.before[static_cast<int>(b)]);
                const auto last = static_cast<double>(margins.behind[static_cast<int>(b)]);
                low += std::min(matrix[a][b] * first, matrix[a][b] * last);
                high += std::max(matrix[a][b] * first, matrix[a][b] * last);
            }
            constexpr double most = 1e12;
            if (high > most || low < -most)
                throw InvalidArgument(
                    message("the transform of ", forward::name_of(v),
                            " makes its PSF 1e12 voxels large: check its numbers"));
            // Rounding errors of the map make no further voxel.
            constexpr double rounding = 1e-6;
            before[axis] = std::max(before[axis], static_cast<index_t>(std::ceil(-low - rounding)));
            behind[axis] = std::max(behind[axis], static_cast<index_t>(std::ceil(high - rounding)));
        }
    }
    ObjectGrid grid{result, result, before};
    for (int a = 0; a < 3; ++a)
        grid.shape[a] = checked_add(checked_add(result[a], before[a]), behind[a]);
    return grid;
}

namespace {

template <class T>
void multiply(T* values, const T* factors, index_t count, int threads) {
    constexpr index_t run = 1 << 16;
    parallel_for(ceil_div(count, run), threads, [&](index_t i, int) {
        const index_t last = std::min(count, (i + 1) * run);
#pragma omp simd
        for (index_t k = i * run; k < last; ++k) values[k] *= factors[k];
    });
}

// Adds the rows of an array to those of another with the same extents.
template <class T>
void add_rows(const ConstImageView& values, const ImageView& sums, int threads) {
    const Shape3& shape = values.shape;
    parallel_for(shape.z * shape.y, threads, [&](index_t i, int) {
        const T* const from = values.row<T>(i / shape.y, i % shape.y).data();
        T* const to = sums.row<T>(i / shape.y, i % shape.y).data();
#pragma omp simd
        for (index_t x = 0; x < shape.x; ++x) to[x] += from[x];
    });
}

}  // namespace

struct ForwardModel::Impl {
    /// Arrays that an execution needs besides the object and the image.
    template <class T>
    struct Arrays {
        T* grid;      ///< the object at the voxels of the view
        T* weighted;  ///< a part of it for one of several PSFs
        T* image;     ///< the image of this part, or the masked image
    };

    ObjectGrid object;
    Precision precision = Precision::float32;
    int threads = 1;
    std::vector<PlannedView> views;
    Volume grid, weighted, image;
    index_t host_bytes = 0;
    std::mutex execution_mutex;

    PixelType type() const { return sample_type(precision, false); }
    template <class Use>
    void with_type(const Use& use) {
        if (precision == Precision::float64)
            use(double{});
        else
            use(float{});
    }
    const PlannedView& at(std::size_t view) const {
        forward::check_number(view, views.size());
        return views[view];
    }
    template <class T>
    Arrays<T> workspace() {
        const auto of = [](Volume& volume) {
            return volume.shape() == Shape3{} ? nullptr : volume.elements<T>();
        };
        return {of(grid), of(weighted), of(image)};
    }

    index_t allocate(const std::vector<View>& given, index_t limit);
    void plan_convolutions(const View& view, PlannedView& planned,
                           const ForwardModelOptions& options, const EngineChoice& engines,
                           index_t limit_of_each);
    void check(const ConstImageView& array, const Shape3& shape, const char* what) const;
    template <class T>
    void record(const PlannedView& view, const T* from, T* to, const ExecutionContext& context);
    template <class T>
    void add_back(const PlannedView& view, const T* from, T* to, const ExecutionContext& context);
};

// Makes workspaces that are large enough for every view, and the masks. Returns their bytes. Throws
// OutOfMemory before they are made if they do not fit the limit.
index_t ForwardModel::Impl::allocate(const std::vector<View>& given, index_t limit) {
    forward::Workspaces work;
    index_t of_thread = 0;
    for (const PlannedView& view : views) {
        work.add(view);
        of_thread = std::max(of_thread, view.sampling.bytes_of_thread(sample_bytes(type())));
    }
    const index_t bytes =
        work.bytes_within(limit, type(), MemoryKind::host,
                          checked_multiply(of_thread, static_cast<index_t>(threads)));
    grid = Volume(work.grid, type());
    weighted = Volume(work.weighted, type());
    image = Volume(work.image, type());
    for (std::size_t v = 0; v < views.size(); ++v) {
        if (!views[v].has_mask) continue;
        views[v].mask = Volume(views[v].image, type());
        convert_pixels(given[v].mask, views[v].mask.view(), threads);
    }
    return bytes;
}

void ForwardModel::Impl::plan_convolutions(const View& view, PlannedView& planned,
                                           const ForwardModelOptions& options,
                                           const EngineChoice& engines, index_t limit_of_each) {
    for (const PsfPart& part : planned.parts) {
        forward::PsfTaps taps(view, part.psf, options);
        // A convolver counts its input and output, which are arrays of the caller and workspaces.
        const index_t arrays =
            bytes_of(part.grid.shape(), type()) + bytes_of(part.image.shape(), type());
        taps.convolution.max_host_bytes = checked_add(limit_of_each, arrays);
        const auto convolver = [&](Operation operation) {
            taps.convolution.operation = operation;
            Convolver planned_one(part.grid.shape(), taps.psf, taps.convolution, engines, type(),
                                  type());
            host_bytes += std::max<index_t>(0, planned_one.plan().chosen.host_bytes - arrays);
            return planned_one;
        };
        Convolver blur = convolver(Operation::convolve);
        planned.psfs.push_back({std::move(blur), convolver(Operation::adjoint)});
    }
}

void ForwardModel::Impl::check(const ConstImageView& array, const Shape3& shape,
                               const char* what) const {
    if (array.data == nullptr)
        throw InvalidArgument(message("the ", what, " points to no memory (null): allocate it"));
    if (array.shape != shape || array.type != type() || !is_contiguous(array))
        throw InvalidArgument(message("the ", what, " is ", to_string(array.shape), " (z×y×x) of ",
                                      to_string(array.type), ", but the model takes a contiguous ",
                                      to_string(shape), " of ", to_string(type())));
}

template <class T>
void ForwardModel::Impl::record(const PlannedView& view, const T* from, T* to,
                                const ExecutionContext& context) {
    const Arrays<T> work = workspace<T>();
    const T* sampled = from;
    if (!view.sampling.is_identity()) {
        view.sampling.sample(from, work.grid, threads);
        sampled = work.grid;
    }
    const ImageView target = view_of(to, view.image);
    const index_t pixels = element_count(view.image);
    if (!view.weights.vary()) {
        view.psfs[0].blur.execute(view_of(sampled, view.grid), target, context);
    } else {
        std::fill_n(to, pixels, T{0});
        for (std::size_t k = 0; k < view.parts.size(); ++k) {
            const PsfPart& part = view.parts[k];
            const ImageView blurred = view_of(work.image, part.image.shape());
            view.apply_weights(part, sampled, work.weighted, false, threads);
            view.psfs[k].blur.execute(view_of(work.weighted, part.grid.shape()), blurred, context);
            add_rows<T>(blurred, subview(target, part.image), threads);
        }
    }
    if (view.has_mask) multiply(to, view.mask.elements<T>(), pixels, threads);
}

template <class T>
void ForwardModel::Impl::add_back(const PlannedView& view, const T* from, T* to,
                                  const ExecutionContext& context) {
    const Arrays<T> work = workspace<T>();
    const index_t pixels = element_count(view.image), voxels = element_count(view.grid);
    if (view.has_mask) {
        std::copy_n(from, pixels, work.image);
        multiply(work.image, view.mask.elements<T>(), pixels, threads);
        from = work.image;
    }
    const ConstImageView source = view_of(from, view.image);
    if (!view.weights.vary()) {
        view.psfs[0].back.execute(source, view_of(work.grid, view.grid), context);
    } else {
        std::fill_n(work.grid, voxels, T{0});
        for (std::size_t k = 0; k < view.parts.size(); ++k) {
            const PsfPart& part = view.parts[k];
            view.psfs[k].back.execute(subview(source, part.image),
                                      view_of(work.weighted, part.grid.shape()), context);
            view.apply_weights(part, work.weighted, work.grid, true, threads);
        }
    }
    view.sampling.add_back(work.grid, to, threads);
}

ForwardModel::ForwardModel(const ObjectGrid& object, const std::vector<View>& views,
                           const ForwardModelOptions& options, const EngineChoice& engines)
    : impl_(std::make_unique<Impl>()) {
    forward::check_model(object, views);
    impl_->object = object;
    impl_->precision = options.precision;
    impl_->threads = thread_count(engines.threads);
    index_t convolutions = 0;
    for (std::size_t v = 0; v < views.size(); ++v) {
        impl_->views.emplace_back(views[v], object, v);
        convolutions += 2 * static_cast<index_t>(impl_->views[v].parts.size());
    }
    const index_t limit = host_limit_bytes(options.max_host_bytes);
    const index_t own = impl_->host_bytes = impl_->allocate(views, limit);
    for (std::size_t v = 0; v < views.size(); ++v)
        impl_->plan_convolutions(views[v], impl_->views[v], options, engines,
                                 (limit - own) / convolutions);
}

ForwardModel::~ForwardModel() = default;
ForwardModel::ForwardModel(ForwardModel&&) noexcept = default;
ForwardModel& ForwardModel::operator=(ForwardModel&&) noexcept = default;

const ObjectGrid& ForwardModel::object() const {
    return impl_->object;
}
std::size_t ForwardModel::views() const {
    return impl_->views.size();
}
const Shape3& ForwardModel::image(std::size_t view) const {
    return impl_->at(view).image;
}
index_t ForwardModel::host_bytes() const {
    return impl_->host_bytes;
}
std::string ForwardModel::engines() const {
    std::string names;
    for (const std::string& name : impl_->views[0].psfs[0].blur.plan().engines)
        names += (names.empty() ? "" : " ") + name;
    return names;
}
Shape3 ForwardModel::transforms() const {
    Shape3 largest;
    for (const PlannedView& view : impl_->views)
        for (const forward::PsfConvolution& psf : view.psfs)
            forward::extend_to(largest, psf.blur.plan().chosen.grid);
    return largest;
}

void ForwardModel::record(std::size_t view, const ConstImageView& object, const ImageView& image,
                          const ExecutionContext& context) const {
    const PlannedView& planned = impl_->at(view);
    impl_->check(object, impl_->object.shape, "object");
    impl_->check(image, planned.image, "image");
    const std::lock_guard lock(impl_->execution_mutex);
    impl_->with_type([&](auto value) {
        using T = decltype(value);
        impl_->record(planned, static_cast<const T*>(object.data), static_cast<T*>(image.data),
                      context);
    });
}

void ForwardModel::add_back(std::size_t view, const ConstImageView& image, const ImageView& object,
                            const ExecutionContext& context) const {
    const PlannedView& planned = impl_->at(view);
    impl_->check(image, planned.image, "image");
    impl_->check(object, impl_->object.shape, "object");
    const std::lock_guard lock(impl_->execution_mutex);
    impl_->with_type([&](auto value) {
        using T = decltype(value);
        impl_->add_back(planned, static_cast<const T*>(image.data), static_cast<T*>(object.data),
                        context);
    });
}

}  // namespace convolume
