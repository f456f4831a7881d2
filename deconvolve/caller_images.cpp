// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/caller_images.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/item_steps.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/held_out_search.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/formulas.hpp"
#include "deconvolve/staged_planes.hpp"
#include "volumes/stream_tasks.hpp"

namespace convolume::deconvolve {

namespace {

/// Converts planes of an image to float32, writes them to an executor, and adds up what is found in
/// their pixels. Results do not depend on threads, nor on the number of planes that come at once.
class ImageLoader {
  public:
    /// `search` may be null.
    ImageLoader(Executor& executor, const DeconvolutionProblem& problem, PixelType type,
                HeldOutSearch* search)
        : executor_(executor),
          problem_(problem),
          search_(search),
          clips_(problem.traits.counts_photons),
          level_(problem.options.saturation.value_or(std::numeric_limits<double>::infinity())),
          shape_(problem.image),
          gather_(identity_indices(shape_.x)),
          staged_(executor.staging(), shape_),
          background_(shape_, problem.options.saturation) {
        if (is_complex(type))
            throw BadData("the image is complex: give its intensity, which is real");
        if (search_ != nullptr) search_->begin_image();
        if (problem.estimates_photons()) photons_.emplace(shape_, type, problem.options.saturation);
        if (!problem.options.background && problem.dark_level && problem.dark_level->can_find())
            dark_.emplace(*problem.dark_level);
    }

    /// Takes planes from plane `z` on. All planes must be given in order.
    void add(const ConstImageView& planes, index_t z) {
        if (const auto found = pixels::find_nonfinite(planes, executor_.threads())) {
            Index3 place = found->index;
            place.z += z;
            throw NonfiniteSample(found->value, {.index = place},
                                  "repair it, or choose to leave such pixels out");
        }
        const index_t before = z * shape_.y * shape_.x;
        staged_.fill_and_copy(
            planes.shape.z,
            [&](const IndexRange& range, float* values) { convert(planes, range, z, values); },
            [&](const float* values, index_t first, index_t count) {
                executor_.write_image(values, before + first, count);
            });
        background_.add(planes, z);
        if (photons_) photons_->add(planes, z, executor_.threads());
    }

    LoadedImage finish() {
        const index_t compared = element_count(shape_) - loaded_.saturated_pixels;
        loaded_.mean = mean_of(total_, compared);
        FindHazeBackground find_under_haze;
        if (dark_)
            find_under_haze = [this](const PhotonScale& photons) {
                return problem_.dark_level->find(*dark_, photons);
            };
        set_levels(background_.find(problem_.options.background),
                   photons_ ? photons_->find() : std::nullopt, problem_, find_under_haze, loaded_);
        loaded_.bright_level = bright_level_of(total_, squares_, compared, loaded_.background);
        return loaded_;
    }

  private:
    struct RowFigures {
        double sum = 0, squares = 0;
        index_t negative = 0, saturated = 0, missing = 0;
    };

    /// Converts the planes `range` of `planes`, whose plane 0 is plane `z` of the image, and adds
    /// up their figures.
    void convert(const ConstImageView& planes, const IndexRange& range, index_t z, float* values) {
        rows_.resize(static_cast<std::size_t>(range.count() * shape_.y));
        parallel_for(range.count() * shape_.y, executor_.threads(), [&](index_t i, int) {
            const index_t k = i / shape_.y, y = i % shape_.y;
            float* const row = values + i * shape_.x;
            pixels::load_row(planes, range.begin + k, y, gather_, {}, row);
            RowFigures figures;
            for (index_t x = 0; x < shape_.x; ++x) {
                figures.negative += row[x] < 0;
                if (clips_) row[x] = std::max(row[x], 0.0F);
                const auto value = static_cast<double>(row[x]);
                figures.saturated += value >= level_;
                figures.missing += row[x] >= missing_pixel;
                if (value >= level_) row[x] = mark_of(row[x], problem_);
                figures.sum += value >= level_ ? 0 : value;
                figures.squares += value >= level_ ? 0 : value * value;
            }
            rows_[static_cast<std::size_t>(i)] = figures;
        });
        for (const RowFigures& row : rows_) {
            total_ += row.sum;
            squares_ += row.squares;
            if (clips_) loaded_.negative_pixels += row.negative;
            loaded_.saturated_pixels += row.saturated;
            loaded_.missing_pixels += row.missing;
        }
        for (index_t k = 0; k < range.count(); ++k) {
            const float* const plane = values + k * shape_.y * shape_.x;
            if (search_ != nullptr) search_->add_plane(plane);
            if (dark_) dark_->add_plane(plane, z + range.begin + k);
        }
    }

    Executor& executor_;
    const DeconvolutionProblem& problem_;
    HeldOutSearch* search_;
    bool clips_;
    double level_;
    Shape3 shape_;
    pixels::RowGather gather_;
    StagedPlanes staged_;
    std::vector<RowFigures> rows_;  ///< figures of a group's rows
    BackgroundEstimate background_;
    std::optional<PhotonScaleEstimate> photons_;
    std::optional<DarkLevel::Sums> dark_;
    double total_ = 0, squares_ = 0;  ///< sums of the compared pixels, and of their squares
    LoadedImage loaded_;
};

/// Reads planes of an estimate from an executor, and converts them to the type of a result.
class ResultStorer {
  public:
    /// `at` is the object's voxel at the first pixel of the result, which has extents `shape`.
    ResultStorer(const Executor& executor, const Shape3& object, const Shape3& shape,
                 const Index3& at)
        : executor_(executor),
          object_(object),
          at_(at),
          staged_(executor.staging(), {shape.z, shape.y, object.x}) {}

    /// Fills planes of the result from plane `z` on.
    void store(const ImageView& planes, index_t z) {
        const Shape3 shape = planes.shape;
        const index_t plane = shape.y * object_.x;
        staged_.copy_and_use(
            shape.z,
            [&](const IndexRange& range, float* values) {
                for (index_t k = range.begin; k < range.end; ++k)
                    executor_.read_estimate(values + (k - range.begin) * plane,
                                            ((z + k + at_.z) * object_.y + at_.y) * object_.x,
                                            plane);
            },
            [&](const IndexRange& range, const float* values) {
                parallel_for(range.count() * shape.y, executor_.threads(), [&](index_t i, int) {
                    const ClampCount clamped =
                        pixels::store_row(values + i * object_.x + at_.x, shape.x, 0, planes,
                                          range.begin + i / shape.y, i % shape.y);
                    low_ += clamped.low;
                    high_ += clamped.high;
                });
            });
    }
    ExecutionReport report() const {
        ExecutionReport clamped;
        clamped.clamped_low = low_;
        clamped.clamped_high = high_;
        return clamped;
    }

  private:
    const Executor& executor_;
    Shape3 object_;
    Index3 at_;
    StagedPlanes staged_;
    std::atomic<index_t> low_{0}, high_{0};
};

/// Groups of planes that divide a volume.
struct PlaneGroups {
    /// `at_once`: planes of a group; 0: as many as take some 64 MiB, in whole pieces.
    PlaneGroups(const StackFormat& format, index_t at_once = 0)
        : shape(format.shape),
          planes(
              std::min(at_once > 0 ? at_once : planes_in_group(shape, format.type, format.piece.z),
                       shape.z)) {}

    index_t count() const { return ceil_div(shape.z, planes); }
    index_t slots() const { return std::min<index_t>(count(), 2); }
    index_t first(index_t group) const { return group * planes; }
    Box3 box(index_t group) const {
        return {{first(group), 0, 0}, {std::min(first(group) + planes, shape.z), shape.y, shape.x}};
    }
    index_t bytes(PixelType type) const {
        return slots() * bytes_of({planes, shape.y, shape.x}, type);
    }

    Shape3 shape;
    index_t planes;
};

/// Memory for the groups that are in flight: group i uses slot i modulo their number.
class GroupSlots {
  public:
    GroupSlots(const PlaneGroups& groups, PixelType type) : groups_(groups), type_(type) {
        for (index_t slot = 0; slot < groups.slots(); ++slot) {
            Buffer& buffer = slots_[static_cast<std::size_t>(slot)];
            buffer = Buffer(bytes_of({groups.planes, groups.shape.y, groups.shape.x}, type),
                            "planes of an image");
            buffer.spread();
        }
    }
    ImageView operator[](index_t group) const {
        return contiguous_view(slots_[static_cast<std::size_t>(group % groups_.slots())].data(),
                               type_, groups_.box(group).shape());
    }

  private:
    const PlaneGroups& groups_;
    PixelType type_;
    std::array<Buffer, 2> slots_;
};

}  // namespace

void CallerImages::read(const Box3&, const ImageView&) {
    throw InternalError("an image that no search reads");
}

void HostImages::read(const Box3& box, const ImageView& target) {
    convert_pixels(subview(image_, box), target);
}

void StreamedImages::read(const Box3& box, const ImageView& target) {
    const PhaseTimer timer(context_.timeline, Phase::read, -1, -1,
                           bytes_of(target.shape, target.type));
    source_.read_box(0, 0, box, target);
}

LoadedImage HostImages::load(Executor& executor, const DeconvolutionProblem& problem,
                             const TimelineRow& row) {
    const PhaseTimer timer = row.time_work();
    ImageLoader loader(executor, problem, image_.type, helpers_.search);
    loader.add(image_, 0);
    return loader.finish();
}

ExecutionReport HostImages::store(const Executor& executor, const DeconvolutionProblem& problem,
                                  const TimelineRow& row) {
    if (result_.data == nullptr) return {};
    const PhaseTimer timer = row.time_work();
    return store_estimate(executor, problem, result_);
}

LoadedImage StreamedImages::load(Executor& executor, const DeconvolutionProblem& problem,
                                 const TimelineRow& row) {
    const StackFormat format = source_.format();
    const PlaneGroups groups(format, planes_);
    std::optional<PhaseTimer> allocation(std::in_place, context_.timeline, Phase::allocate);
    ImageLoader loader(executor, problem, format.type, helpers_.search);
    std::optional<GroupSlots> slots;
    if (helpers_.start == nullptr)
        slots.emplace(groups, format.type);
    else if (whole_.shape() != format.shape)
        whole_ = Volume(format.shape, format.type);
    allocation.reset();
    const auto view_of_group = [&](index_t group) {
        return slots ? (*slots)[group] : subview(whole_.view(), groups.box(group));
    };
    ItemSteps steps;
    steps.read = [&](index_t group) {
        throw_if_stopped(context_);
        const ImageView planes = view_of_group(group);
        const PhaseTimer timer(context_.timeline, Phase::read, -1, -1,
                               bytes_of(planes.shape, planes.type));
        source_.read_box(0, 0, groups.box(group), planes);
    };
    steps.compute = [&](index_t group) {
        const PhaseTimer timer = row.time_work();
        loader.add(view_of_group(group), groups.first(group));
    };
    run_item_steps(groups.count(), true, steps);
    const PhaseTimer timer = row.time_work();
    return loader.finish();
}

ExecutionReport StreamedImages::store(const Executor& executor, const DeconvolutionProblem& problem,
                                      const TimelineRow& row) {
    const StackFormat format = sink_.format();
    const PlaneGroups groups(format, planes_);
    ResultStorer storer(executor, problem.object, format.shape, problem.image_at);
    const GroupSlots slots(groups, format.type);
    ItemSteps steps;
    steps.compute = [&](index_t group) {
        throw_if_stopped(context_);
        const PhaseTimer timer = row.time_work();
        storer.store(slots[group], groups.first(group));
    };
    steps.write = [&](index_t group) {
        const ImageView planes = slots[group];
        const PhaseTimer timer(context_.timeline, Phase::write, -1, -1,
                               bytes_of(planes.shape, planes.type));
        sink_.write_box(0, 0, groups.box(group), planes);
    };
    run_item_steps(groups.count(), true, steps);
    return storer.report();
}

index_t StreamedImages::host_bytes(const Shape3& shape, PixelType image, PixelType result,
                                   bool has_coarse_start) {
    const index_t read =
        has_coarse_start ? bytes_of(shape, image) : PlaneGroups({shape, image}).bytes(image);
    // Planes that are read are freed before the result is stored.
    return std::max(checked_add(read, BackgroundEstimate::kept_bytes(shape, image)),
                    PlaneGroups({shape, result}).bytes(result));
}

index_t caller_bytes(const DeconvolutionProblem& problem) {
    const PixelType image = problem.options.image_type.value_or(PixelType::float32);
    const index_t whole = bytes_of(problem.image, PixelType::float32);
    const index_t weights = problem.options.has_pixel_weights ? whole : 0;
    if (problem.options.streamed)
        return checked_add(weights,
                           StreamedImages::host_bytes(problem.image, image, PixelType::float32,
                                                      *problem.options.coarse_start > 0));
    return checked_add(weights, checked_multiply(2, whole));
}

ExecutionReport store_estimate(const Executor& executor, const DeconvolutionProblem& problem,
                               const ImageView& target) {
    if (target.shape != problem.object && target.shape != problem.image)
        throw InvalidArgument(message("an estimate is read in the image's shape ",
                                      to_string(problem.image), " or the object's ",
                                      to_string(problem.object), ", not in ",
                                      to_string(target.shape), " (z×y×x)"));
    // One copy without a staging buffer is fastest, unless it takes so long that several threads
    // pay.
    constexpr index_t most_at_once = index_t{1} << 25;
    const index_t samples = element_count(problem.object);
    if (target.shape == problem.object && target.type == PixelType::float32 &&
        is_contiguous(target) && samples <= most_at_once) {
        executor.read_estimate(static_cast<float*>(target.data), 0, samples);
        return {};
    }
    ResultStorer storer(executor, problem.object, target.shape,
                        target.shape == problem.object ? Index3{} : problem.image_at);
    storer.store(target, 0);
    return storer.report();
}

}  // namespace convolume::deconvolve
