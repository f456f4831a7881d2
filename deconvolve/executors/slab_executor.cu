// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "convolume/volume.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/executors/device_loops.cuh"
#include "deconvolve/executors/slabs.cuh"
#include "deconvolve/registry.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/staging.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::deconvolve {

namespace {

// Finds the samples `first` to `first` + `count` that lie in `planes`, each of `plane` samples.
// Calls work(offset, index, n) if there are any: they are n samples from `first` + offset on, and
// from sample `index` of the planes on.
template <class Work>
void within(const IndexRange& planes, index_t plane, index_t first, index_t count,
            const Work& work) {
    const IndexRange there =
        IndexRange{first, first + count}.within({planes.begin * plane, planes.end * plane});
    if (there.count() > 0)
        work(there.begin - first, there.begin - planes.begin * plane, there.count());
}

}  // namespace

/// Sizes of the arrays of a slab.
struct SlabLayout {
    SlabLayout(const DeconvolutionProblem& problem, const PairAxis& z, const SlabPlanes& slab)
        : object(problem.object), image(problem.image) {
        object.z = slab.object.count();
        image.z = slab.image.count();
        has_previous = problem.traits.keeps_previous;
        has_changes = problem.traits.keeps_change;
        has_held_out = problem.options.hold_out;
        keeps_uint16 = problem.keeps_uint16();
        equal_planes = alike_planes(problem, z, slab.object);
    }
    index_t plane() const { return object.y * object.x; }
    index_t image_plane() const { return image.y * image.x; }
    index_t voxels() const { return element_count(object); }
    index_t pixels() const { return element_count(image); }
    index_t weight_samples() const { return equal_planes.stored(object.z) * plane(); }
    index_t bytes() const {
        return checked_add(
            (1 + has_previous) * array_bytes(voxels()) + has_changes * change_bytes(),
            image_bytes() + has_held_out * array_bytes(pixels()) + array_bytes(weight_samples()));
    }
    index_t image_bytes() const {
        return array_bytes(pixels(), keeps_uint16 ? sizeof(std::uint16_t) : sizeof(float));
    }
    index_t change_bytes() const { return array_bytes(voxels(), sizeof(ShortFloat)); }
    static index_t array_bytes(index_t samples, index_t sample_bytes = sizeof(float)) {
        return round_up(checked_multiply(samples, sample_bytes), gpu::DeviceMemory::alignment);
    }

    Shape3 object, image;
    bool has_previous = false, has_changes = false, has_held_out = false;
    bool keeps_uint16 = false;  ///< whether the image is kept as uint16
    EqualPlanes equal_planes;   ///< planes with equal weights
};

// A slab of planes in the memory of one GPU, for iterations as passes. The image, the estimates and
// their weights are arrays. The model and the correction exist only as spectra (plane_passes.hpp).
class SlabExecutor::PassSlab : public DeviceLoops {
  public:
    using PlaneKind = DevicePlanePasses::PlaneKind;

    /// The device of `setup` is current.
    PassSlab(const SlabSetup& setup, const DeconvolutionProblem& problem, const PairAxes& axes,
             const SlabPlanes& slab, const PlaneKernels& kernels, int threads)
        : DeviceLoops(setup.device, threads),
          device_(setup.device),
          layout_(problem, axes[0], slab) {
        check_gpu_arrays("the arrays", layout_.bytes(), setup.limit_bytes);
        passes_.emplace(device_, axes, slab, kernels, setup.limit_bytes - layout_.bytes(),
                        setup.workspace);
        arrays_ = gpu::DeviceMemory(device_, layout_.bytes(), "the arrays of a deconvolution");
        index_t at = 0;
        const auto place_bytes = [&](bool wanted, index_t bytes) -> char* {
            if (!wanted) return nullptr;
            char* const array = arrays_.data() + at;
            at += bytes;
            return array;
        };
        const auto place_floats = [&](bool wanted, index_t samples) {
            return reinterpret_cast<float*>(place_bytes(wanted, SlabLayout::array_bytes(samples)));
        };
        newest_ = place_floats(true, layout_.voxels());
        previous_ = place_floats(layout_.has_previous, layout_.voxels());
        change_ =
            reinterpret_cast<ShortFloat*>(place_bytes(layout_.has_changes, layout_.change_bytes()));
        data_ = place_bytes(true, layout_.image_bytes());
        held_out_ = place_floats(layout_.has_held_out, layout_.pixels());
        weights_ = place_floats(true, layout_.weight_samples());
        most_sums_ = plane_ranges * passes_->most_sums();
        const index_t bytes = 2 * most_sums_ * index_t{sizeof(double)};
        sums_ = gpu::DeviceMemory(device_, bytes, "sums of a deconvolution");
        if (layout_.keeps_uint16)
            uint16_staging_ = gpu::DeviceMemory(device_, staged_at_once * index_t{sizeof(float)},
                                                "an image on its way");
        fetched_sums_ = staging_.take(bytes);
    }

    int device() const { return device_; }
    const SlabPlanes& planes() const { return passes_->planes(); }
    const SlabLayout& layout() const { return layout_; }
    index_t bytes() const { return layout_.bytes() + passes_->bytes(); }
    const SlabPasses& passes() const { return *passes_; }
    using DeviceLoops::stream;

    /// Returns the newest estimate. Callers that change it must call forget_point().
    float* newest() const { return newest_; }
    void forget_point() { has_point_ = false; }
    /// Returns the image as float32. Must not be called if the image is kept as uint16.
    float* data() const { return reinterpret_cast<float*>(data_); }
    float* held_out() const { return held_out_; }
    Weights weights() const { return {weights_, layout_.plane(), layout_.equal_planes}; }

    void write_image(const float* values, index_t first, index_t count) const {
        if (!layout_.keeps_uint16) {
            write(values, data(), first, count);
            return;
        }
        auto* const target = reinterpret_cast<std::uint16_t*>(data_) + first;
        for (index_t done = 0; done < count; done += staged_at_once) {
            const index_t some = std::min(staged_at_once, count - done);
            write(values + done, uint16_staging_.as<float>(), 0, some);
            for_each(some, Uint16Copy{target + done, uint16_staging_.as<float>()});
        }
    }

    /// Makes spectra of an image of ones in some of the slab's own planes. Pixels that are not
    /// compared are 0 instead, unless `all` says that every pixel is compared.
    void load_ones(const IndexRange& some, bool all) {
        ElementWork work;
        work.loads_ones = true;
        if (!all) work.data = data() + some.begin * layout_.image_plane();
        passes_->forward(PlaneKind::image, work, passes_->image_slots().part(some), stream());
    }
    /// Computes the weights: projects back the images of ones of this slab and of its neighbors.
    void find_weights() {
        passes_->back(stream());
        const auto [first, last] = layout_.equal_planes;
        passes_->inverse(PlaneKind::object, {0, first + 1}, weights_, stream());
        if (last + 1 < layout_.object.z)
            passes_->inverse(PlaneKind::object, {last + 1, layout_.object.z - last - 1},
                             weights_ + (first + 1) * layout_.plane(), stream());
    }

    /// Makes spectra of the points in some of the slab's own object planes.
    void load_point(const IndexRange& some, const StepStart& start) {
        if (has_point_) return;
        ElementWork work = work_of(ElementKind::load, start);
        const index_t first = some.begin * layout_.plane();
        work.newest += first;
        if (work.before != nullptr) work.before += first;
        passes_->forward(PlaneKind::object, work, passes_->object_slots().part(some), stream());
    }
    /// Blurs the points of the slab and its neighbors.
    void blur() {
        has_point_ = false;
        compared_ = 0;
        if (planes().image.count() > 0) passes_->blur(stream());
    }
    /// Divides some of the image's planes by those of the blurred points, subtracts `less`, and
    /// makes spectra of the ratio.
    void compare(const IndexRange& some, const StepSettings& settings, float less,
                 bool sums_misfit) {
        ElementWork work;
        work.kind = ElementKind::compare;
        const index_t first = some.begin * layout_.image_plane();
        const auto pixel_bytes =
            static_cast<index_t>(layout_.keeps_uint16 ? sizeof(std::uint16_t) : sizeof(float));
        work.data = data_ + first * pixel_bytes;
        work.data_is_uint16 = layout_.keeps_uint16;
        work.held_out = settings.held_out_share > 0 ? held_out() + first : nullptr;
        work.elements.held_out_share = settings.held_out_share;
        work.elements.model = settings.model;
        work.elements.less = less;
        work.elements.sums_misfit = sums_misfit;
        compared_ += passes_->inverse(PlaneKind::image, work, passes_->image_slots().part(some),
                                      sums_.as<double>() + 2 * compared_, stream());
    }
    /// Enqueues the copy of the sums of all comparisons since blur() to the host.
    void fetch_compared() {
        if (compared_ > 0) fetch(0, compared_, has_compared_);
    }
    /// Projects the ratio back.
    void back(std::size_t kernel) { passes_->back(stream(), kernel); }
    /// Takes the step.
    template <class Rule>
    void step(const StepStart& start, const Rule& rule) {
        // If steps do not depend on earlier ones, the result of this step is the next point. An
        // advance makes its spectrum as well, if the next iteration looks for it in these slots.
        has_point_ = !layout_.has_previous && passes_->object_slots().first == 0;
        ElementWork work = work_of(has_point_ ? ElementKind::advance : ElementKind::update, start);
        work.change = change_;
        work.last_format = start.last_format;
        work.format = start.format;
        work.weight = weights_;
        work.equal_planes = layout_.equal_planes;
        work.elements.use(rule);
        stepped_ = passes_->inverse(PlaneKind::object, work, passes_->back_slots(),
                                    sums_.as<double>() + most_sums_, stream());
        if (layout_.has_changes) fetch(most_sums_, stepped_, has_stepped_);
        if (layout_.has_previous) std::swap(newest_, previous_);
    }

    /// Return the sums of the last comparison (misfit, squared errors of predicted held-out data),
    /// and of the last step (products of changes). Both wait until the GPU has computed the sums,
    /// but not for later work.
    SumPair compared() const { return total(0, compared_, has_compared_); }
    SumPair stepped() const { return total(most_sums_, stepped_, has_stepped_); }

    /// Events: the slab's own spectra are ready, and the slab has fetched its neighbors' spectra.
    gpu::CudaEvent ready, fetched;
    gpu::CudaStream copies;

  private:
    static constexpr index_t staged_at_once = index_t{1} << 20;

    ElementWork work_of(ElementKind kind, const StepStart& start) const {
        ElementWork work;
        work.kind = kind;
        work.newest = newest_;
        work.before = previous_;
        work.restart = start.restart;
        work.elements.extrapolation = start.extrapolation;
        return work;
    }

    double* fetched_sums() const { return reinterpret_cast<double*>(fetched_sums_.get()); }

    // Copies two sums of each thread block to the host, from sum `first` on.
    void fetch(index_t first, index_t blocks, const gpu::CudaEvent& done) const {
        gpu::check(cudaMemcpyAsync(fetched_sums() + first, sums_.as<double>() + first,
                                   static_cast<std::size_t>(blocks) * sizeof(SumPair),
                                   cudaMemcpyDeviceToHost, stream()),
                   "fetching a sum");
        done.record(stream());
    }
    SumPair total(index_t first, index_t blocks, const gpu::CudaEvent& done) const {
        SumPair sum;
        if (blocks == 0) return sum;
        done.wait();
        const auto* const of_blocks = reinterpret_cast<const SumPair*>(fetched_sums() + first);
        for (index_t i = 0; i < blocks; ++i) sum += of_blocks[i];
        return sum;
    }

    int device_;
    SlabLayout layout_;
    // Page-locked memory that is kept for the process. It outlives sums_, whose end waits for
    // copies.
    gpu::StagingPool staging_{1};
    gpu::StagingPool::StagingBuffer fetched_sums_;
    std::optional<SlabPasses> passes_;
    gpu::DeviceMemory arrays_, sums_, uint16_staging_;
    gpu::CudaEvent has_compared_, has_stepped_;
    float *newest_, *previous_, *held_out_, *weights_;  ///< null: there is no such array
    ShortFloat* change_;
    char* data_;
    index_t most_sums_ = 0;
    index_t compared_ = 0, stepped_ = 0;  ///< numbers of thread blocks with sums
    bool has_point_ = false;  ///< whether the spectrum of the next point is in its slots
};

SlabExecutor::SlabExecutor(const DeconvolutionProblem& problem, const PairAxes& axes,
                           const std::vector<SlabPlanes>& slab_planes, const PlaneKernels& kernels,
                           const std::vector<SlabSetup>& setups, int threads)
    : method_(problem.options.method), compares_all_(problem.compares_all()), threads_(threads) {
    for (std::size_t g = 0; g < slab_planes.size(); ++g) {
        const SlabSetup& setup = setups[g];
        const gpu::DeviceScope scope(setup.device);
        slabs_.push_back(
            std::make_unique<PassSlab>(setup, problem, axes, slab_planes[g], kernels, threads));
    }
    gpu::enable_peer_access(devices_of(setups));
}

SlabExecutor::~SlabExecutor() = default;

std::shared_ptr<DeviceWorkspace> SlabExecutor::workspace() const {
    if (slabs_.size() > 1) return nullptr;
    return slabs_.front()->passes().workspace();
}

// Calls work(is_unchanged), which enqueues passes. Other objects may share the workspace of a
// single slab. If they have used it since the last call, it holds other spectra, and `is_unchanged`
// is false.
template <class Work>
void SlabExecutor::with_workspace(const Work& work) {
    if (slabs_.size() > 1) return work(true);
    PassSlab& slab = *slabs_.front();
    const gpu::DeviceScope scope(slab.device());
    slab.passes().with_workspace(slab.stream(), work);
}

index_t SlabExecutor::array_bytes() const {
    index_t bytes = 0;
    for (const auto& slab : slabs_) bytes += slab->layout().bytes();
    return bytes;
}

index_t SlabExecutor::most_bytes() const {
    GpuBytes bytes;
    for (const auto& slab : slabs_) bytes.add(slab->device(), slab->bytes());
    return bytes.most();
}

void SlabExecutor::write_image(const float* values, index_t first, index_t count) {
    on_each(slabs_, [&](PassSlab& slab) {
        within(slab.planes().image, slab.layout().image_plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   slab.write_image(values + from, to, samples);
               });
    });
}

void SlabExecutor::write_estimate(const float* values, index_t first, index_t count) {
    on_each(slabs_, [&](PassSlab& slab) {
        within(slab.planes().object, slab.layout().plane(), first, count,
               [&](index_t from, index_t to, index_t samples) {
                   slab.write(values + from, slab.newest(), to, samples);
                   slab.forget_point();
               });
    });
}

void SlabExecutor::read_estimate(float* values, index_t first, index_t count) const {
    on_each(slabs_, [&](PassSlab& slab) {
        within(slab.planes().object, slab.layout().plane(), first, count,
               [&](index_t to, index_t from, index_t samples) {
                   slab.read(values + to, slab.newest(), from, samples);
               });
    });
}

void SlabExecutor::hold_out(const PhotonScale& photons, int halvings) {
    on_each(slabs_, [&](PassSlab& slab) {
        slab.for_each(slab.layout().pixels(),
                      hold_out_functor(slab.data(), slab.held_out(), photons, halvings,
                                       slab.planes().image.begin * slab.layout().image_plane()));
    });
}

void SlabExecutor::put_back() {
    on_each(slabs_, [&](PassSlab& slab) {
        slab.for_each(slab.layout().pixels(), ScaledAddition{slab.data(), slab.held_out(), 1});
    });
}

void SlabExecutor::begin(const LoadedImage& image, float held_out_share) {
    step_settings_.model = model_of(image);
    step_settings_.held_out_share = held_out_share;
    if (!has_weights_)
        with_workspace([&](bool) {
            transform_and_exchange(slabs_, &SlabPlanes::image, &SlabPlanes::light,
                                   [&](PassSlab& slab, const IndexRange& planes) {
                                       slab.load_ones(planes, compares_all_);
                                   });
            on_each(slabs_, [](PassSlab& slab) { slab.find_weights(); });
        });
    has_weights_ = compares_all_;
    const bool given = write_start(image);
    on_each(slabs_, [&](PassSlab& slab) {
        slab.forget_point();
        if (given)
            slab.for_each(slab.layout().voxels(),
                          begin_functor(image, slab.newest(), slab.weights()));
        else
            slab.for_each(slab.layout().voxels(),
                          ConstantFill{slab.newest(), mean_at_start(image)});
    });
}

struct SlabExecutor::SlabOperations : FusedOperations {
    SlabExecutor& executor;
    const StepStart& at_start;
    /// Parts of the iteration that are carried out: up to the comparison, and from it on.
    bool compares, steps;

    const StepSettings& settings() const { return executor.step_settings_; }
    const StepStart& start() const { return at_start; }
    void load_point() {
        if (compares)
            transform_and_exchange(executor.slabs_, &SlabPlanes::object, &SlabPlanes::seen,
                                   [&](PassSlab& slab, const IndexRange& planes) {
                                       slab.load_point(planes, at_start);
                                   });
    }
    void blur(ArrayRole, ArrayRole) {
        if (compares) on_each(executor.slabs_, [](PassSlab& slab) { slab.blur(); });
    }
    void compare(float less) {
        if (!compares) return;
        transform_and_exchange(executor.slabs_, &SlabPlanes::image, &SlabPlanes::light,
                               [&](PassSlab& slab, const IndexRange& planes) {
                                   slab.compare(planes, settings(), less, !at_start.skips_misfit);
                               });
        on_each(executor.slabs_, [](PassSlab& slab) { slab.fetch_compared(); });
    }
    void blur_back(ArrayRole, ArrayRole) { back(0); }
    void back_project_unmatched(ArrayRole, ArrayRole) { back(1); }
    template <ArrayRole divisors = ArrayRole::weights, class Rule>
    void update(const Rule& rule) {
        if (steps) on_each(executor.slabs_, [&](PassSlab& slab) { slab.step(at_start, rule); });
    }

  private:
    void back(std::size_t kernel) {
        if (steps) on_each(executor.slabs_, [&](PassSlab& slab) { slab.back(kernel); });
    }
};

StepResult SlabExecutor::iterate(const StepStart& start, const IterationProgress& progress) {
    const auto carry_out = [&](bool compares, bool steps) {
        SlabOperations operations{{}, *this, start, compares, steps};
        run_iteration(method_, operations);
    };
    // A step that cannot be refused starts before the host has the sums, so that GPUs do not wait.
    const bool certain = start.objective_limit == std::numeric_limits<double>::infinity();
    with_workspace([&](bool is_unchanged) {
        if (!is_unchanged) on_each(slabs_, [](PassSlab& slab) { slab.forget_point(); });
        carry_out(true, certain);
    });
    SumPair compared;
    on_each(slabs_, [&](PassSlab& slab) { compared += slab.compared(); });
    StepResult result;
    result.sums[pixel_sums] = compared;
    result.refused = result.objective() > start.objective_limit;
    if (result.refused) return result;
    progress.report_fraction(0.5);

    if (!certain) with_workspace([&](bool is_unchanged) { carry_out(!is_unchanged, true); });
    on_each(slabs_, [&](PassSlab& slab) {
        if (slab.layout().has_changes) result.sums[step_sums] += slab.stepped();
    });
    return result;
}

}  // namespace convolume::deconvolve
